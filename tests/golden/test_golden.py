"""Documents of every released version, read by this one: their bytes and their meaning must never change."""

import json
from pathlib import Path

import pytest

from privtally.collector.estimate import Phase, estimate
from privtally.collector.tally import tally
from privtally.documents.campaign import Campaign
from privtally.documents.counts import load_counts
from privtally.documents.estimate import load_estimate
from privtally.documents.plan import load_plan
from privtally.documents.report import load_report
from privtally.errors import PlanError
from privtally.names import METHODS, Method
from tests.golden.make import HERE, KINDS, documents

VERSIONS = sorted(path.name for path in HERE.iterdir() if path.is_dir() and path.name[0].isdigit())
PLACES = [HERE / version / kind for version in VERSIONS for kind in KINDS if (HERE / version / kind).exists()]
EVERY = pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place.parent.name} {place.name}")


def phases_of(place: Path) -> list[Phase]:
    """The plans and counts of a campaign."""
    plans = [load_plan(path.read_bytes()) for path in sorted(place.glob("plan-*.json"))]
    return [(plan, load_counts((place / f"counts-{plan.phase}.json").read_bytes(), plan)) for plan in plans]


@EVERY
def test_old_documents_are_read_and_written_the_same(place: Path) -> None:
    for plan, counts in phases_of(place):
        assert plan.dump() == (place / f"plan-{plan.phase}.json").read_bytes()
        assert counts.dump() == (place / f"counts-{plan.phase}.json").read_bytes()
        written = (place / f"reports-{plan.phase}.ndjson").read_bytes()
        reports = [load_report(line) for line in written.splitlines()]
        assert b"".join(report.dump() + b"\n" for report in reports) == written
        assert tally(plan, reports, counts.limit).counts == counts


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


@EVERY
def test_an_edited_plan_is_refused(place: Path) -> None:
    document = json.loads((place / "plan-1.json").read_bytes())
    document["epsilon"] *= 2
    with pytest.raises(PlanError, match="digest"):
        load_plan(json.dumps(document))


@EVERY
@pytest.mark.parametrize("method", METHODS)
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


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_still_gives_the_same_documents(kind: str) -> None:
    """The sampler's use of random words is part of what a seed in the lab promises."""
    for file, data in documents(kind).items():
        if not file.startswith("estimate"):
            assert data == (HERE / VERSIONS[-1] / kind / file).read_bytes()
