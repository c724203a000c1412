"""reproduce and compare, as a person runs them."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from privtally.documents.campaign import Asking
from privtally.lab.compare import Score
from tests.cli.conftest import Program, write_schema
from tests.cli.test_bad_input import SECRET, refused
from tests.lab.paper.data import DIRECTORY, needs_data
from tests.scale import scaled


@pytest.fixture(autouse=True)
def _no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests name the data directory themselves; nothing is downloaded."""
    monkeypatch.delenv("PRIVTALLY_DATA_DIR", raising=False)

    def offline(*_: object, **__: object) -> None:
        raise OSError("no network in tests")

    monkeypatch.setattr("pooch.retrieve", offline)


KEYS = {"id", "dataset", "method", "x", "x_name", "settings", "mse", "standard_error", "published", "z"}


def test_reproduce_writes_pictures_tables_and_results(program: Program) -> None:
    said = program("reproduce", "fig_3a", "table_6", "fig_2", "table_2", "--runs", 5, "-o", "out", "--workers", 1)
    assert "root-mean-square z" in said.out
    names = {path.name for path in Path("out").iterdir()}
    assert names == {
        "fig_3.csv", "fig_3.png", "table_6.csv", "table_6.png", "fig_2.csv", "fig_2.png", "table_2.csv", "results.json",
    }  # fmt: skip
    results = json.loads(Path("out/results.json").read_text())
    assert len(results) == 4 * 5 + 2 * 3 * 10
    assert all(set(result) == KEYS for result in results)
    first = results[0]
    assert (first["id"], first["method"], first["x"], first["published"]) == ("fig_3a", "SPL", 0.1, 0.2225)
    assert first["settings"]["rule"] == "published"
    assert first["settings"]["uncopied"] == "domain"


def test_the_text_as_written_is_another_setting(program: Program) -> None:
    program("reproduce", "table_4", "--as-written", "--runs", 3, "-o", "out", "--workers", 1)
    settings = json.loads(Path("out/results.json").read_text())[0]["settings"]
    assert settings["rule"] == "proposition"
    assert settings["first"] == "falling"
    assert settings["uncopied"] == "others"
    assert settings["conventions"] == "as-written"


@pytest.mark.usefixtures("_no_pictures")
def test_the_workers_do_not_change_a_byte(program: Program) -> None:
    for workers in (1, 2, 3):
        program("reproduce", "fig_4", "table_7", "--runs", 4, "--seed", 9, "-o", f"w{workers}", "--workers", workers)
    one, two, three = (Path(f"w{workers}/results.json").read_bytes() for workers in (1, 2, 3))
    assert one == two == three
    program("reproduce", "fig_4", "table_7", "--runs", 4, "--seed", 10, "-o", "other", "--workers", 1)
    assert Path("other/results.json").read_bytes() != one


@needs_data
def test_real_data_gives_figures_11_and_12_and_table_3(program: Program) -> None:
    figures, place = ("fig_11", "fig_12", "table_3"), ("--data-dir", str(DIRECTORY), "-o", "out")
    program("reproduce", *figures, "--runs", 2, *place, "--workers", 1)
    results = json.loads(Path("out/results.json").read_text())
    assert len(results) == 60
    assert "Clave,2,2,10000,0.29" in Path("out/table_3.csv").read_text()
    assert Path("out/fig_12a.png").exists()


