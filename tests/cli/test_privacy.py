from pathlib import Path

from tests.cli.conftest import Program, write_schema
from tests.cli.test_bad_input import refused
from tests.collector.made_up import copying_plan, same_copies


def test_audit_says_what_a_report_gives_away(program: Program, schema: Path, data: Path) -> None:
    program("run", data, "-s", schema, "-e", 2, "-m", "corr-rr", "-o", "job")
    shown = program("audit", "job/plan-1.json", "job/plan-2.json", "--certificate", "c.json", code=2)
    assert "--certificate" in shown.err
    shown = program("audit", "job/plan-1.json", "job/plan-2.json")
    assert "'smokes'" in shown.out
    assert "ε = 4" in shown.out
    assert " 1 % " in shown.out
    Path("same.json").write_bytes(copying_plan(same_copies(3, 1.0), 3).dump())
    effects = program("audit", "same.json", "--json").json()["poisoning"]["attributes"]
    assert set(effects.values()) == {None}
    assert " 1 % " not in program("audit", "same.json").out
    result = program("audit", "job/plan-2.json", "--json", "--frequencies", "job/estimate.json").json()
    assert 0.9999 * 2 <= result["realised"] <= 2
    assert result["exact"] is True
    assert len(result["by_differing_attributes"]) == 3
    assert 1 / 3 <= result["pivot_guess"] <= 1
    program("audit", "job/plan-2.json", "--certificate", "c.json")
    assert "c.json" in program("verify", "job/plan-2.json", "c.json").out
    assert "another plan" in refused(program, "verify", "job/plan-1.json", "c.json")
    assert "gone.json" in refused(program, "verify", "gone.json", "c.json")


def test_a_large_plan_is_bounded_and_says_so(program: Program) -> None:
    write_schema("s.json", {f"q{number}": [str(code) for code in range(30)] for number in range(10)})
    program("design", "s.json", "-e", 1, "-m", "rs-fd", "-o", "plan.json")
    result = program("audit", "plan.json", "--json").json()
    assert not result["exact"]
    assert result["value_guesses"] is None
    assert "bound" in program("audit", "plan.json").out
    program("design", "s.json", "-e", 1, "-m", "smp", "-o", "smp.json")
    effect = program("audit", "smp.json", "--json").json()["poisoning"]["attributes"]["q0"]
    assert 0 < abs(effect["quiet_shift_points"]) < abs(effect["shift_points"])
    assert f"{abs(effect['quiet_shift_points']):.1f}" in program("audit", "smp.json").out


def test_a_total_is_moved_no_further_than_there_is_room(program: Program, schema: Path) -> None:
    program("design", schema, "-e", 0.001, "-m", "spl", "-o", "plan.json")
    audit = program("audit", "plan.json", "--json").json()
    assert max(abs(effect["shift_points"]) for effect in audit["poisoning"]["attributes"].values()) > 100
    shown = program("audit", "plan.json").out
    assert "any value" in shown
    assert "percentage points" not in shown


def test_a_guess_that_gains_nothing_is_not_compared_with_itself(program: Program, schema: Path) -> None:
    program("design", schema, "-e", 0.0001, "-m", "spl", "-o", "plan.json")
    shown = program("audit", "plan.json").out
    assert "33.3 %" in shown
    assert "instead of 33.3 %" not in shown
