"""refresh, and estimates round by round, from the command line."""

from pathlib import Path

import pytest

from tests.cli.conftest import Program, write_data


@pytest.fixture
def two_rounds(program: Program, schema: Path, tmp_path: Path) -> list[str]:
    """The options of the four phases of a campaign of two rounds."""
    write_data(tmp_path / "people.csv", 600, seed=5)
    program("design", schema, "-e", 4, "-m", "corr-rr", "--answers", 3, "-o", "plan-1.json")
    phases: list[str] = []
    for phase in (1, 2, 3, 4):
        if phase == 3:
            said = program("refresh", "plan-2.json", "plan-1.json", "-o", "plan-3.json", "--json").json()
            assert (said["phase"], said["round"]) == (3, 2)
        elif phase > 1:
            program("learn", *phases, "-o", f"plan-{phase}.json")
        program("privatise", "people.csv", "--plan", f"plan-{phase}.json", "-o", "reports.ndjson", "--force")
        program("tally", "reports.ndjson", "--plan", f"plan-{phase}.json", "-o", f"counts-{phase}.json")
        phases += ["--phase", f"plan-{phase}.json", f"counts-{phase}.json"]
    return phases


def test_a_campaign_of_two_rounds(program: Program, two_rounds: list[str]) -> None:
    result = program("estimate", *two_rounds, "--by-round", "--json", "-o", "rounds.csv").json()
    assert [(own["round"], own["phases"]) for own in result["rounds"]] == [(1, [1, 2]), (2, [3, 4])]
    assert set(result["changes"]) == set(result["attributes"])
    assert len(Path("rounds.csv").read_text().splitlines()) == 1 + 2 * 9
    table = program("estimate", *two_rounds, "--by-round").out
    assert "round 1" in table
    assert "round 2" in table
    plain = program("estimate", *two_rounds, "--json").json()
    assert "rounds" not in plain
    assert plain["attributes"] == result["attributes"]
    program("estimate", *two_rounds, "--by-round", "-o", "rounds.json")
    assert program("show", "rounds.json").out == table
    assert "round 2" in program("show", "plan-4.json").out


def test_audit_says_what_returning_people_give_away_in_all(program: Program, two_rounds: list[str]) -> None:
    assert "ε = 12 in all" in program("audit", "plan-3.json").out
    assert program("audit", "plan-3.json", "--json").json()["total_epsilon"] == 12
    program("audit", "plan-3.json", "--certificate", "certificate.json")
    program("verify", "plan-3.json", "certificate.json")


def test_a_picture_over_time(program: Program, two_rounds: list[str]) -> None:
    pytest.importorskip("matplotlib")
    program("estimate", *two_rounds, "--by-round", "--plot", "rounds.png")
    assert Path("rounds.png").stat().st_size > 10_000