@pytest.fixture
def _no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than simulating."""
    monkeypatch.setattr("privtally.plots.estimate.available", lambda: False)


@pytest.mark.usefixtures("_no_pictures")
def test_without_data_everything_else_is_done(program: Program) -> None:
    said = program("reproduce", "--runs", 1, "-o", "out", "--workers", 1)
    assert "Left out fig_11a" in said.err
    assert not Path("out/fig_11.csv").exists()
    assert {path.suffix for path in Path("out").iterdir()} == {".csv", ".json"}
    results = json.loads(Path("out/results.json").read_text())
    assert results[0]["standard_error"] is None
    assert results[0]["z"] is None


def test_bad_input_to_reproduce(program: Program) -> None:
    sentence = refused(program, "reproduce", "fig_99", "-o", "out")
    assert "fig_3a" in sentence
    assert "table_9" in sentence
    for runs in ("0", "-3", "99999999999999999999"):
        assert "--runs must be at least 1" in refused(program, "reproduce", "fig_3", "--runs", runs, "-o", "out")
    assert "--workers must be at least 0" in refused(program, "reproduce", "fig_3", "--workers", -1, "-o", "out")
    assert "name a directory by --data-dir" in refused(program, "reproduce", "fig_11a", "-o", "out", "--workers", 1)
    Path("data/clave").mkdir(parents=True)
    Path("data/clave/ClaveVectors_Firm-Teacher_Model.txt").write_text("1 2 3\n")
    assert "a37d311a" in refused(program, "reproduce", "fig_11a", "--data-dir", "data", "-o", "out", "--workers", 1)
    assert "cannot write" in refused(program, "reproduce", "fig_2", "-o", "no/such/place")


def test_compare_ranks_every_mechanism_and_method(program: Program, schema: Path, data: Path) -> None:
    words = ("compare", data, "--schema", schema, "--epsilon", "0.5,3", "--runs", 2, "--workers", 1)
    rows = program(*words, "--json").json()
    names = {"mechanism", "rule", "method", "epsilon", "mse", "standard_error", "groups", "pivots", "decoys"}
    assert set(rows[0]) == names | {"percentage_points"}
    variants = {(row["mechanism"], row["rule"], row["decoys"]) for row in rows}
    assert variants == {
        ("spl", None, None), ("smp", None, None), ("rs-fd", None, None), ("rs-rfd", None, None),
        ("cond-rr", None, None), ("corr-rr", "robust", None), ("corr-rr", "proposition", None),
        ("corr-rr", "published", None), ("rs-fd", None, 1), ("pairs", None, None),
    }  # fmt: skip
    assert {row["method"] for row in rows} == {"likelihood", "paper", "unbiased", "paper+simplex", "unbiased+simplex"}
    assert len(rows) == (9 + 8) * 5 + 2 * 3  # at ε = 3 spl is recommended; pairs has no estimate of the paper's
    assert [(row["epsilon"], row["mse"]) for row in rows] == sorted((row["epsilon"], row["mse"]) for row in rows)
    assert program(*words[:-1], 2, "--json").json() == rows


def test_ways_within_two_standard_errors_are_not_told_apart() -> None:
    errors = {"spl": 1.0, "smp": 1.2, "rs-fd": 2.0}
    rows = [Score(Asking.of(name), "unbiased", 1.0, error, 0.1) for name, error in errors.items()]
    assert [row.worse_than(rows[0]) for row in rows] == [False, False, True]
    assert not Score(Asking("smp"), "unbiased", 1.0, 9.0, None).worse_than(rows[0])


def test_a_comparison_is_shown_and_drawn(program: Program, schema: Path, data: Path) -> None:
    words = ("compare", data, "-s", schema, "-e", "0.5,3", "--runs", 2, "--mechanisms", "spl,rs-fd", "--workers", 1)
    shown, every = program(*words, "--plot", "c.png").out, program(*words, "--all").out
    assert shown.count("│ rs-fd") == 2
    assert every.count("│ rs-fd") == 2 * 5
    best = program(*words, "--json").json()[0]
    assert shown.startswith(f"Best at ε = 0.5: {best['mechanism']} with method {best['method']}, ")
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")


def test_projection_never_hurts_and_is_done_for_all(program: Program, schema: Path, data: Path) -> None:
    """The truth is a distribution, so that the nearest distribution is never further from it."""
    words = ("compare", data, "-s", schema, "-e", "0.2", "--runs", 5, "--workers", 1, "--json")
    found = program(*words).json()
    rows = {(row["mechanism"], row["rule"], row["decoys"], row["method"]): row["mse"] for row in found}
    for (*way, method), error in rows.items():
        if f"{method}+simplex" in {name for *_, name in rows}:
            assert rows[*way, f"{method}+simplex"] <= error + 1e-12


def test_compare_in_groups_and_with_several_pivots(program: Program, schema: Path, data: Path) -> None:
    words = ("compare", data, "-s", schema, "-e", "8", "--workers", 1, "--methods", "likelihood")
    more = ("--mechanisms", "smp,rs-fd", "--pivots", 2, "--groups")
    rows = program(*words, *more, "sleeps badly,smokes;drinks", "--runs", 60, "--json").json()
    found = {(row["mechanism"], row["groups"] is not None, row["pivots"]): row for row in rows}
    assert set(found) == {(name, *way) for name in ("smp", "rs-fd") for way in ((False, 1), (False, 2), (True, 1))}
    assert found["rs-fd", True, 1]["mse"] < 0.5 * found["rs-fd", False, 1]["mse"]
    assert "questions" in program(*words, *more, "auto", "--runs", 2).out
    assert "eats" in refused(program, *words, *more, "sleeps badly,smokes;eats")


def test_compare_asks_as_many_people_as_wanted(program: Program, schema: Path, data: Path) -> None:
    words = ("compare", data, "-s", schema, "-e", "1", "--runs", 20, "--mechanisms", "smp", "--methods", "unbiased")
    few, many = (
        program(*words, "--people", users, "--workers", 1, "--json").json()[0]["mse"]
        for users in (1_000, 3_000_000_000)
    )
    assert many < few / 1e5


def test_a_table_with_too_many_records_is_simulated_user_by_user(
    program: Program, schema: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways have the same law, in one phase and in two: their errors agree within six standard errors (refused less
    than once in a million, by Student's t of the fewest runs). That every sampler follows its law is tested where the
    samplers are.
    """
    asked = ("compare", data, "-s", schema, "-e", "2", "--mechanisms", "smp,rs-rfd", "--methods", "paper")
    words = (*asked, "--runs", scaled(50, 150), "--workers", 1, "--json")
    exact = {(row["mechanism"], row["rule"]): row for row in program(*words).json()}
    monkeypatch.setattr("privtally.lab.compare.EXACT_CELLS", 0)
    for row in program(*words).json():
        other = exact[row["mechanism"], row["rule"]]
        error = (row["standard_error"] ** 2 + other["standard_error"] ** 2) ** 0.5
        assert abs(row["mse"] - other["mse"]) < 6 * error
        assert row["mse"] != other["mse"]


