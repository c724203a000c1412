"""The whole way from a CSV file to frequencies, by every mechanism."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from privtally.mechanisms.named import NAMED
from privtally.names import MECHANISMS, MechanismName
from tests.cli.conftest import LABELS, Program, write_data, write_schema
from tests.cli.test_bad_input import refused

DESIGN = [sys.executable, "-m", "privtally", "design", "schema.toml", "-e", "1", "-m", "spl", "-o", "plan.json"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_pipeline_by_hand_recovers_known_frequencies(
    program: Program, schema: Path, tmp_path: Path, mechanism: MechanismName
) -> None:
    """Every frequency within four standard errors.

    The randomness is the operating system's. A normal error exceeds four standard errors with probability 6e-5; with 9
    frequencies that would be too often for a test, so a miss is tried again on new people: three misses in a row have
    a chance of (9 · 6.4e-5)³ < 2e-10.
    """
    for attempt in range(3):
        program("design", schema, "--epsilon", 4, "--mechanism", mechanism, "-o", "plan-1.json")
        truth = write_data(tmp_path / "one.csv", 10_000, seed=10 + attempt)
        phases = ["--phase", "plan-1.json", "counts-1.json"]
        said = program("privatise", "--plan", "plan-1.json", "one.csv", "-o", "reports-1.ndjson")
        assert "Ignored column 'person'" in said.err
        program("tally", "--plan", "plan-1.json", "reports-1.ndjson", "-o", "counts-1.json")
        if NAMED[mechanism].learns:
            program("learn", *phases, "-o", "plan-2.json")
            program("privatise", "--plan", "plan-2.json", "one.csv", "-o", "reports-2.ndjson")
            program("tally", "--plan", "plan-2.json", "reports-2.ndjson", "-o", "counts-2.json")
            phases += ["--phase", "plan-2.json", "counts-2.json"]
        result = program("estimate", *phases, "--method", "unbiased", "--json").json()
        assert set(result["attributes"]) == set(truth)
        misses = 0
        for name, true in truth.items():
            found = result["attributes"][name]
            assert found["labels"] == LABELS
            assert abs(sum(found["frequencies"]) - 1) < 1e-9
            for frequency, error, target in zip(found["frequencies"], found["standard_errors"], true, strict=True):
                assert 0 < error < 0.2
                misses += abs(frequency - target) > 4 * error
        if not misses:
            return
    pytest.fail("frequencies were missed by more than four standard errors on three samples")


def test_kept_order_is_the_order_of_the_rows(program: Program, schema: Path) -> None:
    program("design", schema, "-e", 32, "-m", "smp", "-o", "plan.json")
    rows = [LABELS[row % 3] for row in range(90)]
    Path("d.csv").write_text("sleeps badly,smokes,drinks\n" + "".join(f"{row},{row},{row}\n" for row in rows))
    for words, kept in ((["--keep-order"], True), ([], False)):
        program("privatise", "-p", "plan.json", "d.csv", "-o", "r.ndjson", "--force", *words)
        codes = [json.loads(line)["codes"] for line in Path("r.ndjson").read_text().splitlines()]
        answered = [next(code for code in row if code is not None) for row in codes]
        # At this budget an answer is changed with a chance below 1e-13.
        assert (answered == [LABELS.index(row) for row in rows]) == kept


def test_estimates_are_written_and_drawn(program: Program, schema: Path, data: Path) -> None:
    program("run", data, "-s", schema, "-e", 2, "-m", "corr-rr", "-o", "job")
    phases = ["--phase", "job/plan-2.json", "job/counts-2.json", "--phase", "job/plan-1.json", "job/counts-1.json"]
    shown = program("estimate", *phases, "-o", "e.csv", "--plot", "e.png", "--method", "paper")
    assert "sleeps badly" in shown.out
    assert "bias" in shown.out
    rows = list(csv.DictReader(Path("e.csv").read_text().splitlines()))
    assert len(rows) == 9
    assert Path("e.png").read_bytes().startswith(b"\x89PNG")
    program("estimate", *phases, "-o", "e.json", "--plot", "e.svg")
    assert "<svg" in Path("e.svg").read_text()
    assert program("show", "e.json", "--json").json()["kind"] == "estimate"


def test_only_the_most_frequent_answers_are_shown_written_and_drawn(program: Program, schema: Path, data: Path) -> None:
    program("run", data, "-s", schema, "-e", 2, "-m", "rs-fd", "-o", "job")
    shown = program("estimate", "job", "--top", 1, "-o", "top.csv", "--plot", "top.svg")
    assert "rarer" in shown.out
    names = program("show", "job/plan-1.json", "--json").json()["attributes"]
    rows = list(csv.DictReader(Path("top.csv").read_text().splitlines()))
    assert [row["attribute"] for row in rows] == list(names)
    assert "<svg" in Path("top.svg").read_text()
    whole = program("estimate", "job", "--json").json()["attributes"]
    result = program("estimate", "job", "--top", 1, "--json").json()["attributes"]
    for name, own in result.items():
        assert own["frequencies"] == [max(whole[name]["frequencies"])]
        assert own["of"] == names[name]
    assert "--top" in refused(program, "estimate", "job", "--top", 1, "--pair", "smokes,drinks")


def test_show_says_what_a_document_holds(program: Program, schema: Path, data: Path) -> None:
    program("run", data, "-s", schema, "-e", 2, "-m", "corr-rr", "-o", "job")
    plan = program("show", "job/plan-1.json")
    assert "phase 1 of corr-rr" in plan.out
    assert "never, rarely, daily" in plan.out
    second = program("show", "job/plan-2.json").out
    assert "phase 2 of corr-rr" in second
    assert "30 reports" in second
    summary = program("show", "job/plan-1.json", "--json").json()
    assert 0.9999 * 2 <= summary["realised_epsilon"] <= 2
    assert "270 private reports" in program("show", "job/counts-2.json").out
    assert "method likelihood" in program("show", "job/estimate.json").out
    for mechanism, word in (("rs-rfd", "priors"), ("cond-rr", "tables")):
        program("run", data, "-s", schema, "-e", 2, "-m", mechanism, "-o", mechanism)
        assert word in program("show", f"{mechanism}/plan-2.json").out


def test_a_terminal_without_greek_is_no_defect(schema: Path, tmp_path: Path) -> None:
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(DESIGN, cwd=tmp_path, env=ascii_only, capture_output=True, text=True, check=True)
    assert "? = 1" in done.stdout


def test_being_terminated_leaves_no_draft(schema: Path, tmp_path: Path) -> None:
    """The program waits for a pipe that never ends; a polite kill must take its draft away."""
    os.mkfifo(tmp_path / "answers")
    subprocess.run(DESIGN, cwd=tmp_path, check=True, capture_output=True)
    command = [sys.executable, "-m", "privtally", "privatise", "-p", "plan.json", "answers", "-o", "r.ndjson"]
    with (
        subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) as process,
        (tmp_path / "answers").open("wb", buffering=0) as pipe,
    ):
        pipe.write(b"more,sleeps badly,smokes,drinks\n1,never,never,never\n")
        process.terminate()
        assert process.wait(timeout=60) == 143
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers", "plan.json", "schema.toml"]


def test_labels_that_look_like_markup_are_shown_as_they_are(program: Program) -> None:
    labels = ["$a_1$", "[bold]", "{b}"]
    write_schema("s.json", {"[red]x[/red]": labels})
    Path("d.csv").write_text("[red]x[/red]\n" + "\n".join(labels * 40) + "\n")
    program("run", "d.csv", "-s", "s.json", "-e", 2, "-m", "spl", "-o", "job")
    shown = program("estimate", "job", "--plot", "x.svg").out
    assert all(text in shown for text in ("[red]x[/red]", *labels))
    assert "[bold]" in program("show", "job/plan-1.json").out


def test_a_pair_of_attributes_is_printed_and_written(program: Program, schema: Path, data: Path) -> None:
    program("run", data, "-s", schema, "-e", 3, "-m", "corr-rr", "-o", "job")
    pair = ("--pair", "smokes,drinks")
    assert "smokes" in program("estimate", "job", *pair, "-o", "pair.csv", "--plot", "x.png").out
    assert Path("pair.csv").read_text().splitlines()[0] == "smokes,drinks,frequency,standard_error"
    assert Path("x.png").read_bytes().startswith(b"\x89PNG")
    result = program("estimate", "job", *pair, "--json").json()
    assert result["attributes"] == ["smokes", "drinks"]
    assert sum(map(sum, result["frequencies"])) == pytest.approx(1)
    assert "no question" in refused(program, "estimate", "job", "--pair", "smokes,gone")
    assert "two questions" in refused(program, "estimate", "job", "--pair", "smokes")
    second_phase = ("--phase", "job/plan-2.json", "job/counts-2.json")
    assert "'smokes' and 'drinks'" in refused(program, "estimate", *second_phase, "--pair", "smokes,drinks")
    program("estimate", "job", "--pairs", "--plot", "y.png")
    assert Path("y.png").read_bytes().startswith(b"\x89PNG")
    assert "--pair" in refused(program, "estimate", "job", "--pairs", *pair)
    assert "unbiased" in refused(program, "estimate", "job", *pair, "--method", "paper")
    for spaced in ("smokes, drinks", " smokes ,drinks "):
        assert program("estimate", "job", "--pair", spaced, "--json").json() == result


def test_a_pair_may_have_commas_and_spaces_in_its_names(program: Program) -> None:
    write_schema("s.json", dict.fromkeys(("a, b", " c"), "xy"))
    Path("d.csv").write_text('"a, b", c\n' + "x,y\n" * 50)
    program("run", "d.csv", "-s", "s.json", "-e", 3, "-m", "spl", "-o", "job")
    assert program("estimate", "job", "--pair", "a, b, c", "--json").json()["attributes"] == ["a, b", " c"]


def test_groups_are_chosen_and_said(program: Program, schema: Path, data: Path) -> None:
    said = program("design", schema, "-e", 6, "-m", "rs-fd", "--groups", "auto", "-o", "plan.json")
    assert "Chose 3 groups" in said.err
    program("design", schema, "-e", 1, "-m", "smp", "--groups", "auto", "-o", "smp.json")
    assert "groups" not in json.loads(Path("smp.json").read_text())
    said = program("run", data, "-s", schema, "-e", 8, "-m", "corr-rr", "--groups", "auto", "-o", "job")
    assert "Chose 2 groups" in said.err
    phase = ("--phase", "job/plan-1.json", "job/counts-1.json")
    assert "Chose 2 groups" in program("learn", *phase, "--people", 270, "--groups", "auto", "-o", "next.json").err
    assert (
        json.loads(Path("next.json").read_text())["parts"] == json.loads(Path("job/plan-2.json").read_text())["parts"]
    )
    said = program("learn", *phase, "--people", 270, "--groups", "correlation:0.99", "-o", "apart.json")
    assert "Chose 3 groups with ε = 2.67 each: sleeps badly; smokes; drinks." in said.err
    program("learn", *phase, "--groups", "correlation:2", "-o", "x.json", code=2)
    program("learn", *phase, "--groups", "drinks;sleeps badly,smokes", "-o", "named.json")
    assert json.loads(Path("named.json").read_text())["groups"] == [[2], [0, 1]]
    assert "'drinks'" in refused(program, "learn", *phase, "--groups", "sleeps badly,smokes", "-o", "no.json")
    assert "spl" in refused(program, "design", schema, "-e", 1, "-m", "spl", "--groups", "auto", "-o", "no.json")
    missing = ("design", schema, "-e", 1, "-m", "smp", "--groups", "smokes;sleeps badly", "-o", "no.json")
    assert "drinks" in refused(program, *missing)
    auto = ("design", schema, "-e", 1, "-m", "smp", "--groups", "auto", "--pivots", 2, "-o", "no.json")
    assert "--pivots" in refused(program, *auto)


def test_run_with_two_hidden_pivots(program: Program, schema: Path, data: Path) -> None:
    said = program("run", data, "-s", schema, "-e", 2, "-m", "cond-rr", "--pivots", 2, "-o", "job")
    assert json.loads(Path("job/plan-2.json").read_text())["learned"]["pivots"] == 2
    shown = program("show", "job/plan-2.json").out
    assert ("fewer" in shown) == (json.loads(Path("job/plan-2.json").read_text())["parts"][0]["pivots"] < 2)
    assert "Every document" in said.out
    program("run", data, "-s", schema, "-e", 2, "-m", "rs-rfd", "--pivots", 2, "-o", "rows")
    assert len(program("estimate", "rows", "--pairs", "--json").json()["tables"]) == 3
    program("audit", "rows/plan-2.json")
    one = ("--phase", "job/plan-1.json", "job/counts-1.json")
    program("learn", *one, "--pivots", 2, "-o", "next.json")
    assert "auto" in refused(program, "learn", *one, "--pivots", 2, "--groups", "auto", "-o", "no.json")
    assert "one question a report" in refused(
        program, "run", data, "-s", schema, "-e", 2, "-m", "corr-rr", "--pivots", 2, "-o", "no"
    )


def test_all_two_way_tables_are_printed_and_written(program: Program, schema: Path, data: Path) -> None:
    program("run", data, "-s", schema, "-e", 1, "-m", "smp", "--pivots", 2, "-o", "job")
    shown = program("estimate", "job", "--pairs", "-o", "tables.csv")
    assert shown.out.count("private reports answer both questions") == 3
    assert shown.out.count("Warning") == 3
    assert len(Path("tables.csv").read_text().splitlines()) == 1 + 3 * 9
    found = program("estimate", "job", "--pairs", "--json").json()
    assert [table["noisy"] for table in found["tables"]] == [True] * 3
    assert found["missing"] == []
    assert program("estimate", "job", "--pair", "sleeps badly,drinks", "--json").json() in found["tables"]
    assert "unbiased" in refused(program, "estimate", "job", "--pairs", "--method", "paper")
    plain = program("estimate", "job", "--pairs", "--method", "unbiased", "--json").json()
    assert {table["method"] for table in plain["tables"]} == {"unbiased"}
    program("run", data, "-s", schema, "-e", 1, "-m", "smp", "-o", "single")
    assert "together" in refused(program, "estimate", "single", "--pairs")
    program("run", data, "-s", schema, "-e", 1, "-m", "smp", "--groups", "smokes,drinks;sleeps badly", "-o", "groups")
    assert "smokes and drinks" in program("estimate", "groups", "--pairs").out


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_run_does_the_whole_job_and_leaves_every_document(
    program: Program, schema: Path, data: Path, mechanism: MechanismName
) -> None:
    result = program("run", data, "--schema", schema, "--epsilon", 2, "--mechanism", mechanism, "-o", "job", "--json")
    phases = (1, 2) if NAMED[mechanism].learns else (1,)
    expected = {f"{kind}-{phase}" for phase in phases for kind in ("plan", "reports", "counts")} | {"estimate"}
    assert {path.stem for path in Path("job").iterdir()} == expected
    assert json.loads(Path("job/estimate.json").read_text()) == result.json()
    if NAMED[mechanism].learns:
        assert Path("job/reports-1.ndjson").read_text().count("\n") == 30
        assert Path("job/reports-2.ndjson").read_text().count("\n") == 270
    # The documents of the job are the documents of the single steps.
    for phase in phases:
        program("tally", "--plan", f"job/plan-{phase}.json", f"job/reports-{phase}.ndjson", "-o", "again.json")
        assert Path("again.json").read_bytes() == Path(f"job/counts-{phase}.json").read_bytes()
    options = [word for phase in phases for word in ("--phase", f"job/plan-{phase}.json", f"job/counts-{phase}.json")]
    assert program("estimate", *options, "--json").json() == result.json()
