import json
from pathlib import Path

import pytest

from privtally.names import LEARNED_WITH, MECHANISMS
from tests.cli.conftest import Program
from tests.cli.test_bad_input import refused
from tests.scale import scaled

ASKED = ("--people", 3_000, "--epsilon", 1)


def write_schema(questions: int, labels: int) -> Path:
    words = [str(code) for code in range(labels)]
    attributes = [{"name": f"q{own}", "labels": words} for own in range(questions)]
    path = Path(f"{questions}-{labels}.json")
    path.write_text(json.dumps({"attributes": attributes}))
    return path


def test_a_campaign_is_recommended(program: Program, schema: Path) -> None:
    result = program("advise", schema, *ASKED, "--json").json()
    assert result["mechanism"] in ("spl", "rs-fd", "corr-rr")
    assert result["method"] == "pooled"
    assert result["mechanism"] in result["recommendation"]
    assert "smp" in result["recommendation"]
    assert "Dirichlet(1)" in result["prior"]
    errors = [row["error"] for row in result["expected"]]
    assert errors == sorted(errors)
    assert result["error"] in errors
    assert result["percentage_points"] == pytest.approx(196 * result["error"])
    shares = {row["mechanism"]: row["phase1_share"] for row in result["expected"]}
    assert shares.keys() == set(MECHANISMS)
    assert {mechanism for mechanism, share in shares.items() if share is not None} == set(LEARNED_WITH)
    said = program("advise", schema, *ASKED).out.splitlines()
    assert len(said) == 4
    assert result["mechanism"] in said[0]
    assert f"± {result['percentage_points']:.0f} percentage points" in said[0]
    assert "2.8 times surer" in "".join(said)
    table = program("advise", schema, *ASKED, "--all").out
    assert all(f"│ {mechanism}" in table for mechanism in MECHANISMS)


def test_a_schema_alone_is_enough(program: Program, schema: Path) -> None:
    assert program("advise", schema).out == program("advise", schema, "--people", 2_000, "-e", 1).out


def test_where_the_pivot_may_be_known_smp_is_recommended(program: Program, schema: Path) -> None:
    result = program("advise", schema, *ASKED, "--max-pivot-guess", 1, "--json").json()
    assert result["mechanism"] == "smp"
    assert "corr-rr" not in result["recommendation"]
    assert "smp" not in program("advise", schema, *ASKED, "--json").json()["mechanism"]


def test_a_wanted_error_says_what_it_takes(program: Program, schema: Path, data: Path) -> None:
    words = ("advise", schema, "--people", 2_000, "--epsilon", 2, "--pilot", data)
    easy = program(*words, "--within", 10, "--json").json()
    hard = program(*words, "--within", 4, "--json").json()
    assert hard["wanted"]["people"] > 2 * easy["wanted"]["people"]
    assert hard["wanted"]["epsilon"] > easy["wanted"]["epsilon"]
    assert f"{easy['wanted']['people']:,} people" in program(*words, "--within", 10).out


def test_an_error_that_anybody_has_takes_nobody(program: Program, schema: Path) -> None:
    """Not "about 110 people" for 0.3 and for 1 alike."""
    few, one = (
        program("advise", schema, *ASKED, "--within", wanted, "--json").json()["wanted"] for wanted in (59, 100)
    )
    assert one["people"] == 1 < few["people"] < 10
    assert one["epsilon"] == few["epsilon"] == 1e-6
    assert "1 person" in program("advise", schema, *ASKED, "--within", 100).out


def test_an_error_out_of_reach_is_said_to_be(program: Program, schema: Path) -> None:
    words = ("advise", schema, "--people", 10**12, "-e", 32, "--within", 1e-13)
    wanted = {"percentage_points": 1e-13, "people": None, "epsilon": None}
    assert program(*words, "--json").json()["wanted"] == wanted
    assert "1,000,000,000,000" in program(*words).out


