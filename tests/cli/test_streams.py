"""Commands in a pipeline of the shell: pipes, devices, standard input and output."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.cli.test_bad_input import refused

ROOT = Path(__file__).parents[2]


@pytest.fixture
def plan(program: Program, schema: Path) -> Path:
    program("design", schema, "-e", 1, "-m", "spl", "-o", "plan.json")
    return Path("plan.json")


@pytest.fixture
def reports(program: Program, plan: Path, data: Path) -> Path:
    program("privatise", "-p", plan, data, "-o", "r.ndjson")
    return Path("r.ndjson")


def privtally(*words: str | Path, given: bytes = b"", stdout: int = subprocess.PIPE) -> tuple[bytes, bytes]:
    """What a process of its own writes to its standard output and standard error."""
    command = [sys.executable, "-m", "privtally", *map(str, words)]
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        command, input=given, stdout=stdout, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_reports_come_through_a_pipe(plan: Path, reports: Path, name: str) -> None:
    said, _ = privtally("tally", "-p", plan, name, "-o", "c.json", "--json", given=reports.read_bytes() * 40)
    assert json.loads(said)["reports"] == 300
    assert json.loads(said)["repeated"] == 300 * 39


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_answers_and_plans_come_through_a_pipe(plan: Path, data: Path, name: str) -> None:
    said, _ = privtally("privatise", "-p", plan, name, "-o", "r.ndjson", "--json", given=data.read_bytes())
    assert json.loads(said)["reports"] == 300
    privtally("privatise", "-p", name, data, "-o", "more.ndjson", given=plan.read_bytes())


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_output_goes_to_standard_output_and_the_summary_beside_it(plan: Path, data: Path, name: str) -> None:
    lines, said = privtally("privatise", "-p", plan, data, "-o", name)
    assert len(lines.splitlines()) == 300
    assert b"300" in said
    counts, said = privtally("tally", "-p", plan, "-", "-o", name, "--json", given=lines)
    assert json.loads(counts)["format"] == "privtally.counts/1"
    assert json.loads(said)["reports"] == 300
    Path("c.json").write_bytes(counts)
    estimate, said = privtally("estimate", "--phase", plan, "c.json", "-o", name)
    assert json.loads(estimate)["format"] == "privtally.estimate/1"
    assert b"smokes" in said
    assert not Path("-").exists()


def test_standard_output_that_is_a_file_is_written_and_not_replaced(plan: Path, schema: Path) -> None:
    with Path("out.json").open("wb") as file:
        before = os.fstat(file.fileno()).st_ino
        privtally("design", schema, "-e", "1", "-m", "spl", "-o", "/dev/stdout", stdout=file.fileno())
    assert Path("out.json").stat().st_ino == before
    assert json.loads(Path("out.json").read_bytes())["format"] == "privtally.plan/1"


def ended(shell: str, stdout: int = subprocess.DEVNULL) -> tuple[int, str]:
    """The exit code of a line of shell, in which $privtally is the program, and what it says on standard error."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "privtally": f"{sys.executable} -m privtally"}
    words = ["bash", "-c", f"set -o pipefail; {shell}"]
    done = subprocess.run(words, stdout=stdout, stderr=subprocess.PIPE, env=env, check=False)
    return done.returncode, done.stderr.decode()


ANSWERS = ["show plan.json", "audit plan.json --json", "privatise -p plan.json data.csv -o -", "--help"]


@pytest.mark.parametrize("words", ANSWERS)
@pytest.mark.parametrize(("output", "reason"), [(">&-", "standard output is closed"), ("> /dev/full", "No space left")])
def test_output_that_is_lost_is_refused(plan: Path, data: Path, words: str, output: str, reason: str) -> None:
    code, said = ended(f"$privtally {words} {output}")
    assert code == 2
    assert reason in said.splitlines()[-1]


@pytest.mark.parametrize("words", ANSWERS)
def test_a_reader_that_stops_has_an_exit_code_of_its_own(plan: Path, data: Path, words: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    code, said = ended(f"$privtally {words}", stdout=writer)
    os.close(writer)
    assert code == 141
    assert "Traceback" not in said
    assert "Exception ignored" not in said


def test_long_output_to_a_reader_that_stops(plan: Path, data: Path) -> None:
    Path("many.csv").write_text("".join(data.read_text().splitlines(keepends=True)[:1]))
    with Path("many.csv").open("a") as file:
        file.writelines(data.read_text().splitlines(keepends=True)[1:] * 30)
    assert ended("$privtally privatise -p plan.json many.csv -o - | head -1")[0] == 141
    assert not list(Path().glob(".*draft"))


def test_a_closed_standard_error_changes_no_exit_code(plan: Path) -> None:
    assert ended("$privtally show plan.json 2>&-")[0] == 0
    assert ended("$privtally show gone.json 2>&-")[0] == 2


def test_swapped_arguments_of_verify_are_named(program: Program, plan: Path) -> None:
    program("audit", plan, "--certificate", "c.json")
    program("verify", plan, "c.json")
    assert "swap" in refused(program, "verify", "c.json", plan)


def test_no_report_leaves_before_every_row_fits(program: Program, plan: Path, data: Path) -> None:
    """More rows than are privatised at once, and the last one bad: nothing may reach a pipe."""
    header, first, *_ = data.read_text().splitlines()
    Path("many.csv").write_text(
        "\n".join([header, *[first] * 70_000, first.replace("rarely", "x").replace("never", "x").replace("daily", "x")])
        + "\n"
    )
    words = ["privatise", "-p", str(plan), "many.csv", "--keep-order", "-o", "-"]
    done = subprocess.run([sys.executable, "-m", "privtally", *words], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize("command", ["privatise", "tally"])
def test_endless_input_is_refused(program: Program, plan: Path, command: str) -> None:
    assert "MiB" in refused(program, command, "-p", plan, "/dev/zero", "-o", "x")
    assert "MiB" in refused(program, command, "-p", "/dev/zero", "gone", "-o", "x")


def test_a_byte_order_mark_before_reports_is_left_out(program: Program, plan: Path, reports: Path) -> None:
    Path("marked.ndjson").write_bytes("\ufeff".encode() + reports.read_bytes())
    assert program("tally", "-p", plan, "marked.ndjson", "-o", "c.json", "--json").json()["reports"] == 300
