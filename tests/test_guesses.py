"""What people type first in Python: it works, or one sentence names the right thing."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import polars as pl
import pytest

import privtally as pt
from privtally.errors import CampaignError, PlanError, RecordError, SchemaError
from privtally.lab.population import seeded
from privtally.mechanisms.channels import randomized_response
from privtally.mechanisms.mechanism import Mechanism, Part

ANSWERS = pd.DataFrame(
    {
        "smokes": ["no", "yes", "no", "no"] * 50,
        "drinks": ["never", "weekly", "daily", "never"] * 50,
        "score": [1, 2, 3, 1] * 50,
        "member": [True, False] * 100,
    }
)
LABELS = {"smokes": ["no", "yes"], "drinks": ["never", "weekly", "daily"]}
TOML = '[[attributes]]\nname = "smokes"\nlabels = ["no", "yes"]\n'


@pytest.fixture
def df() -> pd.DataFrame:
    return ANSWERS


@pytest.fixture
def schema() -> pt.Schema:
    return pt.Schema(LABELS)


@pytest.fixture
def plan(schema: pt.Schema) -> pt.Plan:
    return pt.design(schema, epsilon=1)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ANSWERS.to_csv("answers.csv", index=False)
    Path("answers.toml").write_text(TOML)
    return tmp_path


def said(error: type[Exception], call: Callable[[], Any]) -> str:
    """The one sentence of a refusal."""
    with pytest.raises(error) as refusal:
        call()
    sentence = str(refusal.value)
    assert "\n" not in sentence
    return sentence


def test_run_takes_epsilon_by_name_or_place(df: pd.DataFrame) -> None:
    for result in (pt.run(df, {"smokes": ["no", "yes"]}, epsilon=2), pt.run(df, {"smokes": ["no", "yes"]}, 2)):
        assert result.epsilon == 2
    call: Any = pt.run
    assert said(TypeError, lambda: call(df, {"smokes": ["no", "yes"]}, eps=2)).endswith("did you mean epsilon?")


def test_integers_and_truth_values_are_labels(df: pd.DataFrame) -> None:
    result = pt.run(df, {"score": [1, 2, 3], "member": [False, True]})
    assert list(result["score"]) == ["1", "2", "3"]
    assert result["member"][True] == result["member"]["true"]


def test_possible_answers_are_declared(df: pd.DataFrame) -> None:
    call: Any = pt.run
    assert '{"smokes": [' in said(SchemaError, lambda: call(df, ["smokes"]))
    assert '{"smokes": [' in said(SchemaError, lambda: pt.run(df))
    declared = pl.DataFrame({"smokes": ["no", "yes"] * 50}, schema={"smokes": pl.Enum(["no", "yes"])})
    assert list(pt.run(declared)["smokes"]) == ["no", "yes"]


@pytest.mark.usefixtures("here")
def test_data_and_schema_may_be_files() -> None:
    assert pt.run("answers.csv", "answers.toml", epsilon=1).plan.schema.names == ("smokes",)
    Path("answers.xlsx").touch()
    assert "export the sheet as answers.csv" in said(pt.PrivtallyError, lambda: pt.run("answers.xlsx", "answers.toml"))


@pytest.mark.parametrize(
    ("written", "name"),
    [("Corr-RR", "corr-rr"), ("corr_rr", "corr-rr"), ("RS+FD", "rs-fd"), ("rs+rfd", "rs-rfd"), (" SPL ", "spl")],
)
def test_a_mechanism_is_spelled_as_people_spell_it(
    df: pd.DataFrame, schema: pt.Schema, written: str, name: str
) -> None:
    assert pt.run(df, schema, epsilon=1, mechanism=written).mechanism == name
    assert pt.design(schema, 1, written).name == name


def test_a_name_that_is_none_is_met_with_one_that_is(df: pd.DataFrame, schema: pt.Schema) -> None:
    assert said(PlanError, lambda: pt.run(df, schema, mechanism="corrr")).endswith("did you mean corr-rr?")
    assert "mechanism must be one of spl" in said(PlanError, lambda: pt.design(schema, mechanism="laplace"))
    assert "did you mean privatise?" in said(AttributeError, lambda: pt.privatis)
    assert "epsilon must be a number" in said(PlanError, lambda: pt.run(df, schema, "1"))  # type: ignore[call-overload]


def test_no_seed_decides_a_private_draw(df: pd.DataFrame, schema: pt.Schema, plan: pt.Plan) -> None:
    calls: Any = pt
    for call in (lambda: calls.run(df, schema, seed=1), lambda: calls.privatise(plan, df, seed=1)):
        assert "no seed may decide a private draw; privtally.compare" in said(TypeError, call)


def test_every_public_function_of_arguments_names_the_one_that_is_meant(df: pd.DataFrame, plan: pt.Plan) -> None:
    calls: Any = pt
    for call in (
        lambda: calls.design(LABELS, eps=1),
        lambda: calls.advise(LABELS, eps=1),
        lambda: calls.compare(df, LABELS, eps=[1]),
    ):
        assert said(TypeError, call).endswith("did you mean epsilon?")
    assert said(TypeError, lambda: calls.estimate(plan, [], methods="paper")).endswith("did you mean method?")
    assert said(TypeError, lambda: calls.tally(plan, [], limits=1)).endswith("did you mean limit?")
    assert said(TypeError, lambda: calls.audit(plan, frequency={})).endswith("did you mean frequencies?")


def test_a_refusal_shows_what_the_schema_says_and_no_answer(df: pd.DataFrame) -> None:
    wrong = said(RecordError, lambda: pt.run(df, {"drinks": ["never", "always"]}))
    assert "'never', 'always'" in wrong
    assert "weekly" not in wrong
    assert "no column 'sleeps'" in said(RecordError, lambda: pt.run(df, {"sleeps": ["well", "badly"]}))


@pytest.mark.usefixtures("here")
def test_a_result_is_read_by_names(df: pd.DataFrame, schema: pt.Schema) -> None:
    r = pt.run(df, schema, 2, mechanism="spl")
    assert str(r) == repr(r)
    assert r["smokes"]["yes"] == r.estimate["smokes"]["yes"]
    low, high = r.estimate["smokes"].low, r["smokes"].high
    assert low is not None
    assert high is not None
    assert low["yes"] <= r["smokes"]["yes"] <= high["yes"]
    assert "'no', 'yes'" in said(KeyError, lambda: r["smokes"]["maybe"])
    assert "did you mean smokes?" in said(KeyError, lambda: r["smoke"])
    assert len(r.to_pandas()) == len(r.to_frame()) == len(r.estimate.to_pandas()) == 5
    assert r.to_dict()["drinks"]["daily"] == r["drinks"]["daily"]
    r.to_csv("totals.csv")
    assert r.plot("totals.png").axes
    assert r.plot().axes
    assert all(Path(name).stat().st_size for name in ("totals.csv", "totals.png"))
    assert r.pair("smokes", "drinks").plot().axes
    assert list(r.reports.columns) == ["id", "smokes", "drinks"]
    assert (r.plans, r.mechanism, r.epsilon) == ((r.plan,), "spl", 2)
    assert [counts.reports for counts in r.counts] == [200]


def test_the_steps_of_a_campaign(df: pd.DataFrame, plan: pt.Plan) -> None:
    assert "Promises ε = 1" in repr(plan)
    assert "drinks: never, weekly, daily" in repr(plan)
    reports = pt.privatise(plan, df)
    assert pt.privatize is pt.privatise
    assert "the plan comes first" in said(PlanError, lambda: pt.privatise(df, plan))
    assert "the plan comes first" in said(PlanError, lambda: pt.tally(reports, plan))
    counts = pt.tally(plan, pd.concat([reports, reports.head(3), reports.head(1).assign(q1=7, id=b"x")]))
    assert (counts.reports, counts.repeated, counts.set_aside) == (200, 3, {"invalid_report": 1})
    assert "not counted: 3 repeated, 1 invalid report" in repr(counts)
    assert pt.estimate(plan, reports) == pt.estimate(plan, counts) == pt.estimate([(plan, counts)])
    report = pt.respond(plan, {"smokes": "no", "drinks": "daily"})
    assert pt.tally(plan, [report]).reports == 1
    assert "no answer for 'drinks'" in said(RecordError, lambda: pt.respond(plan, {"smokes": "no"}))


def test_two_phases_are_estimated_together(df: pd.DataFrame, schema: pt.Schema) -> None:
    r = pt.run(df, schema, 1, mechanism="corr-rr")
    assert pt.estimate(list(zip(r.plans, r.counts, strict=True))) == r.estimate


@pytest.mark.usefixtures("here")
def test_a_plan_is_audited_and_its_certificate_verified(plan: pt.Plan) -> None:
    found = pt.audit(plan)
    assert found["realised"] <= 1
    assert "ε = 1 promised" in repr(found)
    certificate = pt.certify(plan)
    assert pt.verify(plan, certificate)
    Path("plan.json").write_bytes(plan.dump())
    Path("certificate.json").write_bytes(msgspec.json.encode(certificate))
    assert pt.verify("plan.json", Path("certificate.json"))
    assert pt.verify(pt.load("plan.json"), pt.load("certificate.json"))
    wrong = {**certificate, "realised": 0.5}
    assert "refused" in said(PlanError, lambda: pt.verify(plan, wrong))
    assert "got int" in said(PlanError, lambda: pt.verify(plan, 1))
    assert "cannot read nothing.json" in said(PlanError, lambda: pt.verify(plan, "nothing.json"))
    assert "audit takes a plan" in said(PlanError, lambda: pt.audit("plan.json"))  # type: ignore[arg-type]


def test_an_audit_takes_the_totals_as_an_estimate_has_them(df: pd.DataFrame, schema: pt.Schema) -> None:
    r = pt.run(df, schema, 1, mechanism="rs-fd")
    assert pt.audit(r.plan, r.to_dict())["observer"] == "knows-totals"


def test_advice(schema: pt.Schema) -> None:
    advice = pt.advise(schema, people=500, epsilon=1)
    assert repr(advice).startswith(f"Run {advice.design.mechanism}")
    assert "500 people" in repr(advice)
    assert len(pt.advise("4x3", people=500).answers) == 4


@pytest.mark.usefixtures("here")
def test_whatever_document_it_is(df: pd.DataFrame, schema: pt.Schema) -> None:
    r = pt.run(df, schema, 1, mechanism="spl")
    report = pt.respond(r.plan, {"smokes": "no", "drinks": "daily"})
    documents: dict[str, Any] = {"plan": r.plan, "counts": r.counts[0], "estimate": r.estimate, "report": report}
    for name, document in documents.items():
        Path(f"{name}.json").write_bytes(document.dump())
        assert pt.load(f"{name}.json") == document
    Path("reports.ndjson").write_bytes(report.dump() + b"\n")
    assert pt.load("reports.ndjson") == [report]
    assert pt.load("answers.toml") == pt.Schema({"smokes": ["no", "yes"]})
    Path("schema.json").write_bytes(msgspec.json.encode(schema))
    assert pt.load("schema.json") == schema
    assert "no such file" in said(pt.PrivtallyError, lambda: pt.load("nothing.json"))


@pytest.mark.usefixtures("here")
def test_a_figure_of_the_paper() -> None:
    found = pt.reproduce("fig_3", runs=2)
    assert len(found.to_pandas()) == len(found.rows) == 3 * 5 * 4
    assert found.plot("fig_3.png").axes
    assert repr(found).startswith("id ")
    assert len(pt.reproduce("fig_2").to_pandas()) == 99
    assert "no picture" in said(pt.PrivtallyError, pt.reproduce("table_2").plot)
    assert "fig_3a" in said(pt.PrivtallyError, lambda: pt.reproduce("figure 3"))
    assert "name one of fig_12a" in said(pt.PrivtallyError, lambda: pt.reproduce("fig_12"))


class Mine:
    """Randomized response on every question with an equal share of the budget, written from scratch."""

    def __init__(self, schema: pt.Schema, epsilon: float) -> None:
        self.sizes, self.odds = schema.sizes, np.exp(epsilon / len(schema.sizes))

    def privatise(self, codes: Any, source: pt.Source) -> Any:
        chance = source.words(2 * codes.size).reshape(2, *codes.shape) / 2**64
        keep = (self.odds - 1) / (self.odds + np.array(self.sizes) - 1)
        return np.where(chance[0] < keep, codes, (chance[1] * self.sizes).astype(int))

    def estimate(self, reports: Any) -> list[Any]:
        found = []
        for column, size in zip(reports.T, self.sizes, strict=True):
            keep = (self.odds - 1) / (self.odds + size - 1)
            found.append((np.bincount(column, minlength=size) / len(column) - (1 - keep) / size) / keep)
        return found


def parts(schema: pt.Schema, epsilon: float) -> Mechanism:
    """The same of our own parts."""
    share = Fraction(epsilon) / len(schema.sizes)
    return Mechanism(
        tuple(Part((place,), 1, (randomized_response(share, size),)) for place, size in enumerate(schema.sizes))
    )


def planned(schema: pt.Schema, epsilon: float) -> pt.Plan:
    """The same as a plan."""
    return pt.design(schema, epsilon, "spl")


@pytest.mark.usefixtures("here")
def test_mechanisms_are_compared_with_one_of_ones_own(df: pd.DataFrame, schema: pt.Schema) -> None:
    found = pt.compare(df, schema, epsilon=[0.5, 1, 2], mechanisms=["spl", "Corr-RR", Mine], runs=2)
    assert len(found.to_pandas()) == 9
    assert repr(found).count("Mine") == 3
    (axes,) = found.plot("c.png").axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.5", "1", "2"]
    assert sorted(axes.get_legend_handles_labels()[1]) == ["Mine", "corr-rr", "spl"]
    assert "1e" not in repr(found)


def test_ones_own_spl_errs_as_ours_does_however_it_is_written(df: pd.DataFrame, schema: pt.Schema) -> None:
    ways: list[Any] = ["spl", Mine, parts, planned]
    scores = pt.compare(df, schema, 2, ways, methods="unbiased", runs=60).scores
    errors = [score.mse for score in scores]
    assert len(errors) == 4
    assert max(errors) < 1.6 * min(errors)


def test_a_mechanism_of_ones_own_runs(df: pd.DataFrame, schema: pt.Schema, plan: pt.Plan) -> None:
    for own in (Mine, Mine(schema, 8.0), parts):
        shares: Any = pt.run(df, schema, 8.0, mechanism=own, source=seeded(1))
        assert shares["smokes"]["yes"] == pytest.approx(0.25, abs=0.15)
    assert pt.run(df, schema, 2, mechanism=plan).epsilon == 2
    result: Any = pt.run(df, schema, 2, mechanism=planned)
    assert result.mechanism == "spl"


def test_what_is_no_mechanism_is_refused(df: pd.DataFrame, schema: pt.Schema, plan: pt.Plan) -> None:
    call: Any = pt.run
    assert "privatise(codes, source)" in said(CampaignError, lambda: call(df, schema, mechanism=3))
    assert "other questions" in said(CampaignError, lambda: call(df, {"smokes": ["no", "yes"]}, mechanism=plan))
    assert "more than 1" in said(CampaignError, lambda: call(df, schema, 1, mechanism=parts(schema, 2)))
    assert "decoys" in said(CampaignError, lambda: call(df, schema, 1, mechanism=Mine, decoys=1))

    class Short(Mine):
        def estimate(self, reports: Any) -> list[Any]:
            return super().estimate(reports)[:1]

    assert "for every answer" in said(CampaignError, lambda: call(df, schema, 1, mechanism=Short))
    assert "different names" in said(CampaignError, lambda: pt.compare(df, schema, 1, [Mine, Mine]))
    assert "methods that are among" in said(CampaignError, lambda: pt.compare(df, schema, 1, "spl", methods="em"))


def test_without_names_all_that_fit_are_compared(df: pd.DataFrame) -> None:
    found = pt.compare(df, {"smokes": ["no", "yes"]}, runs=1)
    assert {score.asking.mechanism for score in found.scores} == {"auto", "spl", "smp", "rs-fd"}
