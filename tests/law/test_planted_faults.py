"""Faults planted in the sampler, the weights and the fills, one at a time: each must be caught by the checks of this folder.

The checks are the exact measure of a channel's words, the enumerated privacy of every mechanism, what a plan's parameters
mean, and the chi-square test of whole reports. With nothing planted they pass.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privtally.exact.source import WORD, Source, words_below
from privtally.lab.seed import seeded
from privtally.mechanisms import Pivot, Sample, Split
from privtally.mechanisms import channel as channels
from privtally.mechanisms import pivot as pivots
from privtally.mechanisms import sample as samples
from privtally.mechanisms import split as splits
from privtally.mechanisms.channel import Keep, Rows, Uniform
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.law.test_sampler import assert_exact_shares
from tests.support import MECHANISMS, chi_square_p, exp_below, plan_of, records_of, worst_ratio

Codes = np.ndarray


def suite() -> None:
    """Every check, on small cases, with the code as it stands now."""
    channels.randomized_response.cache_clear()
    for one in (Keep(3, 5, 2), Keep(2, 3, 1), channels.randomized_response(Fraction(1), 4), Uniform(3), Uniform(5)):
        assert_exact_shares(one, 2 if isinstance(one, Keep) and one.size == 2 else 3)
    assert_exact_shares(channels.conditional([[0.5, 0.25, 0.25], [0.125, 0.875, 0.0]]), 2)
    assert channels.copying(0.25, 3).probability(1, 1) == Fraction(1, 4)
    assert channels.copying(0.25, 3).probability(1, 2) == Fraction(3, 8)
    assert channels.conditional([[0.25, 0.75], [1.0, 0.0]]).probability(0, 1) == Fraction(3, 4)
    stated = plan_of("corr-rr", (3, 3), seed=6)
    assert stated.copy_probability is not None
    assert isinstance(stated.sampler, Pivot)
    assert stated.sampler.fills[0][1].probability(2, 2) == Fraction(stated.copy_probability[0][1])
    for mechanism in MECHANISMS:
        plan = plan_of(mechanism, (3, 3), epsilon=1.0, seed=6)
        worst = worst_ratio([plan.sampler.law(record) for record in records_of((3, 3))])
        assert worst <= exp_below(Fraction(1))
        assert worst >= exp_below(Fraction(9_999, 10_000))
        records = Records(plan.schema, np.tile(np.array([[2, 0]], dtype=np.uint8), (60_000, 1)))
        assert chi_square_p(respond_many(plan, records, seeded(8)).codes, plan.sampler.law((2, 0))) > 1e-9


@pytest.fixture(autouse=True)
def _fresh_weights() -> Any:
    yield
    channels.randomized_response.cache_clear()


def keep_with(step: Callable[[Keep, np.ndarray, Codes], Codes]) -> Callable[[Keep, Codes, Source], Codes]:
    """Keep.draw whose steps are taken in another way; words are drawn as they should be."""

    def draw(self: Keep, given: Codes, source: Source) -> Codes:
        if not self.other:
            return given
        fit = (WORD - 1) // self.total
        return step(self, words_below(source, self.total * fit, len(given)) // np.uint64(fit), given)

    return draw


def away(self: Keep, given: Codes, steps: np.ndarray) -> Codes:
    moved: Codes = given + 1 + np.minimum(steps, np.uint64(self.size - 1)).astype(np.int64)
    return (moved % self.size).astype(np.uint8)


def without_rejection(self: Keep, given: Codes, source: Source) -> Codes:
    words = source.words(len(given)) % np.uint64(self.total)
    return away(self, given, words // np.uint64(max(self.other, 1)))


def by_float(self: Keep, given: Codes, source: Source) -> Codes:
    chances = (source.words(len(given)) >> np.uint64(11)).astype(float) / 2**53
    steps = np.floor(chances * self.total / max(self.other, 1)).astype(np.uint64)
    return away(self, given, steps)


def one_word_for_all(self: Keep, given: Codes, source: Source) -> Codes:
    words = np.full(len(given), words_below(source, self.total, 1)[0] if len(given) else 0)
    return away(self, given, words // np.uint64(max(self.other, 1)))


def half_a_word(self: Keep, given: Codes, source: Source) -> Codes:
    words = source.words(len(given)) & np.uint64(0xFFFF)
    return away(self, given, words * np.uint64(self.total >> 16 or 1) // np.uint64(max(self.other, 1)))


def rejected_become_zero(source: Source, bound: int, count: int) -> np.ndarray:
    words = source.words(count)
    words[words >= np.uint64(min(bound, WORD - 1))] = 0
    return words


def weights(change: Callable[[int, int], tuple[int, int]]) -> Any:
    honest = channels.randomized_response.__wrapped__

    def planted(epsilon: Fraction, size: int) -> Keep:
        found = honest(epsilon, size)
        return Keep(size, *change(found.same, found.other))

    planted.cache_clear = lambda: None  # type: ignore[attr-defined]  # the honest one has a cache that is cleared
    return planted


def pivot_privatise(choose: Any = None, fill_from_record: bool = False, one_fill: bool = False) -> Any:
    def privatise(self: Pivot, codes: Codes, source: Source) -> Codes:
        out = np.empty_like(codes)
        chosen = Uniform(len(self.channels)).draw(codes[:, 0], source) if choose is None else choose(len(codes), source)
        for own, one in enumerate(self.channels):
            people = np.flatnonzero(chosen == own)
            private = one.draw(codes[people, own], source)
            out[people, own] = private
            for other in self.others(own):
                given = codes[people, own] if fill_from_record else private
                filled = self.fills[own][other].draw(given, source)
                out[people, other] = filled[0] if one_fill and len(filled) else filled
        return out

    return privatise


def split_reusing_words(self: Split, codes: Codes, source: Source) -> Codes:
    class Again:
        def __init__(self, words: np.ndarray) -> None:
            self._words = words

        def words(self, count: int) -> np.ndarray:
            return self._words[:count].copy()

    again = Again(source.words(len(codes)))
    return np.column_stack([one.draw(codes[:, own], again) for own, one in enumerate(self.channels)])


def sample_telling_all(self: Sample, codes: Codes, source: Source) -> Codes:
    return np.column_stack([one.draw(codes[:, own], source) for own, one in enumerate(self.channels)])


Plant = Callable[[pytest.MonkeyPatch], None]


def put(target: Any, name: str, value: Any) -> Plant:
    return lambda patch: patch.setattr(target, name, value)


def put_weights(change: Callable[[int, int], tuple[int, int]]) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        planted = weights(change)
        for module in (channels, pivots, samples, splits):
            patch.setattr(module, "randomized_response", planted)

    return plant


honest_copying = channels.copying
honest_split = Split.of.__func__  # type: ignore[attr-defined]  # the function under the class method
honest_pivot = Pivot.of.__func__  # type: ignore[attr-defined]  # the function under the class method

FAULTS: dict[str, Plant] = {
    "one step too few": put(Keep, "draw", keep_with(lambda s, w, g: away(s, g, np.minimum(w // np.uint64(s.other), np.uint64(s.size - 2))))),
    "first step stays": put(Keep, "draw", keep_with(lambda s, w, g: ((g + np.minimum(w // np.uint64(s.other), np.uint64(s.size - 1)).astype(np.int64)) % s.size).astype(np.uint8))),
    "weights swapped in the draw": put(Keep, "draw", keep_with(lambda s, w, g: away(s, g, w // np.uint64(max(s.same, 1))))),
    "always kept": put(Keep, "draw", lambda _self, given, _source: given.astype(np.uint8)),
    "zero never replaced": put(Keep, "draw", keep_with(lambda s, w, g: np.where(g == 0, g, away(s, g, w // np.uint64(s.other))))),
    "no rejection": put(Keep, "draw", without_rejection),
    "a float comparison": put(Keep, "draw", by_float),
    "one word for everybody": put(Keep, "draw", one_word_for_all),
    "sixteen bits of a word": put(Keep, "draw", half_a_word),
    "a bound too large by one": put(channels, "words_below", lambda s, b, c: words_below(s, min(b + 1, WORD), c)),
    "rejected words become zero": put(channels, "words_below", rejected_become_zero),
    "remainder for uniform": put(Uniform, "draw", lambda self, given, source: (source.words(len(given)) % np.uint64(self.size)).astype(np.uint8)),
    "last code never uniform": put(Uniform, "draw", lambda self, given, source: np.minimum(words_below(source, WORD // self.size * self.size, len(given)) // np.uint64(WORD // self.size), np.uint64(self.size - 2)).astype(np.uint8)),
    "edges on the wrong side": put(Rows, "draw", lambda self, given, source: (np.searchsorted(np.cumsum(self.weights.ravel()), (source.words(len(given)) >> np.uint64(32)).astype(np.int64) + (given.astype(np.int64) if len(self.weights) > 1 else 0) * 2**32, side="left") - (given.astype(np.int64) if len(self.weights) > 1 else 0) * self.outputs).clip(0).astype(np.uint8)),
    "the first row for all": put(Rows, "draw", lambda self, given, source: np.searchsorted(np.cumsum(self.weights[0]), (source.words(len(given)) >> np.uint64(32)).astype(np.int64), side="right").astype(np.uint8)),
    "a tenth too much weight": put_weights(lambda same, other: (same // 2 * 11 // 10, other // 2)),
    "one too much weight": put_weights(lambda same, other: (same // 2 + 1, other // 2)),
    "weights swapped": put_weights(lambda same, other: (other, same // 4)),
    "half the budget": put_weights(lambda same, other: (other + (same - other) // 2, other)),
    "copies when it should not": put(pivots, "copying", lambda probability, size: honest_copying(1 - probability, size)),
    "copying means its complement": put(channels, "copying", lambda probability, size: honest_copying(1 - probability, size)),
    "the whole budget for each attribute": put(Split, "of", classmethod(lambda cls, sizes, epsilon: honest_split(cls, sizes, epsilon * len(sizes)))),
    "the pivot with an amplified budget": put(Pivot, "of", classmethod(lambda cls, sizes, epsilon, fills: honest_pivot(cls, sizes, epsilon * Fraction(3, 2), fills))),
    "the pivot with a split budget": put(Pivot, "of", classmethod(lambda cls, sizes, epsilon, fills: honest_pivot(cls, sizes, epsilon / 2, fills))),
    "a biased pivot": put(Pivot, "privatise", pivot_privatise(lambda n, source: (Uniform(3).draw(np.zeros(n, np.uint8), source) > 1).astype(np.uint8))),
    "the same pivot for all": put(Pivot, "privatise", pivot_privatise(lambda n, _source: np.zeros(n, np.uint8))),
    "fills that see the record": put(Pivot, "privatise", pivot_privatise(fill_from_record=True)),
    "one fill for everybody": put(Pivot, "privatise", pivot_privatise(one_fill=True)),
    "words used again": put(Split, "privatise", split_reusing_words),
    "smp that answers everything": put(Sample, "privatise", sample_telling_all),
}  # fmt: skip


def test_nothing_planted_passes() -> None:
    suite()
    assert len(FAULTS) >= 20


@pytest.mark.parametrize("plant", FAULTS.values(), ids=FAULTS)
def test_every_planted_fault_is_caught(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        suite()
