import json
from pathlib import Path

import pytest

from privtally.lab.advise import HIDDEN
from tests.cli.conftest import Program
from tests.cli.test_bad_input import refused

QUICK = ("--users", 3_000, "--epsilon", 1, "--runs", 1, "--workers", 1)


def test_a_campaign_is_recommended(program: Program, schema: Path) -> None:
    result = program("advise", "-s", schema, *QUICK, "--json").json()
    assert result["mechanism"] in HIDDEN
    assert result["method"] == "pooled"
    assert result["recommendation"].startswith(f"Run {result['mechanism']}")
    assert "hiding it costs" in result["recommendation"]
    assert "Dirichlet(1)" in result["prior"]
    errors = [row["error"] for row in result["expected"]]
    assert errors == sorted(errors)
    assert {row["mechanism"] for row in result["expected"]} >= {"spl", "smp", "rs-fd", "rs-rfd"}
    assert all(
        (row["phase1_share"] is None) == (row["mechanism"] in ("spl", "smp", "rs-fd")) for row in result["expected"]
    )
    again = program("advise", "-s", schema, *QUICK, "--json").json()
    assert again == result


def test_where_the_pivot_may_be_known_smp_is_recommended(program: Program, schema: Path) -> None:
    words = ("--users", 3_000, "--epsilon", 1, "--runs", 4, "--workers", 1)
    result = program("advise", "-s", schema, *words, "--max-pivot-guess", 1, "--json").json()
    assert result["mechanism"] == "smp"
    assert "hiding" not in result["recommendation"]


def test_a_wanted_error_says_what_it_takes(program: Program, schema: Path, data: Path) -> None:
    words = ("advise", "-s", schema, "--users", 2_000, "--epsilon", 2, "--runs", 2, "--pilot", data, "--workers", 1)
    easy = program(*words, "--want-error", 0.05, "--json").json()
    hard = program(*words, "--want-error", 0.02, "--json").json()
    assert hard["wanted"]["users"] > 2 * easy["wanted"]["users"]
    assert hard["wanted"]["epsilon"] > easy["wanted"]["epsilon"]
    assert easy["prior"] == "the pilot data"
    shown = program(*words, "--want-error", 0.05).out
    assert "An error of 0.05 takes about" in shown


def test_errors_are_drawn_against_budget_and_secrecy(program: Program, schema: Path) -> None:
    pytest.importorskip("matplotlib")
    for epsilon in (1, 20):
        words = ("--users", 500, "--epsilon", epsilon, "--runs", 1, "--workers", 1)
        program("advise", "-s", schema, *words, "--plot", f"advice-{epsilon}.png")
        assert Path(f"advice-{epsilon}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--users", 0, "-e", 1), "--users must be at least 1"),
        (("--users", 100, "-e", 0), "epsilon must be"),
        (("--users", 100, "-e", 1, "--max-pivot-guess", 2), "--max-pivot-guess must be"),
        (("--users", 100, "-e", 1, "--want-error", 0), "--want-error must be"),
        (("--users", 100, "-e", 1, "--plot", "x.gif"), "must end in"),
    ],
)
def test_bad_questions_are_refused(program: Program, schema: Path, words: tuple[str | float, ...], what: str) -> None:
    assert what in refused(program, "advise", "-s", schema, *words)


def test_people_who_all_answer_alike_and_few_people_are_no_special_case(program: Program, schema: Path) -> None:
    Path("same.csv").write_text("sleeps badly,smokes,drinks\n" + "never,daily,rarely\n" * 300)
    words = ("advise", "-s", schema, "--users", 40, "-e", 16, "--runs", 1, "--workers", 1, "--pilot", "same.csv")
    result = program(*words, "--want-error", 10, "--json").json()
    assert result["wanted"]["users"] <= 40
    assert program(*words, "--want-error", 1e-9, "--json").json()["wanted"]["users"] is None


def yes_or_no(questions: int) -> None:
    attributes = [{"name": f"q{own}", "labels": ["no", "yes"]} for own in range(questions)]
    Path("yes-or-no.json").write_text(json.dumps({"attributes": attributes}))


def test_where_hiding_is_free_it_is_said_to_be(program: Program) -> None:
    yes_or_no(2)
    words = ("--users", 2_000, "--runs", 1, "--workers", 1)
    assert "hiding it costs nothing." in program("advise", "-s", "yes-or-no.json", *words, "-e", 6).out
    assert "times the people." in " ".join(program("advise", "-s", "yes-or-no.json", *words, "-e", 0.5).out.split())


def test_an_error_out_of_reach_is_said_to_be(program: Program, schema: Path) -> None:
    words = ("advise", "-s", schema, "--users", 2_000_000, "-e", 20, "--runs", 1, "--workers", 1, "--want-error", 1e-9)
    shown = " ".join(program(*words).out.split())
    assert "takes more than 2,000,000 people at ε = 20, or more than ε = 20 with 2,000,000 people." in shown


def test_where_nothing_fits_the_reason_is_given(program: Program) -> None:
    yes_or_no(18)
    said = refused(program, "advise", "-s", "yes-or-no.json", "--users", 20_000_000, "-e", 1)
    assert "no mechanism can ask these people these questions (spl: " in said
