from pathlib import Path

import pytest

from privtally.files import read_schema
from privtally.lab.advise import recommend
from privtally.names import MECHANISMS, METHODS
from tests.cli.conftest import Program
from tests.cli.test_bad_input import refused

ASKED = ("--people", 3_000, "--epsilon", 1)


def test_a_campaign_is_recommended(program: Program, schema: Path) -> None:
    result = program("advise", schema, *ASKED, "--json").json()
    assert (result["mechanism"], result["decoys"], result["pivots"], result["groups"]) == ("rs-fd", 1, 1, None)
    assert result["method"] == METHODS[0]
    assert result["hide_among"] == 2
    found = recommend(read_schema(schema), 1.0, 3_000)
    assert result["percentage_points"] == found.points
    said = program("advise", schema, *ASKED).out.splitlines()
    assert len(said) == 4
    assert f"Run rs-fd, 1 decoy: expect ± {found.points:.0f} percentage points" in said[0]
    assert "2.8 times surer" in "".join(said)
    assert program("advise", schema).out == program("advise", schema, "--people", 2_000, "-e", 1).out


def test_what_hiding_costs_is_one_line(program: Program, schema: Path) -> None:
    hidden, named = (recommend(read_schema(schema), 1.0, 3_000, hide_among=among).points for among in (2, 1))
    assert named < hidden
    line = program("advise", schema, *ASKED).out.splitlines()[1]
    assert line.startswith("A report shows 2 questions; one of them was really used")
    assert line.endswith(f"; ± {named:.2g} if a report may say which question it answers (--hide-among 1).")
    open_line = program("advise", schema, *ASKED, "--hide-among", 1).out.splitlines()[1]
    assert open_line == "Every report says which question was really used; the answer itself stays private."


def test_every_other_way_is_simulated_on_request(program: Program, schema: Path, data: Path) -> None:
    words = ("advise", schema, "--people", 300, "-e", 2, "--all")
    done = program(*words, "--pilot", data, "--json").json()
    rows = done["simulated"]
    assert {row["mechanism"] for row in rows} == set(MECHANISMS)
    assert [row["mse"] for row in rows] == sorted(row["mse"] for row in rows)
    assert (done["mechanism"], done["decoys"]) in {(row["mechanism"], row["decoys"]) for row in rows}
    assert {row["method"] for row in rows} == {METHODS[0]}


def test_without_pilot_data_three_kinds_of_populations_are_simulated(program: Program) -> None:
    done = program("advise", "2x2", "--people", 200, "-e", 1, "--all")
    assert all(f"│ {mechanism}" in done.out for mechanism in MECHANISMS)
    assert "200 people, 4 simulated runs" in done.out


def test_a_wanted_error_says_what_it_takes(program: Program, schema: Path) -> None:
    words = ("advise", schema, "--people", 2_000, "--epsilon", 2)
    easy = program(*words, "--within", 10, "--json").json()
    hard = program(*words, "--within", 4, "--json").json()
    assert hard["wanted"]["people"] > 2 * easy["wanted"]["people"]
    assert hard["wanted"]["epsilon"] > easy["wanted"]["epsilon"]
    assert f"{easy['wanted']['people']:,} people" in program(*words, "--within", 10).out


def test_an_error_that_anybody_has_takes_nobody(program: Program, schema: Path) -> None:
    few, one = (program("advise", schema, *ASKED, "--within", wanted, "--json").json()["wanted"] for wanted in (40, 50))
    assert one["people"] == 1 < few["people"]
    assert one["epsilon"] == 1e-6 < few["epsilon"]
    assert "1 person" in program("advise", schema, *ASKED, "--within", 50).out


def test_an_error_out_of_reach_is_said_to_be(program: Program, schema: Path) -> None:
    words = ("advise", schema, "--people", 10**12, "-e", 32, "--within", 1e-13)
    wanted = {"percentage_points": 1e-13, "people": None, "epsilon": None}
    assert program(*words, "--json").json()["wanted"] == wanted
    assert "1,000,000,000,000" in program(*words).out


def test_errors_are_drawn_against_the_budget(program: Program, schema: Path) -> None:
    pytest.importorskip("matplotlib")
    for epsilon in (1, 20):
        program("advise", schema, "--people", 500, "--epsilon", epsilon, "--plot", f"advice-{epsilon}.png")
        assert Path(f"advice-{epsilon}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--people", 0, "-e", 1), "--people"),
        (("--people", 10**13, "-e", 1), "--people"),
        (("--people", 100, "-e", 0), "epsilon"),
        (("--people", 100, "-e", 1, "--hide-among", 0), "--hide-among"),
        (("--people", 100, "-e", 1, "--hide-among", "some"), "--hide-among"),
        (("--pilot", "x.csv"), "--pilot"),
        (("--all", "--pairs"), "--all"),
        *((("--people", 100, "-e", 1, "--within", wanted), "--within") for wanted in (0, 101, "inf", "nan")),
        (("--people", 100, "-e", 1, "--plot", "x.gif"), "x.gif"),
    ],
)
def test_bad_questions_are_refused(program: Program, schema: Path, words: tuple[str | float, ...], what: str) -> None:
    assert what in refused(program, "advise", schema, *words)


def test_two_way_tables_are_a_goal_of_their_own(program: Program, schema: Path) -> None:
    said = program("advise", schema, *ASKED, "--pairs", "--json").json()
    assert (said["mechanism"], said["goal"]) == ("pairs", "pairs")
    assert said["percentage_points_of_single_questions"] > 0
    shown = program("advise", schema, *ASKED, "--pairs").out
    assert "table" in shown
    assert "says which two questions it answers" in shown
    assert "if nobody were asked two" in shown
    assert "--hide-among" in refused(program, "advise", schema, *ASKED, "--pairs", "--hide-among", 2)
    assert "two" in refused(program, "advise", "1x2", *ASKED, "--pairs")


def test_a_campaign_that_answers_every_question_has_nothing_to_guess(program: Program) -> None:
    words = ("advise", "5x3", "-e", 12)
    assert "Every report answers every question" in program(*words).out
    assert program(*words, "--json").json()["mechanism"] == "spl"


def test_tables_that_would_say_nothing_are_called_so(program: Program) -> None:
    words = ("advise", "5x3", "--pairs", "--people")
    hopeless, enough = (program(*words, people, "--epsilon", 1).out.splitlines() for people in (100, 10**7))
    assert len(hopeless) == len(enough) + 1
