"""Where the real datasets are, for the tests that need them."""

import os
from pathlib import Path

import pytest

from privtally.lab.paper.data import DIRECTORY_VARIABLE

DIRECTORY = Path(os.environ[DIRECTORY_VARIABLE]) if os.environ.get(DIRECTORY_VARIABLE) else None

needs_data = pytest.mark.skipif(
    DIRECTORY is None,
    reason=f"the UCI files are no part of this project; name their directory in {DIRECTORY_VARIABLE}",
)
