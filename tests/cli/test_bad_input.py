"""Bad input: one clear sentence, exit code 2, no output file, and never a participant's answer."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import SCHEMA, Program

SECRET = "zzz-my-secret-answer"


def refused(program: Program, *words: str | Path | float) -> str:
    """The one sentence with which the program refuses."""
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    outcome = program(*words, code=2)
    after = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert after == before, "a refused command left or changed a file"
    assert outcome.err.count("privtally: ") == 1
    sentence = outcome.err[outcome.err.index("privtally: ") :].strip()
    assert "\n" not in sentence
    assert "Traceback" not in outcome.err
    assert SECRET not in outcome.out + outcome.err
    return sentence


@pytest.fixture
def plan(program: Program, schema: Path) -> Path:
    program("design", schema, "-e", 1, "-m", "corr-rr", "-o", "plan.json")
    return Path("plan.json")


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (f"1,never,daily,rarely\n2,{SECRET},daily,rarely\n", "line 3: question 'drinks' has an answer that is none"),
        (f"1,never,daily,rarely\n2,never,daily,rarely,{SECRET}\n", "line 3: more cells than the header"),
        (f'1,never,daily,rarely\n2,never,daily,"{SECRET}\n', "line 3: the line is not valid CSV"),
        (f'1,never,daily,rarely\n2,never,daily,"{SECRET}\n3,never,daily,rarely\n', "line 3: the line is not valid CSV"),
        (f'1,never,daily,rarely\n2,never,daily,rarely,"{SECRET}"x\n', "quotation marks"),
        (f'1,never,daily,rarely\n2,never,daily,rarely,{SECRET}"x"\n', "line 3: more cells than the header"),
        (f'1,never,"da\nily{SECRET}",rarely\n', "line 3: question 'sleeps badly'"),
        ("", "has a header but no rows"),
    ],
)
@pytest.mark.parametrize("command", ["privatise", "run"])
def test_rows(program: Program, plan: Path, schema: Path, rows: str, reason: str, command: str) -> None:
    Path("bad.csv").write_text("person,drinks,sleeps badly,smokes\n" + rows)
    words = {
        "privatise": ("privatise", "--plan", plan, "bad.csv", "-o", "r.ndjson"),
        "run": ("run", "bad.csv", "-s", schema, "-e", 1, "-m", "spl", "-o", "job"),
    }
    sentence = refused(program, *words[command])
    assert "bad.csv" in sentence
    assert reason in sentence


def test_a_bad_row_after_many_good_ones_leaves_nothing(program: Program, plan: Path) -> None:
    good = "1,never,daily,rarely\n" * 70_000
    Path("bad.csv").write_text(f"person,drinks,sleeps badly,smokes\n{good}2,never,{SECRET},rarely\n")
    assert "line 70002" in refused(program, "privatise", "-p", plan, "bad.csv", "-o", "r.ndjson")


def test_a_refusal_keeps_the_file_that_was_there(program: Program, plan: Path) -> None:
    Path("r.ndjson").write_text("precious")
    Path("bad.csv").write_text(f"person,drinks,sleeps badly,smokes\n1,{SECRET},daily,rarely\n")
    refused(program, "privatise", "-p", plan, "bad.csv", "-o", "r.ndjson")
    assert Path("r.ndjson").read_text() == "precious"


def test_files_that_are_not_there(program: Program, plan: Path, schema: Path, data: Path) -> None:
    gone = "gone.json: there is no such file"
    assert gone in refused(program, "privatise", "-p", "gone.json", data, "-o", "r.ndjson")
    assert "gone.csv" in refused(program, "privatise", "-p", plan, "gone.csv", "-o", "r.ndjson")
    assert gone in refused(program, "show", "gone.json")
    assert gone in refused(program, "design", "gone.json", "-e", 1, "-m", "spl", "-o", "p.json")
    assert "gone/p.json" in refused(program, "design", schema, "-e", 1, "-m", "spl", "-o", "gone/p.json")
    assert "gone/job" in refused(program, "run", data, "-s", schema, "-e", 1, "-m", "spl", "-o", "gone/job")


def test_reports(program: Program, plan: Path, schema: Path, data: Path) -> None:
    program("design", schema, "-e", 2, "-m", "corr-rr", "-o", "other.json")
    program("privatise", "-p", plan, data, "-o", "r.ndjson")
    assert "another plan" in refused(program, "tally", "-p", "other.json", "r.ndjson", "-o", "c.json")
    lines = Path("r.ndjson").read_text().splitlines(keepends=True)
    Path("cut.ndjson").write_text("".join(lines[:7]) + lines[7][:40])
    found = program("tally", "-p", plan, "cut.ndjson", "-o", "c.json", "--json").json()
    assert (found["reports"], found["set_aside"]) == (7, {"invalid_report": 1})
    Path("far.ndjson").write_text(lines[0].replace('"codes":[', '"codes":[7'))
    assert "no report" in refused(program, "tally", "-p", plan, "far.ndjson", "-o", "c2.json")
    Path("empty.ndjson").write_text("")
    assert "no reports" in refused(program, "tally", "-p", plan, "empty.ndjson", "-o", "c.json")


def test_output_names(program: Program, schema: Path, data: Path) -> None:
    program("run", data, "-s", schema, "-e", 2, "-m", "spl", "-o", "job")
    assert ".csv or .json" in refused(program, "estimate", "job", "-o", "e.xlsx")
    assert ".png or .svg" in refused(program, "estimate", "job", "--plot", "e.gif")
    assert "not an empty directory" in refused(program, "run", data, "-s", schema, "-e", 2, "-m", "spl", "-o", "job")
    plan = "--phase job/plan-1.json"
    for words in (plan, f"{plan} --json", "--phase=job/plan-1.json"):
        assert "two files" in refused(program, "estimate", *words.split())
    for nameless in ("", ".", "/", ".."):
        assert "give the output a name" in refused(program, "design", schema, "-e", 1, "-m", "spl", "-o", nameless)
    assert "nowhere/e.png" in refused(program, "estimate", "job", "-o", "e.csv", "--plot", "nowhere/e.png")
    Path("s.yaml").write_text(SCHEMA)
    assert ".toml or .json" in refused(program, "design", "s.yaml", "-e", 1, "-m", "spl", "-o", "p.json")


def test_what_the_system_refuses_is_one_sentence(program: Program) -> None:
    assert "too long" in refused(program, "run", f"{'x' * 300}.csv", "-e", "1")
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "privtally", "show", "--help"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "privtally: the system refused: No space left on device\n")


def test_a_defect_never_prints_what_went_wrong_in_the_data(
    program: Program, plan: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError(SECRET)

    monkeypatch.setattr("privtally.tables.answers.code_type", broken)
    outcome = program("privatise", "-p", plan, data, "-o", "r.ndjson", code=70)
    assert "this is a defect (KeyError)" in outcome.err
    assert SECRET not in outcome.out + outcome.err
    assert not Path("r.ndjson").exists()
    assert not list(Path().glob(".r.ndjson*"))


@pytest.mark.parametrize(
    ("mechanism", "words", "option"),
    [
        ("cond-rr", ("--rule", "published"), "--rule"),
        ("rs-rfd", ("--rule", "robust"), "--rule"),
        ("spl", ("--rule", "robust"), "--rule"),
        ("smp", ("--phase1-share", 0.2), "--phase1-share"),
    ],
)
def test_options_without_effect(
    program: Program, schema: Path, data: Path, mechanism: str, words: tuple[str | float, ...], option: str
) -> None:
    run = ("run", data, "-s", schema, "-e", 2, "-m", mechanism)
    assert option in refused(program, *run, *words, "-o", "job")
    program(*run, "-o", "job")
    if mechanism in ("cond-rr", "rs-rfd", "corr-rr"):
        learn = ("learn", "--phase", "job/plan-1.json", "job/counts-1.json", "-o", "p.json")
        assert option in refused(program, *learn, *words)
        program(*learn)
    if mechanism == "cond-rr":
        Path("p.json").unlink()
        assert "--people" in refused(program, *learn, "--people", 100)


HERE = {"run": ("data.csv", "-s", "schema.toml"), "design": ("schema.toml", "-o", "p.json"), "advise": ("schema.toml",)}
HERE |= {"campaign create": ("schema.toml", "--title", "x"), "compare": ("data.csv", "-s", "schema.toml")}


@pytest.mark.parametrize("command", HERE)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-e", "two"), "--epsilon must be a number"),
        (("-e", "0"), "--epsilon must be a number from 0.000001 to 32, got 0"),
        (("-e", "1", "--epsilin", "1"), " has no option --epsilin; did you mean --epsilon?"),
        (("-e", "1", "--zzz"), "--help lists all"),
    ],
)
def test_the_same_mistake_is_said_alike(
    program: Program, schema: Path, data: Path, command: str, words: tuple[str, ...], said: str
) -> None:
    sentence = refused(program, *command.split(), *HERE[command], *words)
    assert said in sentence
    assert "two" not in words or "got 'two'" in sentence


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rnu",), "privtally: there is no command rnu; did you mean run?"),
        (("zzz",), "privtally: there is no command zzz; privtally --help lists all"),
        (("campaign", "creat"), "there is no command campaign creat; did you mean create?"),
        (("run", "data.csv", "-m", "smpp"), "pairs, got 'smpp'; did you mean smp?"),
        (("run", "data.csv", "-m", "zzz"), "--mechanism must be one of auto, spl,"),
        (("estimate", "--phase", "a", "b", "--method", "likelihoods"), "got 'likelihoods'; did you mean likelihood?"),
        (("compare", "data.csv", "--mechanisms", "smpp"), "--mechanisms must be one of spl,"),
        (("compare", "data.csv", "--methods", "likelihoods"), "got 'likelihoods'; did you mean likelihood?"),
        (("advise", "schema.toml", "--people", "1.5"), "--people must be a whole number, got '1.5'"),
        (("serve", "--port", "abc"), "--port must be a whole number, got 'abc'"),
        (("design", "schema.toml"), "privtally: design needs --epsilon NUMBER"),
        (("run",), "privtally: run needs DATA"),
        (("compare", "data.csv", "--all", "--json"), "--all has no effect with --json"),
        (("run", "data.csv", "more"), "unexpected extra argument"),
        (("demo", "--people", "3"), "--people must be at least 100"),
        (("run", "-e"), "requires an argument"),
        (("run", "folder", "-s", "folder"), "folder: it is a directory; name a file"),
        (("advise", "folder"), "folder: it is a directory; name a file"),
        (("tally", "r.ndjson", "-p", "folder", "-o", "c.json"), "folder: it is a directory; name a file"),
        (("run", "gone.csv"), "gone.csv: there is no such file; check its name"),
        (("init", "--from-csv", "gone.csv"), "gone.csv: there is no such file; check its name"),
        (
            ("design", "schema.toml", "-e", "1", "-m", "spl", "-o", "no/p.json"),
            "there is no directory no; make it first",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_what_to_do(
    program: Program, schema: Path, data: Path, words: tuple[str, ...], said: str
) -> None:
    Path("folder").mkdir()
    assert said in refused(program, *words)


@pytest.mark.parametrize("words", [("design", "-e", 1, "-m", "smp"), ("privatise", "-p", "plan.json")])
def test_plans_and_reports_are_replaced_only_by_force(
    program: Program, schema: Path, plan: Path, data: Path, words: tuple[str | float, ...]
) -> None:
    given = (*words, data if words[0] == "privatise" else schema, "-o", "precious.csv")
    program(*given)
    before = Path("precious.csv").read_bytes()
    assert "--force" in refused(program, *given)
    program(*given, "--force")
    assert Path("precious.csv").read_bytes() != before


def test_a_setting_of_the_environment_is_named(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVTALLY_PORT", "abc")
    assert "--port (from PRIVTALLY_PORT) must be a whole number, got 'abc'" in refused(program, "serve")


def test_a_group_alone_shows_its_commands(program: Program) -> None:
    said = program("campaign", code=2)
    assert "create" in said.out
    assert said.err == ""
