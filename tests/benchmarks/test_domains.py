"""The guide's table of variances is what the benchmark prints."""

from fractions import Fraction
from pathlib import Path

import pytest
from benchmarks.domains import table

from privtally.mechanisms.channels import randomized_response
from privtally.mechanisms.grouping import answer_variance


def test_the_guide_has_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs/notes/large-domains.md").read_text()
    assert "\n".join(table()) in page


def test_forty_two_labels_gain_and_sixteen_lose_nothing() -> None:
    """Adult's native-country and education."""
    for size, least in ((42, 3.5), (16, 1.0)):
        assert answer_variance(Fraction(1), size, by_label=True) / answer_variance(Fraction(1), size) >= least


def test_randomized_response_has_its_known_variance() -> None:
    scale = float(randomized_response(Fraction(1), 4).scale)
    assert answer_variance(Fraction(1), 4) == pytest.approx(0.25 * 0.75 / scale**2)
