"""Running the program as a person would, in an empty directory."""

import csv
import json
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privtally.cli.app import main

LABELS = ["never", "rarely", "daily"]
SCHEMA = "".join(
    f'[[attributes]]\nname = "{name}"\nlabels = {json.dumps(LABELS)}\n\n'
    for name in ("sleeps badly", "smokes", "drinks")
)


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class Program:
    """`privtally` with its arguments; refuses to go on after an unexpected exit code."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def __call__(self, *words: str | Path | float, code: int = 0) -> Outcome:
        self._monkeypatch.setattr(sys, "argv", ["privtally", *map(str, words)])
        self._capsys.readouterr()
        try:
            main()
            found = 0
        except SystemExit as end:
            found = end.code if isinstance(end.code, int) else int(end.code is not None)
        captured = self._capsys.readouterr()
        assert found == code, captured.out + captured.err
        return Outcome(found, captured.out, captured.err)


@pytest.fixture
def program(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Program:
    monkeypatch.chdir(tmp_path)
    return Program(capsys, monkeypatch)


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "schema.toml"
    path.write_text(SCHEMA)
    return path


def write_schema(name: str, questions: Mapping[str, Collection[str]]) -> Path:
    """A schema file of these questions and answers."""
    attributes = [{"name": question, "labels": [*answers]} for question, answers in questions.items()]
    path = Path(name)
    path.write_text(json.dumps({"attributes": attributes}))
    return path


def write_data(path: Path, people: int, seed: int) -> dict[str, list[float]]:
    """A CSV of made-up answers with a column that the schema does not name; returns the true frequencies."""
    made_up = np.random.default_rng(seed)
    first = made_up.choice(3, people, p=[0.5, 0.3, 0.2])
    second = np.where(made_up.random(people) < 0.6, first, made_up.choice(3, people, p=[0.2, 0.2, 0.6]))
    third = made_up.choice(3, people, p=[0.15, 0.25, 0.6])
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "drinks", "sleeps badly", "smokes"])
        for person, (one, two, three) in enumerate(zip(first, second, third, strict=True)):
            writer.writerow([person, LABELS[three], LABELS[one], LABELS[two]])
    columns = {"sleeps badly": first, "smokes": second, "drinks": third}
    return {name: (np.bincount(column, minlength=3) / people).tolist() for name, column in columns.items()}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    write_data(path, 300, seed=1)
    return path
