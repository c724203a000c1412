"""The page has what the experiments give: a few figures and tables here, the whole page in full."""

import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.reproduction import PAGE, RUNS, SEED, make_report, real_data, results_of, rows_of, without_errors

from tests.lab.paper.data import DIRECTORY, needs_data
from tests.scale import FULL

LOCK = Path(__file__).parents[2] / "requirements.lock"
QUICK = ("fig_9", "fig_11", "table_4", "table_7")
"""What takes few seconds of those on the page."""


@pytest.fixture
def page() -> str:
    locked = re.search(r"^numpy==(\S+)", LOCK.read_text(), flags=re.MULTILINE)
    assert locked is not None
    if np.__version__ != locked[1]:
        pytest.skip("another version of NumPy may draw other numbers from the same seed")
    return PAGE.read_text()


@needs_data
def test_the_page_has_what_quick_experiments_give(page: str) -> None:
    assert DIRECTORY is not None
    published, written = results_of(QUICK, RUNS, SEED, DIRECTORY, workers=1)
    lines = page.splitlines()
    for figure in QUICK:
        first, second = rows_of(figure, published, written)
        assert lines[lines.index(first) + 1] == second
    assert f"\n\n## Real data\n\n{real_data(published)}\n\n## " in page
    assert f"\n\n## Figures and tables without errors\n\n{without_errors(DIRECTORY)}\n\n## " in page


@needs_data
@pytest.mark.skipif(not FULL, reason="takes a minute; set PRIVTALLY_RELIABILITY=1")
def test_the_page_is_what_the_experiments_give(page: str) -> None:
    assert DIRECTORY is not None
    assert make_report(RUNS, SEED, DIRECTORY, workers=2) == page
