import json
from pathlib import Path

from privtally.documents.plan import Plan
from privtally.errors import PlanError
from privtally.exact import wire
from tests.cli.conftest import Program
from tests.cli.test_bad_input import refused


def test_audit_says_what_a_report_gives_away(program: Program, schema: Path, data: Path) -> None:
    program("run", data, "-s", schema, "-e", 2, "-m", "corr-rr", "-o", "job")
    shown = program("audit", "job/plan-1.json", "job/plan-2.json", "--certificate", "c.json", code=2)
    assert "one plan at a time" in shown.err
    shown = program("audit", "job/plan-1.json", "job/plan-2.json")
    assert "guesses your answer to 'smokes' right" in shown.out
    assert "gives away at most the sum: ε = 4 promised" in shown.out
    assert "make up their reports together, they move" in shown.out
    copying = json.loads(Path("job/plan-2.json").read_text())
    del copying["digest"]
    copying["parts"][0]["fill"]["probability"] = [[1, 1, 1]] * 3
    Path("same.json").write_bytes(wire.convert(copying, Plan, PlanError, "the plan").dump())
    assert "not computed for this plan" in program("audit", "same.json").out
    result = program("audit", "job/plan-2.json", "--json", "--frequencies", "job/estimate.json").json()
    assert 0.9999 * 2 <= result["realised"] <= 2
    assert result["exact"] is True
    assert len(result["by_differing_attributes"]) == 3
    assert 1 / 3 <= result["pivot_guess"] <= 1
    program("audit", "job/plan-2.json", "--certificate", "c.json")
    assert "c.json is true of job/plan-2.json" in program("verify", "job/plan-2.json", "c.json").out
    assert "another plan" in refused(program, "verify", "job/plan-1.json", "c.json")
    assert "gone.json" in refused(program, "verify", "gone.json", "c.json")


def test_a_large_plan_is_bounded_and_says_so(program: Program) -> None:
    labels = ", ".join(f'"{code}"' for code in range(30))
    Path("s.toml").write_text("".join(f'[[attributes]]\nname = "q{own}"\nlabels = [{labels}]\n' for own in range(10)))
    program("design", "s.toml", "-e", 1, "-m", "rs-fd", "-o", "plan.json")
    shown = program("audit", "plan.json").out
    assert "a bound from the structure" in shown
    assert "too large to enumerate" in shown
    program("design", "s.toml", "-e", 1, "-m", "smp", "-o", "smp.json")
    assert "choosing questions as told they move it" in program("audit", "smp.json").out


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
    assert "33.3%" in shown
    assert "instead of 33.3%" not in shown
