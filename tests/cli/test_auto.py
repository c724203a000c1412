"""--mechanism auto: what advise recommends, said in one line and done."""

import json
from pathlib import Path
from typing import Any

import pytest

from privtally import load_plan
from privtally.cli.render import number
from privtally.files import read_schema
from privtally.lab.advise import recommend
from tests.cli.conftest import Program
from tests.cli.test_bad_input import refused


def without_nonce(path: Path) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(path.read_text())
    return {name: value for name, value in plan.items() if name not in ("nonce", "digest")}


@pytest.mark.parametrize("epsilon", [1, 6])
@pytest.mark.parametrize("among", [1, 2, 3, "all"])
def test_the_plan_is_that_of_what_is_recommended(
    program: Program, schema: Path, epsilon: float, among: int | str
) -> None:
    words = ("-e", epsilon, "--people", 2_000, "--hide-among", among)
    said = program("design", schema, *words, "-o", "auto.json").err
    advised = program("advise", schema, *words, "--json").json()
    groups = () if advised["groups"] is None else ("--groups", ";".join(",".join(own) for own in advised["groups"]))
    decoys = () if advised["decoys"] is None else ("--decoys", advised["decoys"])
    program("design", schema, "-e", epsilon, "-m", advised["mechanism"], *groups, *decoys, "-o", "named.json")
    assert without_nonce(Path("auto.json")) == without_nonce(Path("named.json"))
    assert len(said.strip().splitlines()) == 1
    assert advised["mechanism"] in said
    assert "percentage points" in said


def test_what_is_chosen_is_said_with_what_hiding_costs(program: Program, schema: Path, data: Path) -> None:
    done = program("run", data, "-s", schema, "-e", 1, "-o", "job", "--json")
    (phase,) = done.json()["provenance"]["phases"]
    plan = load_plan(Path("job/plan-1.json").read_bytes())
    assert [(part.pivots, part.decoys) for part in plan.parts] == [(1, 1)]
    points = [recommend(read_schema(schema), 1.0, phase["reports"], hide_among=among).points for among in (2, 1)]
    (line,) = (line for line in done.err.splitlines() if "Chosen" in line)
    assert line == (
        f"Chosen for these questions: rs-fd, 1 decoy; expect ± {number(points[0])} percentage points; "
        f"± {number(points[1])} if a report may say which question it answers (--hide-among 1)."
    )


def test_fewer_questions_than_are_to_be_hidden_among_are_said(program: Program, schema: Path, data: Path) -> None:
    told = "There are 3 questions in all, so that the one used is hidden among 3, not among 5."
    words = ("-e", 0.5, "--hide-among")
    for among, said in ((3, False), ("all", False), (5, True)):
        assert (told in program("advise", schema, "--people", 2_000, *words, among).out) == said
        run = program("run", data, "-s", schema, *words, among, "-o", f"job-{among}", "--json")
        assert (told in run.err) == said


def test_a_named_mechanism_shows_as_many_decoys_as_are_said(program: Program, schema: Path, data: Path) -> None:
    for mechanism in ("smp", "rs-fd", "corr-rr"):
        program("run", data, "-s", schema, "-e", 1, "-m", mechanism, "--decoys", 1, "-o", mechanism, "--json")
        last = max(Path(mechanism).glob("plan-*.json"))
        assert [(part.pivots, part.decoys) for part in load_plan(last.read_bytes()).parts] == [(1, 1)]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ((), "--people"),
        (("-m", "auto"), "--people"),
        (("-m", "spl", "--people", 100), "--people"),
        (("-m", "spl", "--hide-among", 1), "--hide-among"),
        (("--people", 100, "--decoys", 1), "--decoys"),
        (("--people", 100, "--hide-among", 0), "--hide-among"),
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
    "words", [("--groups", "auto"), ("--pivots", 2), ("--decoys", 1), ("--phase1-share", 0.2), ("--rule", "published")]
)
def test_what_auto_chooses_cannot_be_given_to_run(
    program: Program, schema: Path, data: Path, words: tuple[str | float, ...]
) -> None:
    assert str(words[0]) in refused(program, "run", data, "-s", schema, "-e", 1, "-o", "job", *words)
    assert not Path("job").exists()
