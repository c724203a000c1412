"""The whole job: every phase of a campaign on data that is all at hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privtally.collector.tally import tally
from privtally.documents.counts import load_counts
from privtally.documents.estimate import load_estimate
from privtally.documents.plan import load_plan
from privtally.documents.report import load_report
from privtally.errors import CampaignError, EstimateError, PlanError
from privtally.job import run_campaign, write_job
from privtally.lab.seed import seeded
from privtally.mechanisms import NAMED
from privtally.names import MECHANISMS, METHODS, MechanismName
from privtally.schema import Records
from tests.support import schema_of

LEARNING = [name for name in MECHANISMS if NAMED[name].learns]
SINGLE = [name for name in MECHANISMS if not NAMED[name].learns]


def people(count: int, sizes: tuple[int, ...] = (3, 3, 3)) -> Records:
    """People of whom half have the first label everywhere and the rest any."""
    made_up = np.random.default_rng(1)
    codes = np.column_stack([made_up.integers(0, size, count) for size in sizes]) * (made_up.random((count, 1)) < 0.5)
    return Records(schema_of(sizes), codes.astype(np.uint8))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_whole_job_comes_close_to_the_truth(mechanism: MechanismName) -> None:
    """Within six standard errors in every cell; the likelihood estimate is not far either."""
    records = people(20_000)
    job = run_campaign(records, 4.0, mechanism, seeded(3))
    assert [phase.plan.phase for phase in job.phases] == ([1, 2] if NAMED[mechanism].learns else [1])
    assert sum(phase.counts.reports for phase in job.phases) == len(records)
    assert len({phase.plan.campaign_id for phase in job.phases}) == 1
    for method in METHODS:
        result = job.estimate(method)
        assert [used.plan for used in result.provenance.phases] == [phase.plan.digest for phase in job.phases]
        for own, attribute in enumerate(result.attributes.values()):
            truth = np.bincount(records.codes[:, own], minlength=3) / len(records)
            error = np.abs(np.array(attribute.frequencies) - truth)
            if method == "unbiased":
                assert (error < 6 * np.array(attribute.standard_errors)).all()
            elif method == "likelihood":
                assert error.max() < 0.05


@pytest.mark.parametrize("mechanism", LEARNING)
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_random_share_of_the_people_is_asked_first(mechanism: MechanismName, share: float) -> None:
    job = run_campaign(people(200), 1.0, mechanism, seeded(3), phase1_share=share)
    assert [phase.counts.reports for phase in job.phases] == [200 * share, 200 * (1 - share)]
    second = job.phases[1].plan
    assert second.learned is not None
    assert second.learned.history[0].counts == job.phases[0].counts.digest


@pytest.mark.parametrize("mechanism", SINGLE)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_a_mechanism_of_one_phase_takes_few_people(mechanism: MechanismName, count: int) -> None:
    """Whatever else may be missing, such as an answer to a question that nobody was asked, it is not a second phase."""
    job = run_campaign(people(count, (2,)), 1.0, mechanism, seeded(3))
    assert [phase.counts.reports for phase in job.phases] == [count]
    assert len(job.estimate("likelihood").attributes) == 1
    several = run_campaign(people(count, (2, 3)), 1.0, mechanism, seeded(3))
    (phase,) = several.phases
    answered = [int(own[:size].sum()) for own, size in zip(phase.counts.attributes, (2, 3), strict=True)]
    if all(answered):
        assert several.estimate("unbiased").provenance.phases[0].reports == count
    else:
        with pytest.raises(EstimateError, match=f"q{answered.index(0)}"):
            several.estimate("unbiased")


@pytest.mark.parametrize("mechanism", LEARNING)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_too_few_people_for_two_phases_are_refused(mechanism: MechanismName, count: int) -> None:
    with pytest.raises(CampaignError, match=str(count)):
        run_campaign(people(count), 1.0, mechanism, seeded(3))


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 2.0, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(CampaignError, match="share"):
        run_campaign(people(100), 1.0, "corr-rr", seeded(3), phase1_share=share)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_job_leaves_all_its_documents(mechanism: MechanismName, tmp_path: Path) -> None:
    job = run_campaign(people(120), 2.0, mechanism, seeded(3))
    result = job.estimate("unbiased")
    write_job(job, result, tmp_path)
    for phase in job.phases:
        number = phase.plan.phase
        plan = load_plan((tmp_path / f"plan-{number}.json").read_bytes())
        assert plan == phase.plan
        lines = (tmp_path / f"reports-{number}.ndjson").read_bytes().splitlines()
        tallied = tally(plan, map(load_report, lines))
        assert tallied.counts == phase.counts == load_counts((tmp_path / f"counts-{number}.json").read_bytes(), plan)
    assert load_estimate((tmp_path / "estimate.json").read_bytes()) == result
    assert (tmp_path / "estimate.csv").read_bytes() == result.to_csv()
    assert len(list(tmp_path.iterdir())) == 3 * len(job.phases) + 2


def test_the_same_seed_gives_the_same_job() -> None:
    one, two, other = (run_campaign(people(100), 1.0, "corr-rr", seeded(seed)) for seed in (3, 3, 4))
    assert [phase.counts.digest for phase in one.phases] == [phase.counts.digest for phase in two.phases]
    assert one.phases[0].plan.campaign_id != other.phases[0].plan.campaign_id


def test_written_reports_are_in_the_order_of_their_ids(tmp_path: Path) -> None:
    records = Records(schema_of((3, 3)), np.zeros((200, 2), dtype=np.uint8))
    job = run_campaign(records, 1.0, "smp", seeded(3))
    write_job(job, job.estimate("unbiased"), tmp_path)
    ids = [load_report(line).id for line in (tmp_path / "reports-1.ndjson").read_bytes().splitlines()]
    assert ids == sorted(ids)
    assert ids != [report.id for report in job.phases[0].reports]


@pytest.mark.parametrize(
    ("mechanism", "options", "option"),
    [
        ("spl", {"rule": "nonsense"}, "rule"),
        ("spl", {"later_groups": [["zz"]]}, "later_groups"),
        ("rs-fd", {"phase1_share": 9}, "phase1_share"),
        ("cond-rr", {"rule": "robust"}, "rule"),
    ],
)
def test_an_option_without_effect_is_refused(mechanism: MechanismName, options: Any, option: str) -> None:
    with pytest.raises(CampaignError, match=f"^{option} has no effect with .*; leave it out$"):
        run_campaign(people(100), 1.0, mechanism, seeded(3), **options)


def test_an_unknown_mechanism_is_refused() -> None:
    with pytest.raises(PlanError, match="the mechanism must be one of spl"):
        run_campaign(people(10), 1.0, "foo")  # type: ignore[arg-type]
