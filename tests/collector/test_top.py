"""The most frequent labels: the right ones, and intervals that hold although they were chosen."""

import csv
import io
from statistics import NormalDist

import msgspec
import numpy as np
import pytest

from privtally.collector.estimate import estimate
from privtally.collector.top import top
from privtally.errors import EstimateError
from tests.collector.test_large import large_plan, laws, runs
from tests.plots.test_estimate import estimate_of


def test_the_largest_come_first_with_wider_intervals() -> None:
    estimate = estimate_of({"q": ([0.1, 0.5, -0.1, 0.5], [0.01, 0.02, 0.01, 0.03])})
    found = top(estimate, estimate, 3).attributes["q"]
    assert found.labels == ("a1", "a3", "a0")
    assert found.frequencies == (0.5, 0.5, 0.1)
    assert found.of == 4
    reach = NormalDist().inv_cdf(1 - 0.025 / 4)
    assert reach > 2.4
    assert found.low == pytest.approx((0.5 - 0.02 * reach, 0.5 - 0.03 * reach, 0.1 - 0.01 * reach))
    assert found.high == pytest.approx((0.5 + 0.02 * reach, 0.5 + 0.03 * reach, 0.1 + 0.01 * reach))


def test_more_than_there_are_is_all_and_intervals_end_at_none_and_all() -> None:
    estimate = estimate_of({"q": ([0.99, 0.01], [0.1, 0.1])})
    found = top(estimate, estimate, 9).attributes["q"]
    assert len(found.labels) == found.of == 2
    assert found.high[0] == 1
    assert found.low[1] == 0


def test_a_bias_is_refused() -> None:
    biased = estimate_of({"q": ([0.6, 0.4], [0.1, 0.1])}, biased=True)
    with pytest.raises(EstimateError, match="paper"):
        top(biased, biased, 1)


def test_intervals_are_those_of_the_unbiased_estimate_and_contain_the_frequency() -> None:
    pulled, unbiased = estimate_of({"q": ([0.7, 0.3], [0.01] * 2)}), estimate_of({"q": ([0.9, 0.1], [0.02] * 2)})
    found = top(pulled, unbiased, 2).attributes["q"]
    reach = 0.02 * NormalDist().inv_cdf(1 - 0.025 / 2)
    assert found.low == pytest.approx((0.7, 0.1 - reach))
    assert found.high == pytest.approx((0.9 + reach, 0.3))


def test_as_csv_and_json() -> None:
    estimate = estimate_of({"q": ([0.2, 0.5, 0.3], [0.01] * 3), "r": ([0.5, 0.5], [0.01] * 2)})
    found = top(estimate, estimate, 2)
    rows = list(csv.DictReader(io.StringIO(found.to_csv().decode())))
    assert [(row["attribute"], row["label"]) for row in rows] == [("q", "a1"), ("q", "a2"), ("r", "a0"), ("r", "a1")]
    body = msgspec.json.decode(msgspec.json.encode(found))
    assert body["attributes"]["q"]["labels"] == ["a1", "a2"]
    assert "simultaneous" in body["intervals"]


@pytest.mark.parametrize("method", ["unbiased", "likelihood"])
def test_chosen_labels_are_inside_their_intervals(method: str) -> None:
    """The twenty largest of 1,024, eight runs of two attributes, fixed seeds; at most one list may have a miss.

    The control are intervals of single labels: chosen for being large, they miss in many lists.
    """
    plan = large_plan("smp", 1_024)
    held, control = [], []
    for counts in runs(plan):
        found = estimate([(plan, counts)], method)  # type: ignore[arg-type]
        unbiased = estimate([(plan, counts)], "unbiased")
        for name, law in zip(plan.schema.names, laws(1_024), strict=True):
            chosen = top(found, unbiased, 20).attributes[name]
            true = np.array([law[int(label[1:])] for label in chosen.labels])
            held.append(bool(((np.array(chosen.low) <= true) & (true <= np.array(chosen.high))).all()))
            single = 1.96 * np.array(chosen.standard_errors)
            control.append(bool((np.abs(np.array(chosen.frequencies) - true) <= single).all()))
    assert np.mean(held) >= 15 / 16
    if method == "unbiased":
        assert np.mean(control) < 0.5