def test_a_mechanism_that_does_not_fit_is_left_out_or_refused(program: Program) -> None:
    write_schema("s.json", {name: [str(code) for code in range(800)] for name in "ab"})
    Path("d.csv").write_text("a,b\n" + "1,2\n2,3\n7,9\n" * 30)
    words = ("compare", "d.csv", "-s", "s.json", "-e", "1", "--runs", 1, "--workers", 1, "--methods", "unbiased")
    said = program(*words, "--mechanisms", "smp", "--json")
    assert {row["mechanism"] for row in said.json()} == {"smp"}
    assert "Left out cond-rr" in program(*words, "--json").err
    assert "cells" in refused(program, *words, "--mechanisms", "cond-rr")


def test_few_people_can_be_asked_by_what_needs_few(program: Program, schema: Path, data: Path) -> None:
    words = ("compare", data, "-s", schema, "-e", "1,1", "--runs", 50, "--workers", 1, "--methods", "unbiased")
    said = program(*words, "--people", 3, "--json")
    assert "Left out corr-rr: 3 people are too few for two phases" in said.err
    assert "In some runs of smp nothing could be estimated" in said.err
    assert [row["mechanism"] for row in said.json()].count("smp") == 1
    assert {row["mechanism"] for row in said.json()} == {"spl", "smp", "rs-fd", "pairs"}


