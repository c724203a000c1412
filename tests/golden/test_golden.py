"""Documents of every released version, read by this one: their bytes and their meaning must never change."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from privtally.collector.estimate import estimate
from privtally.collector.tally import tally
from privtally.documents.campaign import Campaign, Phase
from privtally.documents.counts import Counts, load_counts
from privtally.documents.estimate import load_estimate
from privtally.documents.plan import load_plan
from privtally.documents.report import load_report
from privtally.names import Method
from privtally.participant.ledger import reports_to
from privtally.participant.respond import respond
from privtally.privacy.verify import verify
from privtally.schema import Record
from privtally.tables.engines import tally_files
from tests.golden.make import FROZEN, HERE, KINDS, documents

VERSIONS = sorted(
    (path.name for path in HERE.iterdir() if path.name[0].isdigit()),
    key=lambda name: [int(part) for part in name.split(".")],
)
PLACES = [HERE / version / kind for version in VERSIONS for kind in KINDS if (HERE / version / kind).exists()]
EVERY = pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place.parent.name} {place.name}")
WITH_TABLES = pytest.mark.parametrize(
    "place",
    [place for place in PLACES if (place / "ledger.json").exists()],
    ids=lambda place: f"{place.parent.name} {place.name}",
)
"""Campaigns of which there are tables of reports and a ledger too."""


def phases_of(place: Path) -> list[Phase]:
    """The plans and counts of a campaign."""
    plans = [load_plan(path.read_bytes()) for path in sorted(place.glob("plan-*.json"))]
    return [(plan, load_counts((place / f"counts-{plan.phase}.json").read_bytes(), plan)) for plan in plans]


def counted(counts: Counts) -> Any:
    """How often each code came; how counts are kept beyond that depends on their limit."""
    return json.loads(counts.dump())["attributes"]


@EVERY
def test_old_documents_are_read_and_written_the_same(place: Path) -> None:
    for plan, counts in phases_of(place):
        assert plan.dump() == (place / f"plan-{plan.phase}.json").read_bytes()
        assert counts.dump() == (place / f"counts-{plan.phase}.json").read_bytes()
        written = (place / f"reports-{plan.phase}.ndjson").read_bytes()
        reports = [load_report(line) for line in written.splitlines()]
        assert b"".join(report.dump() + b"\n" for report in reports) == written
        assert tally(plan, reports, counts.limit) == counts
    for path in place.glob("estimate-*.json"):
        assert load_estimate(path.read_bytes()).dump() == path.read_bytes()


@EVERY
def test_digests_name_what_they_name(place: Path) -> None:
    """A plan is named by its reports, its counts, its campaign and what was learned from it."""
    history = phases_of(place)
    campaign = Campaign.draft(history[0][0])
    for number, (plan, counts) in enumerate(history, start=1):
        assert plan.phase == number
        assert json.loads(plan.dump())["digest"] == counts.plan == plan.digest
        assert plan.round == 1 or plan.campaign == history[0][0].digest
        if number > 1 and plan.round == 1:
            assert plan.learned is not None
            assert [(used.plan, used.counts) for used in plan.learned.history] == [
                (before.digest, seen.digest) for before, seen in history[: number - 1]
            ]
        campaign = campaign.open() if number == 1 else campaign.follow(plan)
        campaign = campaign.close()


ESTIMATES = [(place, method) for place in PLACES for method in FROZEN if (place / f"estimate-{method}.json").exists()]


@pytest.mark.parametrize(("place", "method"), ESTIMATES, ids=lambda value: getattr(value, "name", value))
def test_old_counts_still_give_the_same_estimates(place: Path, method: Method) -> None:
    old = load_estimate((place / f"estimate-{method}.json").read_bytes())
    new = estimate(phases_of(place), method)
    assert (old.method, old.biased, len(old.notes)) == (method, new.biased, len(new.notes))
    assert old.provenance.campaign == new.provenance.campaign
    assert old.provenance.phases == new.provenance.phases
    for name, attribute in old.attributes.items():
        assert new.attributes[name].labels == attribute.labels
        assert new.attributes[name].frequencies == pytest.approx(attribute.frequencies, abs=1e-9)
        assert new.attributes[name].standard_errors == pytest.approx(attribute.standard_errors, abs=1e-9)


@EVERY
def test_old_certificates_are_verified(place: Path) -> None:
    for path in place.glob("certificate-*.json"):
        verify((place / path.name.replace("certificate", "plan")).read_bytes(), path.read_bytes())


@WITH_TABLES
def test_old_tables_of_reports_are_counted(place: Path) -> None:
    for plan, counts in phases_of(place):
        for name in (f"reports-{plan.phase}.csv", f"reports-{plan.phase}.parquet", "export.parquet"):
            assert counted(tally_files(plan, [place / name])) == counted(counts)


@WITH_TABLES
def test_an_old_ledger_still_lets_a_plan_be_answered_once(place: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    ledger.write_bytes((place / "ledger.json").read_bytes())
    plan, _ = phases_of(place)[0]
    known = reports_to(ledger, plan.campaign_id)
    assert known
    record = Record((1,) * len(plan.schema.attributes))
    assert respond(plan, record, ledger=ledger) == known[0]
    assert ledger.read_bytes() == (place / "ledger.json").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_still_gives_the_same_files(kind: str) -> None:
    """Byte for byte, but for what others decide: DuckDB's layout of Parquet, a last digit, the version of privtally.

    The sampler's use of random words is part of what a seed in the lab promises.
    """
    place = HERE / VERSIONS[-1] / kind
    found = documents(kind)
    assert sorted(found) == sorted(path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file())
    for file, data in found.items():
        old = (place / file).read_bytes()
        if file.startswith("estimate"):
            check_alike(json.loads(data), json.loads(old))
        elif file.endswith(".parquet"):
            check_same_table(data, old)
        else:
            assert data == old, file


def check_alike(new: Any, old: Any, where: str = "") -> None:
    """The same names in the same order and the same values, floats to nine digits behind the point."""
    if isinstance(old, dict):
        assert list(new) == list(old), where
        for name in old:
            if name == "software":
                assert new[name].split()[0] == old[name].split()[0] == "privtally"
            else:
                check_alike(new[name], old[name], f"{where}/{name}")
    elif isinstance(old, list):
        assert len(new) == len(old), where
        for place, (one, other) in enumerate(zip(new, old, strict=True)):
            check_alike(one, other, f"{where}/{place}")
    elif isinstance(old, float):
        assert new == pytest.approx(old, abs=1e-9), where
    else:
        assert new == old, where


def check_same_table(new: bytes, old: bytes) -> None:
    """The same columns of the same types, rows and metadata."""
    one, other = pq.ParquetFile(BytesIO(new)), pq.ParquetFile(BytesIO(old))
    assert one.metadata.metadata == other.metadata.metadata
    assert one.schema.equals(other.schema)
    assert one.read().equals(other.read())
