"""Adult with its real labels: what is asked, what the chosen channels are worth, and what the page says."""

import numpy as np
import pytest
from benchmarks.adult import BUDGETS, SCHEMA, WAYS, Way, measure, page

from privtally.schema import Records, Schema


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
