import numpy as np
import pytest
from benchmarks.bulk import jobs_of, missed_bars

from privtally.names import MechanismName


@pytest.mark.parametrize(("mechanism", "words"), [("spl", 4), ("corr-rr", 5)])
def test_the_limit_counts_the_words_that_a_report_takes(mechanism: MechanismName, words: int) -> None:
    size, jobs = jobs_of(mechanism, np.zeros((100, 4), dtype=np.uint8))
    assert size == 8 * words
    for job in jobs.values():
        job.run()
        assert 0 < job.seconds < float("inf")


def test_a_bar_is_missed_below_it() -> None:
    def result(of_limit: float) -> dict[str, object]:
        jobs = {title: {"of_limit": of_limit} for title in ("codes", "reports")}
        return {"mechanisms": {"spl": {"jobs": jobs}, "corr-rr": {"jobs": jobs}}}

    assert missed_bars(result(0.3)) == []
    assert missed_bars(result(0.2)) == ["spl, codes"]
    assert len(missed_bars(result(0.1))) == 3