def test_many_users_of_a_wide_schema_are_refused(program: Program) -> None:
    """People times questions take memory: ten million people with twenty questions took gigabytes."""
    names = [f"q{number}" for number in range(20)]
    write_schema("s.json", dict.fromkeys(names, ("no", "yes")))
    Path("d.csv").write_text(",".join(names) + "\n" + ",".join(["no"] * 20) + "\n")
    words = ("compare", "d.csv", "-s", "s.json", "-e", "1", "--mechanisms", "spl", "--people")
    assert "1,000,000" in refused(program, *words, 1_000_001)
    assert "1,000,000" in refused(program, *words, 10**12)


def test_one_attribute_with_very_many_labels_is_simulated_user_by_user(program: Program) -> None:
    """A table of its labels by labels would take 34 GB."""
    write_schema("s.json", {"a": [str(code) for code in range(65_536)]})
    Path("d.csv").write_text("a\n" + "7\n65535\n" * 20)
    words = ("compare", "d.csv", "-s", "s.json", "-e", "1", "--runs", 1, "--methods", "unbiased", "--workers", 1)
    rows = program(*words, "--mechanisms", "spl", "--json").json()
    assert [row["mechanism"] for row in rows] == ["spl"]


def test_results_are_written_even_if_there_are_none(program: Program) -> None:
    program("reproduce", "table_2", "-o", "out")
    assert json.loads(Path("out/results.json").read_text()) == []


INTERRUPTED = """
import os, signal
from privtally.cli import main
from privtally.lab.paper import experiments

def run_errors(*_):
    try:
        os.mkdir("begun")
        os.kill(os.getppid(), HOW)
    except FileExistsError:
        pass
    while True:
        signal.pause()

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs the tests in the background
experiments.run_errors = run_errors
main()
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_an_interruption_stops_every_process_and_leaves_no_results(tmp_path: Path, how: signal.Signals) -> None:
    """The first piece of work sends the signal, and no piece of work ever ends. Every process holds the standard
    output, which ends when the last of them has.
    """
    script = INTERRUPTED.replace("HOW", str(int(how)))
    program = [sys.executable, "-c", script, "reproduce", "fig_6a", "--workers", "2", "-o", "out"]
    done = subprocess.run(program, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    assert done.returncode == 128 + how
    assert list((tmp_path / "out").iterdir()) == []


def test_bad_input_to_compare(program: Program, schema: Path, data: Path) -> None:
    def said(*words: str | int) -> str:
        return refused(program, "compare", data, "-s", schema, *words)

    assert "--runs must be at least 1" in said("-e", "1", "--runs", 0)
    assert "--people must be at least 1" in said("-e", "1", "--people", 0)
    assert "--people must be at least 1" in said("-e", "1", "--people", 10**20)
    assert "--epsilon must be a number from 0.000001 to 32" in said("-e", "1,-2")
    assert "numbers separated by commas" in said("-e", "1;2")
    assert "too few for two phases" in said("-e", "1", "--people", 1, "--mechanisms", "corr-rr")
    assert "phase1_share) must be" in said("-e", "1", "--phase1-share", "nan", "--mechanisms", "rs-rfd")
    assert "there is no directory" in said("-e", "1", "--plot", "nowhere/x.png")
    Path("bad.csv").write_text(f"sleeps badly,smokes,drinks\nnever,never,{SECRET}\n")
    sentence = refused(program, "compare", "bad.csv", "-s", schema, "-e", "1")
    assert "line 2: question 'drinks'" in sentence


def test_rules_that_do_not_fit_the_questions_are_left_out(program: Program) -> None:
    examples = Path(__file__).parents[2] / "examples"
    schema, data = examples / "visits.toml", examples / "visits.csv"
    words = ("compare", data, "-s", schema, "-e", 2, "--people", 500, "--runs", 1, "--workers", 1)
    rows = program(*words, "--mechanisms", "corr-rr", "--methods", "unbiased", "--json").json()
    assert {row["rule"] for row in rows} == {"robust", "proposition"}
