import json
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.cli.test_bad_input import refused

ASKED = ("--users", 3_000, "--epsilon", 1)


def write_schema(questions: int, labels: int) -> Path:
    words = [str(code) for code in range(labels)]
    attributes = [{"name": f"q{own}", "labels": words} for own in range(questions)]
    path = Path(f"{questions}-{labels}.json")
    path.write_text(json.dumps({"attributes": attributes}))
    return path


def test_a_campaign_is_recommended(program: Program, schema: Path) -> None:
    result = program("advise", "-s", schema, *ASKED, "--json").json()
    assert result["mechanism"] in ("spl", "rs-fd", "corr-rr")
    assert result["method"] == "pooled"
    assert result["mechanism"] in result["recommendation"]
    assert "smp" in result["recommendation"]
    assert "Dirichlet(1)" in result["prior"]
    errors = [row["error"] for row in result["expected"]]
    assert errors == sorted(errors)
    assert result["expected_error"] in errors
    shares = {row["mechanism"]: row["phase1_share"] for row in result["expected"]}
    assert shares.keys() == {"spl", "smp", "rs-fd", "corr-rr"}
    assert [mechanism for mechanism, share in shares.items() if share is not None] == ["corr-rr"]
    assert result["mechanism"] in program("advise", "-s", schema, *ASKED).out


def test_where_the_pivot_may_be_known_smp_is_recommended(program: Program, schema: Path) -> None:
    result = program("advise", "-s", schema, *ASKED, "--max-pivot-guess", 1, "--json").json()
    assert result["mechanism"] == "smp"
    assert "corr-rr" not in result["recommendation"]


def test_a_wanted_error_says_what_it_takes(program: Program, schema: Path, data: Path) -> None:
    words = ("advise", "-s", schema, "--users", 2_000, "--epsilon", 2, "--pilot", data)
    easy = program(*words, "--want-error", 0.05, "--json").json()
    hard = program(*words, "--want-error", 0.02, "--json").json()
    assert hard["wanted"]["users"] > 2 * easy["wanted"]["users"]
    assert hard["wanted"]["epsilon"] > easy["wanted"]["epsilon"]
    assert f"{easy['wanted']['users']:,} people" in program(*words, "--want-error", 0.05).out


def test_an_error_that_anybody_has_takes_nobody(program: Program, schema: Path) -> None:
    """Not "about 110 people" for 0.3 and for 1 alike."""
    few, one = (
        program("advise", "-s", schema, *ASKED, "--want-error", wanted, "--json").json()["wanted"]
        for wanted in (0.3, 1)
    )
    assert one["users"] == 1 < few["users"] < 10
    assert one["epsilon"] == few["epsilon"] == 1e-6
    assert "1 person" in program("advise", "-s", schema, *ASKED, "--want-error", 1).out


def test_an_error_out_of_reach_is_said_to_be(program: Program, schema: Path) -> None:
    words = ("advise", "-s", schema, "--users", 10**12, "-e", 32, "--want-error", 1e-15)
    assert program(*words, "--json").json()["wanted"] == {"error": 1e-15, "users": None, "epsilon": None}
    assert "1,000,000,000,000" in program(*words).out


def test_errors_are_drawn_against_budget_and_secrecy(program: Program, schema: Path) -> None:
    pytest.importorskip("matplotlib")
    for epsilon in (1, 20):
        program("advise", "-s", schema, "--users", 500, "--epsilon", epsilon, "--plot", f"advice-{epsilon}.png")
        assert Path(f"advice-{epsilon}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--users", 0, "-e", 1), "--users"),
        (("--users", 10**13, "-e", 1), "--users"),
        (("--users", 100, "-e", 0), "epsilon"),
        (("--users", 100, "-e", 1, "--max-pivot-guess", 2), "--max-pivot-guess"),
        *((("--users", 100, "-e", 1, "--want-error", wanted), "--want-error") for wanted in (0, 1.01, "inf", "nan")),
        (("--users", 100, "-e", 1, "--plot", "x.gif"), "x.gif"),
    ],
)
def test_bad_questions_are_refused(program: Program, schema: Path, words: tuple[str | float, ...], what: str) -> None:
    assert what in refused(program, "advise", "-s", schema, *words)


def test_people_who_all_answer_alike_and_few_people_are_no_special_case(program: Program, schema: Path) -> None:
    Path("same.csv").write_text("sleeps badly,smokes,drinks\n" + "never,daily,rarely\n" * 300)
    result = program("advise", "-s", schema, "--users", 2, "-e", 16, "--pilot", "same.csv", "--json").json()
    assert 0 < result["expected_error"] < 0.1


def test_where_hiding_is_free_it_is_said_to_be(program: Program) -> None:
    schema = write_schema(2, 2)
    free, dear = (
        program("advise", "-s", schema, "--users", 2_000, "-e", epsilon, "--json").json() for epsilon in (6, 0.5)
    )
    assert "nothing" in free["recommendation"]
    assert "times" in dear["recommendation"]


@pytest.mark.parametrize(("questions", "labels"), [(300, 2), (1, 65_536), (1, 2), (60, 30)])
def test_large_and_small_schemas_are_no_special_case(program: Program, questions: int, labels: int) -> None:
    """Nothing is simulated or held for pairs of labels: 65,536 labels took 34 GB, 300 questions two minutes."""
    schema = write_schema(questions, labels)
    result = program("advise", "-s", schema, *ASKED, "--want-error", 0.01, "--json").json()
    assert 0 < result["expected_error"] < 1
