"""The study of rounds: populations with the stated frequencies, and a table of what was measured."""

import numpy as np
import pytest
from benchmarks.rounds import Case, answers, drifting, measure, ranks, table

CASE = Case("rs-rfd", 3, 3, 3.0, 400, 2, 0.2)


def test_answers_have_the_frequencies_of_their_round_and_depend_on_each_other() -> None:
    generator = np.random.default_rng(1)
    first, second = drifting(CASE, generator)
    assert first.sum(axis=1) == pytest.approx(np.ones(3))
    assert not np.allclose(first, second)
    codes = answers(ranks(CASE, 200_000, generator), first)
    for own in range(3):
        assert np.bincount(codes[:, own]) / 200_000 == pytest.approx(first[own], abs=0.01)
    assert np.asarray(np.corrcoef(codes.T))[0, 1] > 0.2


def test_a_case_is_measured() -> None:
    found = measure(CASE, 1)
    assert set(found) == {"rounds", "all alike", "last alone", "first alone", "one plan", "change", "held"}
    assert 0 < found["rounds"] < 30
    assert table([(CASE, found)]).count("|") > 10
