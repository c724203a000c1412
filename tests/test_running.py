"""run: from data to estimates in one call."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import privtally
from privtally.documents.plan import design
from privtally.errors import CampaignError, DocumentError, PlanError, PrivtallyError, RecordError
from privtally.job import run_campaign
from privtally.lab.advise import recommend
from privtally.lab.seed import seeded
from privtally.plots import estimate as picture
from privtally.running import Result, run
from privtally.schema import Attribute, Records, Schema
from privtally.tables import estimate_frames
from tests.tables.frame_kinds import KINDS

LABELS = {"smokes": ["no", "yes"], "drinks": ["never", "weekly", "daily"]}
EXAMPLES = Path(__file__).parents[1] / "examples"


def people(many: int = 400) -> dict[str, list[str]]:
    made_up = np.random.default_rng(1)
    return {name: made_up.choice(labels, many).tolist() for name, labels in LABELS.items()}


def records_of(columns: dict[str, list[str]]) -> Records:
    codes = [[LABELS[name].index(value) for value in column] for name, column in columns.items()]
    return Records(Schema.of(LABELS), np.array(codes, dtype=np.uint8).T)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame_gives_what_its_records_give(kind: str) -> None:
    columns = people()
    result = run(KINDS[kind]({**columns, "other": [0] * 400}), LABELS, 2.0, mechanism="corr-rr", source=seeded(3))
    assert result.estimate == run_campaign(records_of(columns), 2.0, "corr-rr", seeded(3)).estimate("likelihood")
    assert result.ignored == ("other",)


def test_the_mechanism_is_the_recommended_one_unless_it_is_stated() -> None:
    for epsilon, many in ((1.0, 300), (6.0, 3_000)):
        found = recommend(Schema.of(LABELS), epsilon, many).design
        plan = run(pd.DataFrame(people(many)), LABELS, epsilon).job.phases[0].plan
        assert (plan.mechanism, plan.epsilon) == (found.mechanism, epsilon)
    assert run(pd.DataFrame(people()), LABELS).job.phases[0].plan.epsilon == 1


def test_the_schema_may_be_in_a_file_and_so_may_the_data(tmp_path: Path) -> None:
    file = run(EXAMPLES / "survey-1.csv", EXAMPLES / "survey.toml", 3, mechanism="spl", source=seeded(1))
    frame = pl.read_csv(EXAMPLES / "survey-1.csv")
    assert run(frame, str(EXAMPLES / "survey.toml"), 3, mechanism="spl", source=seeded(1)).estimate == file.estimate
    frame.write_parquet(tmp_path / "part-1.parquet")
    assert run(str(tmp_path), EXAMPLES / "survey.toml", 3, mechanism="spl", source=seeded(1)).estimate == file.estimate


def test_options_are_those_of_a_campaign() -> None:
    result = run(pd.DataFrame(people()), LABELS, 2.0, mechanism="smp", pivots=2, method="unbiased")
    assert result.estimate.method == "unbiased"
    assert result.job.phases[0].plan.sampler.parts[0].pivots == 2
    with pytest.raises(CampaignError, match="pivots"):
        run(pd.DataFrame(people()), LABELS, 2.0, pivots=2)


@pytest.mark.parametrize(
    ("data", "schema", "epsilon", "fault"),
    [
        (pd.DataFrame(people()), LABELS, 0, PlanError),
        (pd.DataFrame(people()), {"smokes": "no"}, 1, PrivtallyError),
        (pd.DataFrame(people()), "schema.txt", 1, DocumentError),
        (pd.DataFrame(people())[:0], LABELS, 1, RecordError),
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
    return run(pd.DataFrame(people()), schema, 2.0, mechanism="rs-fd", source=seeded(3))


def test_the_frames_of_a_result_are_its_csv(result: Result) -> None:
    lines = list(csv.DictReader(io.StringIO(result.estimate.to_csv().decode())))
    texts = ("attribute", "label", "among")
    expected = [{name: own if name in texts else float(own) for name, own in line.items()} for line in lines]
    assert result.to_pandas().to_dict("records") == expected
    assert result.to_polars().to_dicts() == expected
    assert result.to_arrow().to_pylist() == expected
    assert {line["among"] for line in expected} == {"everybody", "answered"}


def test_an_interval_that_is_missing_is_null() -> None:
    biased = run(pd.DataFrame(people()), LABELS, 2.0, mechanism="corr-rr", method="paper", source=seeded(3))
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
    monkeypatch.setattr(estimate_frames, "find_spec", lambda _: None)
    with pytest.raises(DocumentError, match="matplotlib"):
        result.plot()
    with pytest.raises(DocumentError, match="pip install polars"):
        result.to_polars()


def test_run_is_a_public_name() -> None:
    assert privtally.run is run


def test_options_of_a_named_mechanism_that_change_nothing_are_refused() -> None:
    with pytest.raises(CampaignError, match="hide_among has no effect with spl"):
        run(pd.DataFrame(people()), LABELS, 1.0, mechanism="spl", hide_among=2)
    with pytest.raises(CampaignError, match="decoys"):
        run(pd.DataFrame(people()), LABELS, 1.0, decoys=1)
    with pytest.raises(PlanError, match="the mechanism must be one of"):
        run(pd.DataFrame(people()), LABELS, 1.0, mechanism="foo")  # type: ignore[arg-type]


@pytest.mark.parametrize("among", [None, 1, 2, "all"])
def test_the_question_is_hidden_as_was_asked_for_in_one_phase(among: Any) -> None:
    (phase,) = run(pd.DataFrame(people()), LABELS, 1.0, hide_among=among, source=seeded(1)).job.phases
    chosen = recommend(Schema.of(LABELS), 1.0, 400, hide_among=among or 2).design
    assert phase.plan.parts == design(phase.plan.schema, 1.0, **chosen.options).parts


def test_a_named_mechanism_may_have_decoys() -> None:
    (phase,) = run(pd.DataFrame(people()), LABELS, 1.0, mechanism="smp", decoys=1, source=seeded(1)).job.phases
    assert [part.decoys for part in phase.plan.parts] == [1]
