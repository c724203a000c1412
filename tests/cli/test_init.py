"""init: a schema by options, by a header, and by what somebody types on a terminal."""

import io
import sys
from pathlib import Path

import pytest

from privtally.files import read_schema
from privtally.schema import NO_ANSWER
from tests.cli.conftest import LABELS, Program
from tests.cli.test_bad_input import SECRET, refused

SCALE = ", ".join(LABELS)


class Terminal(io.StringIO):
    """Standard input where somebody types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> "Typing":
    return Typing(monkeypatch)


class Typing:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, *lines: str) -> None:
        self._monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{line}\n" for line in lines)))


def test_questions_are_given_by_options(program: Program) -> None:
    words = ("--question", f"sleeps badly: {SCALE}", "--question", 'mood: "good, mostly", bad', "--optional", "mood")
    said = program("init", *words).out
    schema = read_schema(Path("schema.toml"))
    assert schema.names == ("sleeps badly", "mood")
    assert schema.attributes[0].labels == tuple(LABELS)
    assert schema.attributes[1].labels == ("good, mostly", "bad", NO_ANSWER)
    assert said.startswith("schema.toml: 2 questions\n")
    assert "privtally run" in said
    program("advise", "schema.toml", "--people", 1_000, "--epsilon", 1)


@pytest.mark.parametrize(
    ("text", "bins", "decimals"),
    [("0..120 by 40", (0, 40, 80, 120), False), ("-1.5 .. 1.5 by 1.5", (-1.5, 0, 1.5), True)],
)
def test_numbers_become_bins(program: Program, text: str, bins: tuple[float, ...], decimals: bool) -> None:
    program("init", "--question", f"height: {text}", "--optional", "height")
    (height,) = read_schema(Path("schema.toml")).attributes
    assert (height.bins, height.decimals, height.optional) == (bins, decimals, True)


@pytest.mark.parametrize(
    ("text", "grid", "decimals"),
    [
        ("0..18..120", (0, 18, 120), False),
        ("-1.5 .. 1.5 in 2 steps", (-1.5, 0, 1.5), True),
        ("0..1 in 1 step", (0, 1), False),
    ],
)
def test_numbers_become_a_grid(program: Program, text: str, grid: tuple[float, ...], decimals: bool) -> None:
    said = program("init", "--question", f"height: {text}", "--optional", "height").out
    assert "height: rounded at random to " in said
    assert "(may be skipped)" in said
    (height,) = read_schema(Path("schema.toml")).attributes
    assert (height.grid, height.decimals, height.optional) == (grid, decimals, True)
    program("design", "schema.toml", "--epsilon", 1, "--mechanism", "smp", "-o", "plan.json")
    assert "rounded at random" in " ".join(program("show", "plan.json").out.split())


def test_a_table_of_numbers_on_a_grid_has_a_mean(program: Program) -> None:
    program("init", "--question", "age: 0..40..80..120")
    Path("data.csv").write_text("age\n" + "50\n" * 3_000)
    said = program("run", "data.csv", "--schema", "schema.toml", "--epsilon", 6, "-o", "job").out
    assert "rounding to a grid" in said
    mean = next(line for line in said.splitlines() if " mean " in line)
    low, high = (float(number) for number in mean.split("│")[-2].split(" to "))
    assert 45 < low < 50.5 < high + 1 < 56  # 50, but for a chance below 1e-6


def test_grids_that_do_not_increase_are_refused(program: Program) -> None:
    assert "must increase" in refused(program, "init", "--question", "age: 0..40..20")
    assert "0..120 in 5 steps" in refused(program, "init", "--question", "age: 0..120")
    assert "integers" in refused(program, "init", "--question", "age: 0..10 in 3 steps")


def test_names_come_from_a_header_and_labels_do_not(program: Program, data: Path) -> None:
    words = [word for name in ("drinks", "sleeps badly", "smokes") for word in ("--question", f"{name}: no, {name}!")]
    program("init", "--from-csv", data, "--drop", "person", *words)
    schema = read_schema(Path("data.toml"))
    assert schema.names == ("drinks", "sleeps badly", "smokes")
    assert schema.attributes[0].labels == ("no", "drinks!")
    assert "never" not in Path("data.toml").read_text().partition("\n")[2]


def test_a_header_is_all_that_is_read_and_may_have_colons(program: Program) -> None:
    Path("data.csv").write_bytes(b'\xef\xbb\xbfwhen: day,when,,"a b"\r\n\xff broken "\n')
    assert "'a b'" in refused(program, "init", "--from-csv", "data.csv", "--drop", "when")
    program("init", "--from-csv", "data.csv", "--question", "when: day: 1, 2", "--drop", "when", "--drop", "a b")
    assert read_schema(Path("data.toml")).names == ("when: day",)


def test_somebody_types_questions(program: Program, typing: Typing) -> None:
    typing("smokes", "no", "no, yes", "maybe", "y", "smokes", "drinks", "=", "", "age", "0..30 by 10", "n", "")
    said = program("init", "new.toml")
    assert "needs 2 to" in said.err
    assert "another name" in said.err
    assert "'maybe' is neither yes nor no" in said.err
    smokes, drinks, age = read_schema(Path("new.toml")).attributes
    assert (smokes.labels, drinks.labels) == (("no", "yes", NO_ANSWER), ("no", "yes"))
    assert age.bins == (0, 10, 20, 30)


def test_somebody_types_the_answers_to_columns(program: Program, typing: Typing, data: Path) -> None:
    typing("", SCALE, "y", "=", "n")
    said = program("init", "--from-csv", data, "--question", "smokes: no, yes")
    assert "not looked at" in said.err
    schema = read_schema(Path("data.toml"))
    assert schema.names == ("drinks", "sleeps badly", "smokes")
    assert [own.size for own in schema.attributes] == [4, 3, 2]


def test_who_interrupts_leaves_no_file(program: Program, typing: Typing, monkeypatch: pytest.MonkeyPatch) -> None:
    typing("smokes", "no, yes")
    assert "nothing was written" in refused(program, "init")

    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupted)
    program("init", code=130)
    assert list(Path().iterdir()) == []


def test_a_file_that_is_there_is_kept_unless_forced(program: Program, schema: Path) -> None:
    before, words = schema.read_bytes(), ("--question", "smokes: no, yes")
    assert "--force" in refused(program, "init", *words)
    assert schema.read_bytes() == before
    program("init", *words, "--force")
    assert read_schema(schema).names == ("smokes",)


def test_answers_may_have_colons(program: Program) -> None:
    program("init", "--question", "wakes up at: 6:30, 7:30")
    assert read_schema(Path("schema.toml")).attributes[0].labels == ("6:30", "7:30")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ((), "--question"),
        (("schema.json", "--question", "a: b, c"), ".toml"),
        (("data.csv",), "--from-csv data.csv"),
        (("--question", "smokes"), "'smokes'"),
        (("--question", "smokes: yes"), "2 to 65,536"),
        (("--question", 'smokes: "no, yes'), "quotation mark"),
        (("--question", "age: 0..7 by 2"), "width"),
        (("--question", "a: b, c", "--question", "a: d, e"), "twice"),
        (("--question", "a: b, c", "--optional", "d"), "'d'"),
        (("--question", "a: b, c", "--drop", "d"), "--from-csv"),
        (("--from-csv", "data.csv"), "'drinks'"),
        (("--from-csv", "data.csv", "--question", "town: a, b"), "'town'"),
        (("--from-csv", "data.csv", "--drop", "town"), "'town'"),
        (("--from-csv", "data.csv", "--drop", "drinks", "--question", "drinks: a, b"), "by --question and by --drop"),
        (("--from-csv", "nothing.csv"), "nothing.csv"),
        (("--from-csv", "semicolons.csv"), "semicolons"),
        (("--from-csv", "twice.csv"), "columns 1 and 3"),
        (("--from-csv", "unclosed.csv"), "several lines"),
        (("--from-csv", "folder"), "is a directory"),
        (("--from-csv", "."), "is a directory"),
        (("--from-csv", "data.parquet"), "not a CSV file"),
        (("nowhere/a.toml", "--question", "a: b, c"), "no directory nowhere"),
        (("--question", "is it (yes: no): a, b"), "several colons"),
        (("--question", "age: 0..120"), "no width"),
        (("--from-csv", "blank.csv"), "header"),
    ],
)
def test_what_cannot_become_a_schema(program: Program, data: Path, words: tuple[str, ...], what: str) -> None:
    Path("folder").mkdir()
    for name, text in {
        "semicolons": "a;b\n1;2\n",
        "twice": f"{SECRET},b,{SECRET}\n1,2,3\n",
        "blank": "\n1,2\n",
        "unclosed": f'a,"b\n{SECRET},no\n"\n',
    }.items():
        Path(f"{name}.csv").write_text(text)
    assert what in refused(program, "init", *words)
    assert not list(Path().glob("*.toml"))
