"""Adult with its real labels: what is asked, what the chosen channels are worth, and what the page says."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.adult import BUDGETS, SCHEMA, WAYS, Way, _channels, measure, page, write_people

from privtally.schema import Records, Schema
from privtally.tables.csv_table import open_table
from tests.lab.paper.data import DIRECTORY, needs_data


def people(number: int) -> Records:
    """Made-up people who mostly give a question's last answer but one, as with countries."""
    schema = Schema.from_toml(SCHEMA)
    generator = np.random.default_rng(3)
    columns = [
        np.where(generator.random(number) < 0.9, size - 2, generator.integers(0, size, number)) for size in schema.sizes
    ]
    return Records(schema, np.column_stack(columns).astype(np.uint8))


def test_the_questions_are_those_of_the_files() -> None:
    assert Schema.from_toml(SCHEMA).sizes == (2, 7, 6, 16, 9, 42, 6)


def ratios(records: Records) -> dict[str, float]:
    return {
        line.split(" | ")[0].strip("| "): float(line.split(" | ")[-1].strip(" |")) for line in _channels(records)[2:]
    }


def test_questions_with_many_labels_gain_and_no_question_loses() -> None:
    found = ratios(people(500))
    assert found["native-country"] >= 3.5
    assert min(found.values()) >= 1


@needs_data
def test_the_same_with_the_real_people(tmp_path: Path) -> None:
    write_people(tmp_path / "adult.csv", DIRECTORY)
    with open_table(tmp_path / "adult.csv", Schema.from_toml(SCHEMA)) as table:
        records = table.read_all(lambda _: None)
    assert len(records) == 48_842
    found = ratios(records)
    assert found["native-country"] >= 3.5
    assert found["education"] >= 1


def test_every_way_is_measured_or_says_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.adult.BUDGETS", (8.0,))
    monkeypatch.setattr(
        "benchmarks.adult.WAYS", (Way("auto"), Way("spl"), Way("smp", pivots=2), Way("smp", plain=True))
    )
    found = measure(people(400), 1, 1)
    assert all(isinstance(value, float) and 0 < value < 100 for row in found.values() for value in row.values())


def test_the_page_names_the_best_and_what_could_not_be_run() -> None:
    values = {way: dict.fromkeys(BUDGETS, 2.0 + place) for place, way in enumerate(WAYS)}
    values[Way("spl")] = dict.fromkeys(BUDGETS, 0.5)
    values[Way("smp")] = dict.fromkeys(BUDGETS, 0.25)
    text = page({**values, Way("corr-rr"): dict.fromkeys(BUDGETS, "a reason")}, people(400))
    assert "| spl | **0.5** |" in text
    assert "| smp | **0.25** |" in text
    assert "A reason." in text
