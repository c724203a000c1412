"""Means of numbers on a grid: near enough, and with intervals that hold; the same numbers in bins are the control."""

from benchmarks.means import BAR, LEAST, QUESTIONS, ages, measure


def test_a_mean_on_a_grid_is_near_and_its_interval_holds() -> None:
    """On a fixed seed; of intervals that hold in 94 %, fewer than 84 % hold in 200 runs with a chance below 1e-6."""
    assert abs(ages().sum() - 1) < 1e-12
    for mechanism in ("smp", "spl"):
        found = measure(QUESTIONS["grid of 6 points"], mechanism, 2.0, 1_333, 200, seed=3)
        assert found.half <= BAR
        assert found.holds >= LEAST - 0.08
        assert abs(found.offset) < 5 * found.error / 200**0.5
    control = measure(QUESTIONS["5 bins"], "smp", 2.0, 1_333, 50, seed=3)
    assert control.half > 3 * BAR
    assert abs(control.offset) > 5 * control.error / 50**0.5
