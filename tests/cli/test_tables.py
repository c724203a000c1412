"""Commands on files of every kind, lists of what was set aside, states and merged counts."""

import csv
import json
import re
from pathlib import Path

import duckdb
import pytest

from tests.cli.conftest import Program, write_schema
from tests.cli.test_bad_input import refused


@pytest.fixture
def plan(program: Program, schema: Path) -> str:
    program("design", schema, "-e", 2, "-m", "smp", "-o", "plan.json")
    return "plan.json"


@pytest.fixture
def lake(program: Program, data: Path, plan: str) -> Path:
    """Answers in Parquet and reports in every kind of file."""
    duckdb.connect().execute(f"COPY (FROM '{data}') TO 'data.parquet'")
    Path("lake").mkdir()
    for kind in ("parquet", "csv.gz", "ndjson"):
        program("privatise", "data.parquet", "-p", plan, "-o", f"lake/r.{kind}")
    return Path("lake")


def test_reports_in_every_kind_of_file_are_counted(program: Program, lake: Path, plan: str) -> None:
    found = program("tally", lake, "-p", plan, "-o", "counts.json", "--json").json()
    assert (found["reports"], found["repeated"], found["set_aside"], found["ids_compared"]) == (900, 0, {}, True)
    trusted = program("tally", "lake/*", "-p", plan, "-o", "trusted.json", "--trust-ids", "--json").json()
    assert trusted["ids_compared"] is False
    assert Path("trusted.json").read_bytes() == Path("counts.json").read_bytes()
    assert "not compared" in program("tally", lake, "-p", plan, "-o", "trusted.json", "--trust-ids").out


def test_what_was_set_aside_is_listed(program: Program, lake: Path, plan: str, schema: Path) -> None:
    program("design", schema, "-e", 1, "-m", "smp", "-o", "other.json")
    program("privatise", "data.parquet", "-p", "other.json", "-o", "lake/other.ndjson")
    said = program("tally", lake, "-p", plan, "-o", "counts.json", "--set-aside", "aside.csv")
    assert "300 reports set aside" in said.err
    with Path("aside.csv").open() as file:
        assert [row["reason"] for row in csv.DictReader(file)] == ["wrong_plan"] * 300
    refused(program, "tally", lake, "-p", plan, "-o", "c.json", "--set-aside", "c.json")
    refused(program, "tally", "-", "-p", plan, "-o", "c.json", "--set-aside", "aside.csv")
    refused(program, "tally", lake, "-p", plan, "-o", "c.json", "--set-aside", "lake/r.parquet")
    assert not Path("c.json").exists()


def test_run_and_compare_read_parquet(program: Program, lake: Path, schema: Path) -> None:
    program("run", "data.parquet", "-s", schema, "-e", 2, "-m", "spl", "-o", "job")
    assert Path("job/reports-1.ndjson").read_text().count("\n") == 300
    words = ("-s", schema, "-e", 2, "--runs", 2, "--mechanisms", "spl", "--methods", "unbiased", "--workers", 1)
    one, two = (program("compare", path, *words, "--json").json() for path in ("data.parquet", "data.csv"))
    assert one == two


def test_privatise_refuses_names_and_inputs(program: Program, lake: Path, plan: str) -> None:
    for name in ("r.parquet.gz", "r.gz", "r.zst"):
        refused(program, "privatise", "data.parquet", "-p", plan, "-o", name)
    Path("answers").mkdir()
    Path("data.parquet").rename("answers/a.parquet")
    refused(program, "privatise", "answers", "-p", plan, "-o", "answers/a.parquet")
    facts = program("privatise", "answers", "-p", plan, "-o", "r.csv", "--json").json()
    assert facts["reports"] == 300
    assert facts["ignored_columns"] == ["person"]


