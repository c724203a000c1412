"""--mechanism auto: what advise recommends, said in one line and done."""

import json
from pathlib import Path
from typing import Any

import pytest

from privtally import design, load_plan, recommend
from privtally.errors import CampaignError, PlanError
from privtally.exact.source import SystemSource
from privtally.files import read_schema
from privtally.lab.offers import Design
from tests.cli.conftest import Program
from tests.cli.test_bad_input import refused
from tests.support import schema_of


def without_nonce(path: Path) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(path.read_text())
    return {name: value for name, value in plan.items() if name not in ("nonce", "digest")}


@pytest.mark.parametrize(("epsilon", "guess"), [(1, 0.5), (1, 1), (6, 0.5), (6, 1)])
def test_the_plan_is_that_of_what_is_recommended(program: Program, schema: Path, epsilon: float, guess: float) -> None:
    words = ("design", schema, "-e", epsilon, "--people", 2_000, "--max-pivot-guess", guess, "-o", "auto.json")
    said = program(*words).err
    advised = program("advise", schema, "-e", epsilon, "--people", 2_000, "--max-pivot-guess", guess, "--json").json()
    groups = () if advised["groups"] is None else ("--groups", ";".join(",".join(own) for own in advised["groups"]))
    program("design", schema, "-e", epsilon, "-m", advised["mechanism"], *groups, "-o", "named.json")
    assert without_nonce(Path("auto.json")) == without_nonce(Path("named.json"))
    assert len(said.strip().splitlines()) == (1 if guess == 1 else 2)
    assert advised["mechanism"] in said
    assert "percentage points" in said


def test_smp_is_taken_only_if_the_question_may_be_known(program: Program, schema: Path) -> None:
    for epsilon in (0.5, 2, 6):
        words = ("design", schema, "-e", epsilon, "--people", 2_000, "-o", "plan.json", "--force")
        program(*words)
        assert load_plan(Path("plan.json").read_bytes()).mechanism != "smp"
        program(*words, "--max-pivot-guess", 1)
        assert load_plan(Path("plan.json").read_bytes()).mechanism == "smp"


def test_run_takes_the_recommended_share_of_people_in_the_first_phase(
    program: Program, schema: Path, data: Path
) -> None:
    done = program("run", data, "-s", schema, "-e", 1, "-o", "job", "--json")
    provenance = done.json()["provenance"]
    people = sum(phase["reports"] for phase in provenance["phases"])
    advised = recommend(read_schema(schema), 1.0, people).design
    assert provenance["mechanism"] == advised.mechanism
    assert advised.phase1_share is not None
    assert provenance["phases"][0]["reports"] == round(advised.phase1_share * people)
    (line,) = (line for line in done.err.splitlines() if "Chosen" in line)
    assert advised.mechanism in line


def test_a_survey_without_a_first_phase_runs_in_one(program: Program, schema: Path, data: Path) -> None:
    done = program("run", data, "-s", schema, "-e", 1, "--max-pivot-guess", 1, "-m", "auto", "-o", "job", "--json")
    assert len(done.json()["provenance"]["phases"]) == 1


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ((), "--people"),
        (("-m", "auto"), "--people"),
        (("-m", "spl", "--people", 100), "--people"),
        (("-m", "spl", "--max-pivot-guess", 1), "--max-pivot-guess"),
        (("--people", 100, "--groups", "auto"), "--groups"),
        (("--people", 100, "--pivots", 2), "--pivots"),
        (("--people", 0), "--people"),
    ],
)
def test_what_auto_cannot_use_is_refused(
    program: Program, schema: Path, words: tuple[str | float, ...], what: str
) -> None:
    assert what in refused(program, "design", schema, "-e", 1, "-o", "plan.json", *words)


@pytest.mark.parametrize(
    "words", [("--groups", "auto"), ("--pivots", 2), ("--phase1-share", 0.2), ("--rule", "published")]
)
def test_what_auto_chooses_cannot_be_given_to_run(
    program: Program, schema: Path, data: Path, words: tuple[str | float, ...]
) -> None:
    assert str(words[0]) in refused(program, "run", data, "-s", schema, "-e", 1, "-o", "job", *words)
    assert not Path("job").exists()


def test_a_recommendation_is_what_design_takes() -> None:
    schema = schema_of((2, 7, 16))
    chosen = recommend(schema, 6.0, 20_000, max_pivot_guess=1.0)
    plan = design(schema, 6.0, **chosen.design.options, source=SystemSource())
    assert plan.mechanism == chosen.design.mechanism == "smp"
    tables = recommend(schema, 2.0, 20_000, max_pivot_guess=1.0, pairs=True)
    assert tables.design == Design("smp", pivots=2)
    for people, guess in ((0, 0.5), (100, 0.0), (100, 1.5)):
        with pytest.raises(CampaignError):
            recommend(schema, 1.0, people, max_pivot_guess=guess)
    with pytest.raises(PlanError):
        recommend(schema, 0.0, 100)
