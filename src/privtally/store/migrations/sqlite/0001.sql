CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE campaigns (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    options BLOB NOT NULL,
    needs_token INTEGER NOT NULL,
    closed INTEGER NOT NULL DEFAULT 0
) STRICT;

-- `counts` are those of the first `counted` reports that were stored; the others are in `uncounted`.
CREATE TABLE plans (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    campaign INTEGER NOT NULL REFERENCES campaigns,
    phase INTEGER NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    document BLOB NOT NULL,
    counts BLOB NOT NULL,
    counted INTEGER NOT NULL,
    UNIQUE (campaign, phase)
) STRICT;

-- The counts of `source` that `plan` was learned from.
CREATE TABLE learned (
    plan INTEGER NOT NULL REFERENCES plans,
    source INTEGER NOT NULL REFERENCES plans,
    counts BLOB NOT NULL,
    PRIMARY KEY (plan, source)
) STRICT, WITHOUT ROWID;

-- Nothing else about a report is kept: no time, no address, no order of arrival.
CREATE TABLE reports (
    plan INTEGER NOT NULL,
    id BLOB NOT NULL,
    codes BLOB NOT NULL,
    PRIMARY KEY (plan, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE uncounted (
    plan INTEGER NOT NULL,
    codes BLOB NOT NULL,
    times INTEGER NOT NULL,
    PRIMARY KEY (plan, codes)
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    campaign INTEGER NOT NULL,
    hash BLOB NOT NULL,
    spent INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (campaign, hash)
) STRICT, WITHOUT ROWID;