def test_merged_counts_are_those_of_all_files(program: Program, lake: Path, plan: str) -> None:
    names = []
    for number, path in enumerate(sorted(lake.iterdir())):
        names.append(f"{number}.json")
        program("tally", path, "-p", plan, "-o", names[-1])
    found = program("merge", *names, "-o", "all.json", "--json").json()
    assert (found["reports"], found["files"]) == (900, 3)
    program("tally", lake, "-p", plan, "-o", "at-once.json")
    assert Path("all.json").read_bytes() == Path("at-once.json").read_bytes()
    assert "900" in program("merge", *names, "-o", "all.json").out
    Path("link.json").symlink_to("0.json")
    assert "twice" in refused(program, "merge", "0.json", "link.json", "-o", "x.json")
    assert "input" in refused(program, "merge", "0.json", "1.json", "-o", "0.json")


def test_counts_of_different_plans_are_not_merged(program: Program, lake: Path, plan: str, schema: Path) -> None:
    program("design", schema, "-e", 1, "-m", "smp", "-o", "other.json")
    for own in (plan, "other.json"):
        program("privatise", "data.csv", "-p", own, "-o", "r.csv", "--force")
        program("tally", "r.csv", "-p", own, "-o", f"counts-{own}")
    said = refused(program, "merge", "counts-plan.json", "counts-other.json", "-o", "x.json")
    assert "counts-other.json" in said
    refused(program, "merge", "counts-plan.json", "plan.json", "-o", "x.json")
    assert not Path("x.json").exists()
    assert json.loads(Path("counts-plan.json").read_text())["reports"] == 300


def test_a_directory_named_like_a_file_is_read_once_and_hidden_names_never(
    program: Program, lake: Path, plan: str
) -> None:
    answers = Path("answers")
    for place in ("day.parquet", "day.parquet/_temporary", "_temporary", ".drafts"):
        (answers / place).mkdir(parents=True)
        (answers / place / "part.parquet").write_bytes(Path("data.parquet").read_bytes())
    (answers / "_SUCCESS").write_bytes(b"")
    for named in ("answers", "answers/*", "answers/**/*.parquet", "answers/day.parquet"):
        made = program("privatise", named, "-p", plan, "-o", "once.parquet", "--force", "--json").json()
        assert made["reports"] == 300
    Path("reports/day.parquet").mkdir(parents=True)
    Path("reports/day.parquet/part.parquet").write_bytes(Path("once.parquet").read_bytes())
    assert program("tally", "reports", "-p", plan, "-o", "counts.json", "--json").json()["reports"] == 300


def test_reports_whose_ids_are_trusted_are_counted_and_not_listed(program: Program, lake: Path, plan: str) -> None:
    lines = Path("conflict.ndjson")
    program("privatise", "data.parquet", "-p", plan, "-o", lines)
    reports = [json.loads(line) for line in lines.read_text().splitlines()]
    other = next(report for report in reports if report["codes"] != reports[0]["codes"])
    lines.write_text("".join(json.dumps({**report, "id": other["id"]}) + "\n" for report in (reports[0], other)))
    program("tally", lines, lake / "r.parquet", "-p", plan, "-o", "c.json", "--set-aside", "compared.csv")
    assert Path("compared.csv").read_text().count("id_conflict") == 1
    program("tally", lines, lake / "r.parquet", "-p", plan, "-o", "c.json", "--trust-ids", "--set-aside", "trusted.csv")
    assert Path("trusted.csv").read_text().splitlines() == ["id,reason"]


def test_a_spreadsheet_computes_no_name_and_no_label(program: Program) -> None:
    write_schema("schema.json", dict.fromkeys(("+a", "-b"), ("=1+1", "@x", "no")))
    Path("data.csv").write_text("+a,-b\n" + "=1+1,no\n@x,@x\n" * 300)
    program("run", "data.csv", "-s", "schema.json", "-e", 2, "-m", "spl", "-o", "job")
    for options in ([], ["--top", 2], ["--pairs"], ["--pair", "+a,-b"]):
        program("estimate", "job", "-o", "out.csv", *options)
        cells = [cell for row in csv.reader(Path("out.csv").read_text().splitlines()) for cell in row]
        assert {"'+a", "'-b", "'=1+1"} <= set(cells)
        assert not [cell for cell in cells if re.match(r"[=+@]|-[^0-9]", cell)]
    assert program("estimate", "job", "--json").json()["attributes"]["+a"]["labels"] == ["=1+1", "@x", "no"]
