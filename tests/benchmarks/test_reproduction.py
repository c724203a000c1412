import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.reproduction import PAGE, RUNS, SEED, make_report

from tests.lab.paper.data import DIRECTORY, needs_data

LOCK = Path(__file__).parents[2] / "requirements.lock"


@needs_data
def test_the_page_is_what_the_experiments_give() -> None:
    locked = re.search(r"^numpy==(.*)$", LOCK.read_text(), flags=re.MULTILINE)
    assert locked is not None
    if np.__version__ != locked[1]:
        pytest.skip("another version of NumPy may draw other numbers from the same seed")
    assert DIRECTORY is not None
    assert make_report(RUNS, SEED, DIRECTORY, workers=2) == PAGE.read_text()
