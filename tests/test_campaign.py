"""A campaign on data at hand, phase by phase, and `run`: from data to estimates in one call."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from privtally.campaign import Job, Result, run, run_campaign, write_job
from privtally.collector.learn import learn
from privtally.collector.tally import count, tally
from privtally.documents import estimate as estimates
from privtally.documents.campaign import Asking, drive
from privtally.documents.counts import Counts, load_counts
from privtally.documents.estimate import load_estimate
from privtally.documents.plan import Plan, design, load_plan
from privtally.documents.report import load_report
from privtally.errors import (
    CampaignError,
    DocumentError,
    EstimateError,
    PlanError,
    PrivtallyError,
    RecordError,
    SchemaError,
)
from privtally.lab.advise import recommend
from privtally.lab.population import seeded
from privtally.mechanisms.named import NAMED
from privtally.names import MECHANISMS, METHODS, MechanismName
from privtally.participant.respond import respond_many
from privtally.plots import estimate as picture
from privtally.schema import Attribute, Records, Schema
from tests.support import schema_of
from tests.tables.frame_kinds import KINDS

LEARNING = [name for name in MECHANISMS if NAMED[name].learns]
SINGLE = [name for name in MECHANISMS if not NAMED[name].learns and name != "pairs"]


def people(count: int, sizes: tuple[int, ...] = (3, 3, 3)) -> Records:
    """People of whom half have the first label everywhere and the rest any."""
    made_up = np.random.default_rng(1)
    codes = np.column_stack([made_up.integers(0, size, count) for size in sizes]) * (made_up.random((count, 1)) < 0.5)
    return Records(schema_of(sizes), codes.astype(np.uint8))


def run_named(records: Records, epsilon: float, mechanism: str, seed: int = 3, **options: Any) -> Job:
    """A campaign of a mechanism with these options."""
    asking, source = Asking.of(mechanism, **options), seeded(seed)
    return run_campaign(asking.first_plan(records.schema, epsilon, source=source), records, asking.learning, source)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_whole_job_comes_close_to_the_truth(mechanism: MechanismName) -> None:
    """Within six standard errors in every cell; the likelihood estimate is not far either."""
    records = people(20_000)
    job = run_named(records, 4.0, mechanism)
    assert [phase.plan.phase for phase in job.phases] == ([1, 2] if NAMED[mechanism].learns else [1])
    assert sum(phase.counts.reports for phase in job.phases) == len(records)
    assert len({phase.plan.campaign_id for phase in job.phases}) == 1
    for method in METHODS if mechanism != "pairs" else METHODS[:2]:  # the paper asks no questions together
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
    job = run_named(people(200), 1.0, mechanism, phase1_share=share)
    assert [phase.counts.reports for phase in job.phases] == [200 * share, 200 * (1 - share)]
    second = job.phases[1].plan
    assert second.learned is not None
    assert second.learned.history[0].counts == job.phases[0].counts.digest


@pytest.mark.parametrize("mechanism", SINGLE)
@pytest.mark.parametrize("count", [1, 5])
def test_a_mechanism_of_one_phase_takes_few_people(mechanism: MechanismName, count: int) -> None:
    """Whatever else may be missing, such as an answer to a question that nobody was asked, it is not a second phase."""
    job = run_named(people(count, (2,)), 1.0, mechanism)
    assert [phase.counts.reports for phase in job.phases] == [count]
    assert len(job.estimate("likelihood").attributes) == 1
    several = run_named(people(count, (2, 3)), 1.0, mechanism)
    (phase,) = several.phases
    answered = [int(own[:size].sum()) for own, size in zip(phase.counts.attributes, (2, 3), strict=True)]
    if all(answered):
        assert several.estimate("unbiased").provenance.phases[0].reports == count
    else:
        with pytest.raises(EstimateError, match=f"q{answered.index(0)}"):
            several.estimate("unbiased")


@pytest.mark.parametrize("mechanism", LEARNING)
@pytest.mark.parametrize("count", [1, 5])
def test_too_few_people_for_two_phases_are_refused(mechanism: MechanismName, count: int) -> None:
    with pytest.raises(CampaignError, match=str(count)):
        run_named(people(count), 1.0, mechanism)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 2.0, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(CampaignError, match="share"):
        run_named(people(100), 1.0, "corr-rr", phase1_share=share)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_job_leaves_all_its_documents(mechanism: MechanismName, tmp_path: Path) -> None:
    job = run_named(people(120), 2.0, mechanism)
    result = job.estimate("unbiased")
    write_job(job, result, tmp_path)
    for phase in job.phases:
        number = phase.plan.phase
        plan = load_plan((tmp_path / f"plan-{number}.json").read_bytes())
        assert plan == phase.plan
        lines = (tmp_path / f"reports-{number}.ndjson").read_bytes().splitlines()
        tallied = tally(plan, map(load_report, lines))
        assert tallied == phase.counts == load_counts((tmp_path / f"counts-{number}.json").read_bytes(), plan)
    assert load_estimate((tmp_path / "estimate.json").read_bytes()) == result
    assert (tmp_path / "estimate.csv").read_bytes() == result.to_csv()
    assert len(list(tmp_path.iterdir())) == 3 * len(job.phases) + 2


def test_the_same_seed_gives_the_same_job() -> None:
    one, two, other = (run_named(people(100), 1.0, "corr-rr", seed) for seed in (3, 3, 4))
    assert [phase.counts.digest for phase in one.phases] == [phase.counts.digest for phase in two.phases]
    assert one.phases[0].plan.campaign_id != other.phases[0].plan.campaign_id


def test_written_reports_are_in_the_order_of_their_ids(tmp_path: Path) -> None:
    records = Records(schema_of((3, 3)), np.zeros((200, 2), dtype=np.uint8))
    job = run_named(records, 1.0, "smp")
    write_job(job, job.estimate("unbiased"), tmp_path)
    ids = [load_report(line).id for line in (tmp_path / "reports-1.ndjson").read_bytes().splitlines()]
    assert ids == sorted(ids)
    assert ids != [report.id for report in job.phases[0].reports]


@pytest.mark.parametrize(
    ("mechanism", "options", "option"),
    [
        ("spl", {"rule": "robust"}, "rule"),
        ("spl", {"later_groups": [["zz"]]}, "later_groups"),
        ("rs-fd", {"phase1_share": 0.5}, "phase1_share"),
        ("cond-rr", {"rule": "robust"}, "rule"),
    ],
)
def test_an_option_without_effect_is_refused(mechanism: MechanismName, options: Any, option: str) -> None:
    with pytest.raises(CampaignError, match=f"^{option} has no effect with .*; leave it out$"):
        run_named(people(100), 1.0, mechanism, **options)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("rounds", [1, 2])
def test_the_driver_asks_for_the_counts_of_every_plan_in_order(mechanism: MechanismName, rounds: int) -> None:
    """A campaign that learns has two phases a round; every round starts as the first plan did."""
    first, asked, source = design(schema_of((2, 2)), 2.0, mechanism), list[Plan](), seeded(3)

    def collect(plan: Plan) -> Counts:
        asked.append(plan)
        return count(plan, respond_many(plan, people(200, (2, 2)), source).codes)

    history = drive(first, collect, learn, rounds=rounds)
    phases = rounds * (1 + NAMED[mechanism].learns)
    assert [plan for plan, _ in history] == asked
    assert [plan.phase for plan in asked] == list(range(1, phases + 1))
    assert [plan.parts == first.parts for plan in asked if plan.learned is None] == [True] * rounds
    assert sum(plan.learned is not None for plan in asked) == phases - rounds


LABELS = {"smokes": ["no", "yes"], "drinks": ["never", "weekly", "daily"]}
EXAMPLES = Path(__file__).parents[1] / "examples"


def columns_of_people(many: int = 400) -> dict[str, list[str]]:
    made_up = np.random.default_rng(1)
    return {name: made_up.choice(labels, many).tolist() for name, labels in LABELS.items()}


def records_of(columns: dict[str, list[str]]) -> Records:
    codes = [[LABELS[name].index(value) for value in column] for name, column in columns.items()]
    return Records(Schema.of(LABELS), np.array(codes, dtype=np.uint8).T)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame_gives_what_its_records_give(kind: str) -> None:
    columns = columns_of_people()
    result = run(KINDS[kind]({**columns, "other": [0] * 400}), LABELS, 2.0, mechanism="corr-rr", source=seeded(3))
    records = records_of(columns)
    assert result.estimate == run(records, LABELS, 2.0, mechanism="corr-rr", source=seeded(3)).estimate
    assert result.ignored == ("other",)


def test_the_mechanism_is_the_recommended_one_unless_it_is_stated() -> None:
    for epsilon, many in ((1.0, 300), (6.0, 3_000)):
        found = recommend(Schema.of(LABELS), epsilon, many).design
        plan = run(pd.DataFrame(columns_of_people(many)), LABELS, epsilon).job.phases[0].plan
        assert (plan.name, plan.epsilon) == (found.mechanism, epsilon)
    assert run(pd.DataFrame(columns_of_people()), LABELS).job.phases[0].plan.epsilon == 1


def test_the_schema_may_be_in_a_file_and_so_may_the_data(tmp_path: Path) -> None:
    file = run(EXAMPLES / "survey-1.csv", EXAMPLES / "survey.toml", 3, mechanism="spl", source=seeded(1))
    frame = pl.read_csv(EXAMPLES / "survey-1.csv")
    assert run(frame, str(EXAMPLES / "survey.toml"), 3, mechanism="spl", source=seeded(1)).estimate == file.estimate
    frame.write_parquet(tmp_path / "part-1.parquet")
    assert run(str(tmp_path), EXAMPLES / "survey.toml", 3, mechanism="spl", source=seeded(1)).estimate == file.estimate


def test_options_are_those_of_a_campaign() -> None:
    result = run(pd.DataFrame(columns_of_people()), LABELS, 2.0, mechanism="smp", pivots=2, method="unbiased")
    assert result.estimate.method == "unbiased"
    assert result.job.phases[0].plan.mechanism.parts[0].pivots == 2
    shown = run(pd.DataFrame(columns_of_people()), LABELS, 1.0, mechanism="smp", decoys=1)
    assert [part.decoys for part in shown.plan.parts] == [1]
    with pytest.raises(CampaignError, match="pivots"):
        run(pd.DataFrame(columns_of_people()), LABELS, 2.0, pivots=2)


@pytest.mark.parametrize(
    ("data", "schema", "epsilon", "fault"),
    [
        (pd.DataFrame(columns_of_people()), LABELS, 0, PlanError),
        (pd.DataFrame(columns_of_people()), {"smokes": "no"}, 1, PrivtallyError),
        (pd.DataFrame(columns_of_people()), "schema.txt", 1, DocumentError),
        (pd.DataFrame(columns_of_people())[:0], LABELS, 1, RecordError),
        (pd.DataFrame({"smokes": ["no"]}), LABELS, 1, RecordError),
        ("nowhere.parquet", LABELS, 1, DocumentError),
        (7, LABELS, 1, DocumentError),
    ],
)
def test_bad_input_is_refused(data: Any, schema: Any, epsilon: float, fault: type[PrivtallyError]) -> None:
    with pytest.raises(fault):
        run(data, schema, epsilon)


@pytest.fixture(scope="module")
def result() -> Result:
    schema = Schema((Attribute("smokes", ("no", "yes"), optional=True), Attribute("drinks", tuple(LABELS["drinks"]))))
    return run(pd.DataFrame(columns_of_people()), schema, 2.0, mechanism="rs-fd", source=seeded(3))


def test_the_frames_of_a_result_are_its_csv(result: Result) -> None:
    lines = list(csv.DictReader(io.StringIO(result.estimate.to_csv().decode())))
    texts = ("attribute", "label", "among")
    expected = [{name: own if name in texts else float(own) for name, own in line.items()} for line in lines]
    assert result.to_pandas().to_dict("records") == expected
    assert result.to_polars().to_dicts() == expected
    assert result.to_arrow().to_pylist() == expected
    assert {line["among"] for line in expected} == {"everybody", "answered"}


def test_an_interval_that_is_missing_is_null() -> None:
    biased = run(pd.DataFrame(columns_of_people()), LABELS, 2.0, mechanism="corr-rr", method="paper", source=seeded(3))
    assert biased.estimate.biased
    assert biased.to_polars()["low_95"].null_count() == 5
    assert biased.to_pandas()["high_95"].isna().all()
    assert biased.to_arrow()["low_95"].null_count == 5


def test_a_result_shows_itself(result: Result) -> None:
    assert "400" in repr(result)
    assert "drinks" in result._repr_html_()
    assert len(result.plot().axes) == 2


def test_what_is_not_installed_is_named(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "find_spec", lambda _: None)
    monkeypatch.setattr(estimates, "find_spec", lambda _: None)
    with pytest.raises(DocumentError, match="matplotlib"):
        result.plot()
    with pytest.raises(DocumentError, match="pip install polars"):
        result.to_polars()


def test_options_of_a_named_mechanism_that_change_nothing_are_refused() -> None:
    with pytest.raises(CampaignError, match="hide_among has no effect with spl"):
        run(pd.DataFrame(columns_of_people()), LABELS, 1.0, mechanism="spl", hide_among=2)
    with pytest.raises(CampaignError, match="decoys"):
        run(pd.DataFrame(columns_of_people()), LABELS, 1.0, decoys=1)
    with pytest.raises(PlanError, match="the mechanism must be one of"):
        run(pd.DataFrame(columns_of_people()), LABELS, 1.0, mechanism="foo")


@pytest.mark.parametrize("among", [None, 1, 2, "all"])
def test_the_question_is_hidden_as_was_asked_for_in_one_phase(among: Any) -> None:
    (phase,) = run(pd.DataFrame(columns_of_people()), LABELS, 1.0, hide_among=among, source=seeded(1)).job.phases
    chosen = recommend(Schema.of(LABELS), 1.0, 400, hide_among=among or 2).design
    assert phase.plan.parts == design(phase.plan.schema, 1.0, **chosen.options).parts


def test_records_are_those_of_the_schema() -> None:
    with pytest.raises(SchemaError, match="another schema"):
        run(records_of(columns_of_people()), {"smokes": ["no", "yes"]})
