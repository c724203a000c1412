"""The campaigns that the note on secrecy compares keep to their bounds."""

from benchmarks.secrecy import MECHANISMS, campaign, points, synthetic

from tests.support import largest_guess


def test_every_mechanism_is_measured_at_the_same_bound() -> None:
    population = synthetic(3, 3, 0.8)
    for mechanism in MECHANISMS:
        history = campaign(population, mechanism, 2_000, 2.0, 0.4, run=0)
        assert sum(counts.reports for _, counts in history) == 2_000
        assert largest_guess(history[1][0]) <= 0.4 * (1 + 1e-9)


def test_an_error_has_its_spread() -> None:
    assert points([0.0004, 0.0004]) == "2.00 ± 0.00"