def test_errors_are_drawn_against_budget_and_secrecy(program: Program, schema: Path) -> None:
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
        (("--people", 100, "-e", 1, "--max-pivot-guess", 2), "--max-pivot-guess"),
        *((("--people", 100, "-e", 1, "--within", wanted), "--within") for wanted in (0, 101, "inf", "nan")),
        (("--people", 100, "-e", 1, "--plot", "x.gif"), "x.gif"),
    ],
)
def test_bad_questions_are_refused(program: Program, schema: Path, words: tuple[str | float, ...], what: str) -> None:
    assert what in refused(program, "advise", schema, *words)


def test_people_who_all_answer_alike_and_few_people_are_no_special_case(program: Program, schema: Path) -> None:
    Path("same.csv").write_text("sleeps badly,smokes,drinks\n" + "never,daily,rarely\n" * 300)
    result = program("advise", schema, "--people", 2, "-e", 16, "--pilot", "same.csv", "--json").json()
    assert 0 < result["error"] < 0.1


def test_what_others_would_give_is_said_where_it_is_better(program: Program) -> None:
    schema = write_schema(2, 2)
    free, dear = (program("advise", schema, "--people", 2_000, "-e", epsilon, "--json").json() for epsilon in (12, 0.5))
    assert "smp" not in free["recommendation"]
    assert "smp" in dear["recommendation"]


def test_two_way_tables_are_a_goal_of_their_own(program: Program, schema: Path) -> None:
    said, hidden = (
        program("advise", schema, *ASKED, "--pairs", "--max-pivot-guess", guess, "--json").json() for guess in (1, 0.5)
    )
    assert (said["mechanism"], said["pivots"]) == ("smp", 2)
    assert hidden["mechanism"] == "spl"
    assert said["goal"] == hidden["goal"] == "pairs"
    assert "table" in program("advise", schema, *ASKED, "--pairs").out
    assert "two" in refused(program, "advise", write_schema(1, 2), *ASKED, "--pairs")


def test_mixed_sizes_skipped_answers_and_bins_are_only_labels(program: Program) -> None:
    Path("mixed.toml").write_text(
        '[[attributes]]\nname = "sex"\nlabels = ["f", "m"]\noptional = true\n'
        '[[attributes]]\nname = "age"\nbins = [0, 18, 30, 45, 65, 120]\n'
        f'[[attributes]]\nname = "town"\nlabels = {json.dumps([f"t{code}" for code in range(200)])}\n'
    )
    result = program("advise", "mixed.toml", *ASKED, "--json").json()
    assert {row["mechanism"] for row in result["expected"]} >= {"spl", "smp", "rs-fd", "rs-rfd", "cond-rr"}


@pytest.mark.parametrize(("questions", "labels"), [(scaled(120, 300), 2), (1, 65_536), (1, 2), (60, 30)])
def test_large_and_small_schemas_are_no_special_case(program: Program, questions: int, labels: int) -> None:
    """Nothing is simulated or held for pairs of labels: 65,536 labels took 34 GB, 300 questions two minutes."""
    schema = write_schema(questions, labels)
    result = program("advise", schema, *ASKED, "--within", 2, "--json").json()
    assert 0 < result["error"] < 1


def test_a_secrecy_that_no_pivot_has_leaves_a_campaign_that_answers_every_question(program: Program) -> None:
    result = program("advise", write_schema(5, 3), *ASKED, "--max-pivot-guess", 0.05)
    assert "spl" in result.out
    assert "Every report answers every question" in result.out
    stated = program("advise", write_schema(5, 3), *ASKED, "--max-pivot-guess", 0.05, "--json").json()
    assert (stated["mechanism"], stated["pivot_guess"]) == ("spl", None)


def test_tables_that_would_say_nothing_are_called_so(program: Program) -> None:
    words = ("advise", write_schema(5, 3), "--pairs", "--people")
    hopeless, enough = (program(*words, people, "--epsilon", 1).out.splitlines() for people in (100, 10**7))
    assert len(hopeless) == len(enough) + 1
