from benchmarks.reproduction import PAGE, RUNS, SEED

from privtally.lab.report import make_report
from tests.lab.data import DIRECTORY, needs_data


@needs_data
def test_the_page_is_what_the_experiments_give() -> None:
    assert DIRECTORY is not None
    assert make_report(RUNS, SEED, DIRECTORY, workers=2) == PAGE.read_text()
