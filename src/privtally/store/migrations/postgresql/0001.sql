CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE campaigns (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    options BYTEA NOT NULL,
    needs_token SMALLINT NOT NULL,
    closed SMALLINT NOT NULL DEFAULT 0
);

-- `counts` are those of the first `counted` reports that were stored; the others are in `uncounted`.
CREATE TABLE plans (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    campaign BIGINT NOT NULL REFERENCES campaigns,
    phase BIGINT NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    document BYTEA NOT NULL,
    counts BYTEA NOT NULL,
    counted BIGINT NOT NULL,
    UNIQUE (campaign, phase)
);

-- The counts of `source` that `plan` was learned from.
CREATE TABLE learned (
    plan BIGINT NOT NULL REFERENCES plans,
    source BIGINT NOT NULL REFERENCES plans,
    counts BYTEA NOT NULL,
    PRIMARY KEY (plan, source)
);

-- Nothing else about a report is kept: no time, no address, no order of arrival.
CREATE TABLE reports (
    plan BIGINT NOT NULL,
    id BYTEA NOT NULL,
    codes BYTEA NOT NULL,
    PRIMARY KEY (plan, id)
);

CREATE TABLE uncounted (
    plan BIGINT NOT NULL,
    codes BYTEA NOT NULL,
    times BIGINT NOT NULL,
    PRIMARY KEY (plan, codes)
);

CREATE TABLE tokens (
    campaign BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    spent SMALLINT NOT NULL DEFAULT 0,
    PRIMARY KEY (campaign, hash)
);
