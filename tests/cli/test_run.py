"""run with no more than a file of answers: where the schema is found, and what is said."""

import re
from pathlib import Path

import pytest

from privtally.documents.plan import load_plan
from tests.cli.conftest import LABELS, SCHEMA, Program, write_schema
from tests.cli.test_bad_input import refused

NAMES = ("sleeps badly", "smokes", "drinks")


@pytest.mark.parametrize("name", ["data.toml", "data.json", "schema.toml", "schema.json"])
def test_a_schema_beside_the_data_is_found(program: Program, data: Path, name: str) -> None:
    Path("lake").mkdir()
    if name.endswith("toml"):
        Path("lake", name).write_text(SCHEMA)
    else:
        write_schema(f"lake/{name}", dict.fromkeys(NAMES, LABELS))
    moved = data.rename("lake/data.csv")
    said = program("run", moved)
    assert f"lake/{name}" in said.err
    assert list(Path().iterdir()) == [Path("lake")]
    assert len(list(Path("lake").iterdir())) == 2


def test_the_nearest_name_comes_first(program: Program, data: Path) -> None:
    Path("data.toml").write_text(SCHEMA)
    Path("schema.toml").write_text("not read")
    program("run", data)
    assert "data.toml" not in program("run", data, "--schema", "data.toml").err


def test_without_a_schema_it_says_where_it_looked_and_how_to_write_one(program: Program, data: Path) -> None:
    sentence = refused(program, "run", "data.csv")
    for words in ("data.toml", "data.json", "schema.toml", "schema.json", "privtally init --from-csv data.csv"):
        assert words in sentence
    data.rename("data.csv.gz")
    assert "data.toml" in refused(program, "run", "data.csv.gz")
    assert "such file" in refused(program, "run", "nothing.csv")


def test_the_answer_comes_first_and_the_budget_in_words(program: Program, schema: Path, data: Path) -> None:
    said = program("run", data)
    assert re.match(r"A share is known to about ± \d+ percentage points, on average over all answers\.\n", said.out)
    assert "ε = 1: a report can make anybody at most 2.8 times surer" in said.out
    assert "at most 7.4 times" in program("run", data, "-e", 2).out


def test_the_estimate_is_drawn_and_cut_to_the_most_frequent(program: Program, schema: Path, data: Path) -> None:
    pytest.importorskip("matplotlib")
    found = program("run", data, "--top", 1, "--plot", "a.png", "--json").json()
    assert [len(own["labels"]) for own in found["attributes"].values()] == [1, 1, 1]
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    assert "rarer ones" in program("run", data, "--top", 1, "-m", "spl").out
    assert "bias" in refused(program, "run", data, "--top", 1, "-m", "corr-rr", "--method", "paper")


@pytest.mark.parametrize(("words", "what"), [(("--plot", "a.gif"), "a.gif"), (("--top", 0), "--top")])
def test_what_cannot_be_shown_is_refused_before_the_work(
    program: Program, schema: Path, data: Path, words: tuple[str | float, ...], what: str
) -> None:
    assert what in refused(program, "run", data, *words, "-o", "job")
    assert not Path("job").exists()


def test_priors_save_the_first_phase(program: Program, schema: Path, data: Path) -> None:
    rows = [f"{name},{label},{share}" for name in NAMES for label, share in zip(LABELS, (0.5, 0.3, 0.2), strict=True)]
    Path("priors.csv").write_text("\n".join(["attribute,label,share", *rows, ""]))
    words = ("-m", "rs-rfd", "--priors")
    program("run", data, *words, "priors.csv", "-o", "job")
    assert {path.name for path in Path("job").glob("*-*.json")} == {"plan-1.json", "counts-1.json"}
    assert "states the priors" in refused(
        program, "learn", "--phase", "job/plan-1.json", "job/counts-1.json", "-o", "x"
    )
    shown = program("show", "job/plan-1.json").out
    assert "drawn from priors" in shown
    assert "second phase" not in shown
    program("design", schema, "-e", 1, *words, "job/estimate.json", "-o", "plan.json")
    assert load_plan(Path("plan.json").read_bytes()).has_priors
    for more in (("--phase1-share", 0.2), ("--rule", "robust"), ("--decoys", 0)):
        assert "no effect" in refused(program, "run", "data.csv", *words, "priors.csv", *more)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("attribute,answer,share\n", "no column 'label'"),
        ("attribute,label,share\nsmokes,never\n", "row 1"),
        ("attribute,label,share\nsmokes,never,many\n", "row 1"),
        ("attribute,label,share\nsmokes,never,0.5\nsmokes,never,0.5\n", "row 2.*second time"),
        ("attribute,label,share\nsmokes,never,1\n", "miss question 'sleeps badly'"),
        ('{"format":"privtally.plan/1"}', "estimate"),
        ("\xff", "priors"),
    ],
)
def test_priors_that_cannot_be_read_are_refused(
    program: Program, schema: Path, data: Path, text: str, words: str
) -> None:
    Path("priors.csv").write_bytes(text.encode("latin-1"))
    assert re.search(words, refused(program, "run", "data.csv", "-m", "rs-rfd", "--priors", "priors.csv"))
