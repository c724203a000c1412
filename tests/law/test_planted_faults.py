"""Faults planted in the sampler, the weights and the fills, one at a time: each must be caught by the check that is meant for it.

With nothing planted all checks pass.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest

from privtally.collector import estimate, learn, rounds
from privtally.documents import campaign as campaigns
from privtally.documents import plan as plans
from privtally.documents.campaign import refresh
from privtally.exact.randomness import WORD, Source, words_below
from privtally.mechanisms import channels, fills, named, projective
from privtally.mechanisms import channels as fillings
from privtally.mechanisms.channels import Asked, Channel, InSet, Keep, Rows, Uniform
from privtally.mechanisms.fills import NOTHING, ByClass, Places, TableFill
from privtally.mechanisms.mechanism import Mechanism, Part
from privtally.mechanisms.named import PartPlan
from privtally.mechanisms.projective import Geometry, Projective
from privtally.privacy import audit
from tests.law.checks import (
    ALIGNED,
    ALIGNED_LARGE,
    CHECKS,
    DECOY_TABLE,
    DECOYS,
    FEWER_PIVOTS,
    GROUPS,
    LARGE,
    LARGE_COPY,
    LARGE_ROW,
    LEARNED_PIVOTS,
    PIVOTS,
    SILENT_GROUPS,
    SILENT_PIVOTS,
)

Codes = np.ndarray


@pytest.fixture(autouse=True)
def _fresh_weights() -> Iterator[None]:
    channels.randomized_response.cache_clear()
    yield
    channels.randomized_response.cache_clear()


honest_table = TableFill.channel


def turned_table(self: TableFill, pivots: Places, other: int, asked: Sequence[Asked]) -> Channel:
    """A table whose rows go by the pivots' codes in the other order."""
    channel = honest_table(self, pivots, other, asked)
    if len(pivots) == 1 or not isinstance(channel, Rows):
        return channel
    shape = [asked[pivot].outputs for pivot in pivots]
    order = np.arange(np.prod(shape)).reshape(shape).T.ravel()
    return Rows(channel.weights[order])


def keep_with(step: Callable[[Keep, np.ndarray, Codes], Codes]) -> Callable[[Keep, Codes, Source], Codes]:
    """Keep.draw whose steps are taken in another way; words are drawn as they should be."""

    def draw(self: Keep, given: Codes, source: Source) -> Codes:
        if not self.other:
            return given
        fit = (WORD - 1) // self.total
        return step(self, words_below(source, self.total * fit, len(given)) // np.uint64(fit), given)

    return draw


def away(self: Keep, given: Codes, steps: np.ndarray) -> Codes:
    moved: Codes = given + 1 + np.minimum(steps, np.uint64(self.inputs - 1)).astype(np.int64)
    return (moved % self.inputs).astype(np.uint8)


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


def rows_with(side: Any, *, first_row: bool = False) -> Any:
    def draw(self: Rows, given: Codes, source: Source) -> Codes:
        points = (source.words(len(given)) >> np.uint64(32)).astype(np.int64)
        rows = given.astype(np.int64) * (len(self.weights) > 1 and not first_row)
        cells = np.searchsorted(np.cumsum(self.weights.ravel()), points + rows * 2**32, side=side)
        drawn: Codes = np.clip(cells - rows * self.outputs, 0, self.outputs - 1).astype(np.uint8)
        return drawn

    return draw


class Again:
    """A source that hands out the same words every time."""

    def __init__(self, source: Source, count: int) -> None:
        self._words = source.words(count)

    def words(self, count: int) -> np.ndarray:
        return self._words[:count].copy()


def parts_sharing_words(self: Mechanism, codes: Codes, source: Source, **_: object) -> Codes:
    room = np.empty(codes.shape, dtype=np.uint8)
    again = Again(source, len(codes))
    for part in self.parts:
        part.draw(codes.T, room.T, again)
    return room


def first_part_for_all(self: Mechanism, codes: Codes, source: Source, **_: object) -> Codes:
    """Every part reads the columns of a part that lies at the beginning."""
    room = np.empty(codes.shape, dtype=np.uint8)
    for part in self.parts:
        moved = codes.copy()
        moved[:, list(part.attributes)] = codes[:, : len(part.attributes)]
        part.draw(moved.T, room.T, source)
    return room


def draw_with(choose: Callable[[Part, int, Source], Codes] | None = None, branch_draw: Any = None) -> Any:
    """Part.draw that chooses branches, or draws a branch, in another way."""

    def draw(self: Part, codes: Codes, room: Codes, source: Source) -> None:
        count = len(self.branches)
        if self.silent:
            room[list(self.attributes)] = np.array(self.answers)[:, None]
        chosen = choose(self, codes.shape[1], source) if choose else Uniform(count).draw(codes[0], source)
        some = 0 < self.decoys < len(self.attributes) - self.pivots
        decoys = self.draw_decoys(chosen, source) if some else np.ones((len(self.attributes), len(chosen)), dtype=bool)
        for number, branch in enumerate(self.branches):
            people = np.flatnonzero(chosen == number)
            (branch_draw or branch_with())(self, branch, people, decoys[:, people], codes, room, source)

    return draw


def biased(part: Part, people: int, source: Source) -> Codes:
    more = len(part.branches) + 1
    return (Uniform(more).draw(np.zeros(people, np.uint8), source) % len(part.branches)).astype(np.uint8)


def never_the_last(part: Part, people: int, source: Source) -> Codes:
    return Uniform(max(len(part.branches) - 1, 1)).draw(np.zeros(people, np.uint8), source)


def decoys_with(*, last: bool = True, step: int | None = None, more: int = 0) -> Any:
    """Part.draw_decoys with one thing wrong, for parts with one pivot."""

    def draw(self: Part, chosen: Codes, source: Source) -> Any:
        attributes, everybody = len(self.attributes), np.arange(len(chosen))
        decoys = np.zeros((attributes, len(chosen)), dtype=bool)
        pivot = chosen.astype(np.int64)
        for number in range(self.decoys + more):
            drawn = Uniform(attributes - 1 - number - (not last)).draw(chosen, source).astype(np.int64)
            away = step or drawn + 1
            while (taken := decoys[(pivot + away) % attributes, everybody]).any():
                away = away + taken
            decoys[(pivot + away) % attributes, everybody] = True
        return decoys

    return draw


def branch_with(*, raw_fills: bool = False, one_fill: bool = False, raw_second: bool = False, turned: bool = False, shared: bool = False) -> Any:  # fmt: skip
    """The draw of a branch with at most one thing wrong."""

    def draw(self: Part, branch: Any, people: Any, decoys: Any, codes: Codes, room: Codes, source: Source) -> None:
        attributes = [self.attributes[own] for own in branch]
        used = Again(source, len(people)) if shared else source
        raw = [codes[own, people] for own in attributes]
        private = [self.asked[own].draw(given, used) for own, given in zip(branch, raw, strict=True)]
        if raw_second:
            private[1:] = raw[1:]
        for own, code in zip(attributes, private, strict=True):
            room[own, people] = code
        if self.fill is None:
            return
        seen = [raw[own] if raw_fills else code.astype(np.int64) for own, code in enumerate(private)]
        sizes = [self.answers[own] for own in branch]
        order = range(len(branch))[::-1] if turned else range(len(branch))
        given = np.zeros(len(people), dtype=np.int64)
        for place in order:
            given = given * sizes[place] + seen[place]
        for other in self.others(branch):
            shown = decoys[other]
            filled = self.filling(branch, other).draw(given[shown].astype(np.uint64), source)
            room[self.attributes[other], people[shown]] = filled[0] if one_fill and len(filled) else filled

    return draw


def answering_everything(self: Part, codes: Codes, room: Codes, source: Source) -> None:
    for own, channel in enumerate(self.asked):
        room[self.attributes[own]] = channel.draw(codes[self.attributes[own]], source)


def budgets(share: Callable[[PartPlan, int], Fraction]) -> Callable[..., Mechanism]:
    """`build` that gives each part another share of epsilon."""

    def build(parts: Sequence[PartPlan], sizes: Sequence[int], epsilon: Fraction) -> Mechanism:
        return Mechanism(tuple(part.build(sizes, epsilon * share(part, len(parts))) for part in parts))

    return build


Plant = Callable[[pytest.MonkeyPatch], None]


def put(target: Any, name: str, value: Any, *, raising: bool = True) -> Plant:
    return lambda patch: patch.setattr(target, name, value, raising=raising)


def put_build(share: Callable[[PartPlan, int], Fraction]) -> Plant:
    return put(plans, "build", budgets(share))


def put_weights(change: Callable[[int, int], tuple[int, int]]) -> Plant:
    honest = channels.randomized_response.__wrapped__

    def planted(epsilon: Fraction, size: int) -> Keep:
        found = honest(epsilon, size)
        return Keep(size, *change(found.same, found.other))

    return put(named, "randomized_response", planted)


def put_plane_weights(change: Callable[[int, int], tuple[int, int]]) -> Plant:
    honest = projective.projective_response.__wrapped__

    def planted(epsilon: Fraction, size: int, geometry: Geometry) -> Projective:
        found = honest(epsilon, size, geometry)
        return Projective(size, *change(found.same, found.other), geometry)

    return put(projective, "projective_response", planted)


honest_draw = Projective.draw


def next_label(self: Projective, given: Codes, source: Source) -> Codes:
    return honest_draw(self, (given + 1) % 4, source)


def put_guess(change: Callable[[Part, Sequence[np.ndarray]], float]) -> Plant:
    """Another guess of an observer who knows these marginals of a part's attributes."""
    return put(audit, "pivot_guess", lambda part, known: audit.PivotGuess(change(part, known)))


def mean_of_branches(part: Part, known: Sequence[np.ndarray]) -> float:
    """The mean of the chances of naming a branch and of not naming it, for their largest."""
    return (honest_guess(part, known).value + 1 / len(part.branches)) / 2


honest_guess = audit.pivot_guess

honest_copying = fillings.copying


def classes_with(*, any_label: bool = False, by_size: bool = False, first: bool = False, matched: bool = False) -> Any:
    """ByClass.draw with one thing wrong."""

    def draw(self: ByClass, given: Codes, source: Source) -> Codes:
        match = self.match[given]
        some = match != NOTHING
        drawn = np.where(some, 0, Uniform(self.keep.outputs).draw(match, source) * (not matched))
        drawn[some] = self.keep.draw(match[some], source)
        sizes = np.bincount(self.classes)
        order = np.argsort(self.classes, kind="stable")
        starts = np.cumsum(sizes) - sizes
        labels = np.empty(len(given), dtype=np.uint8)
        for own in range(self.keep.outputs):
            people = np.flatnonzero(drawn == own)
            places = Uniform(int(sizes[own])).draw(given[people], source) * (not first)
            labels[people] = order[starts[own] + places]
        other = np.flatnonzero(drawn != match) if any_label or by_size else np.array([], dtype=np.int64)
        while other.size:
            labels[other] = Uniform(self.outputs).draw(given[other], source)
            other = other[self.classes[labels[other]] == match[other]] if by_size else other[:0]
        return labels

    return draw


def one_unit_more(probability: float, size: int) -> Keep:
    return honest_copying(probability + (2**-32 if probability < 1 else 0), size)


def refresh_of_the_last(earlier: Sequence[plans.Plan]) -> plans.Plan:
    return msgspec.structs.replace(refresh(earlier), parts=earlier[-1].parts)


def put_repeats(repeats: Callable[[Any], int]) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        for module in (rounds, estimate):
            patch.setattr(module, "repeats", repeats)

    return plant


def put_change(smoothed: Callable[[Any, Any, int, float], Any]) -> Plant:
    honest = rounds.Track.smoothed
    return put(rounds.Track, "smoothed", lambda self, number, change: smoothed(honest, self, number, change))


FAULTS: dict[str, tuple[Plant, str]] = {
    "one step too few": (put(Keep, "draw", keep_with(lambda s, w, g: away(s, g, np.minimum(w // np.uint64(s.other), np.uint64(s.inputs - 2))))), "words of randomized response"),
    "first step stays": (put(Keep, "draw", keep_with(lambda s, w, g: ((g + np.minimum(w // np.uint64(s.other), np.uint64(s.inputs - 1)).astype(np.int64)) % s.inputs).astype(np.uint8))), "words of randomized response"),
    "weights swapped in the draw": (put(Keep, "draw", keep_with(lambda s, w, g: away(s, g, w // np.uint64(max(s.same, 1))))), "words of randomized response"),
    "always kept": (put(Keep, "draw", lambda _self, given, _source: given.astype(np.uint8)), "words of randomized response"),
    "zero never replaced": (put(Keep, "draw", keep_with(lambda s, w, g: np.where(g == 0, g, away(s, g, w // np.uint64(s.other))))), "words of randomized response"),
    "no rejection": (put(Keep, "draw", without_rejection), "words of randomized response"),
    "a float comparison": (put(Keep, "draw", by_float), "words of randomized response"),
    "one word for everybody": (put(Keep, "draw", one_word_for_all), "reports of spl"),
    "sixteen bits of a word": (put(Keep, "draw", half_a_word), "words of randomized response"),
    "a bound too large by one": (put(channels, "words_below", lambda s, b, c: words_below(s, min(b + 1, WORD), c)), "words of randomized response"),
    "rejected words become zero": (put(channels, "words_below", rejected_become_zero), "words of randomized response"),
    "rejected words become zero in fills": (put(fillings, "words_below", rejected_become_zero), "words of uniform"),
    "remainder for uniform": (put(Uniform, "draw", lambda self, given, source: (source.words(len(given)) % np.uint64(self.outputs)).astype(np.uint8)), "words of uniform"),
    "last code never uniform": (put(Uniform, "draw", lambda self, given, source: np.minimum(words_below(source, WORD // self.outputs * self.outputs, len(given)) // np.uint64(WORD // self.outputs), np.uint64(self.outputs - 2)).astype(np.uint8)), "words of uniform"),
    "edges on the wrong side": (put(Rows, "draw", rows_with("left")), "words of tables"),
    "the first row for all": (put(Rows, "draw", rows_with("right", first_row=True)), "words of tables"),
    "a tenth too much weight": (put_weights(lambda same, other: (same // 2 * 11 // 10, other // 2)), "privacy of rs-fd"),
    "one too much weight": (put_weights(lambda same, other: (same // 2 + 1, other // 2)), "privacy of spl"),
    "weights swapped": (put_weights(lambda same, other: (other, same // 4)), "budget of rs-fd"),
    "half the budget": (put_weights(lambda same, other: (other + (same - other) // 2, other)), "budget of smp"),
    "copies when it should not": (put(fills, "copying", lambda probability, size: honest_copying(1 - probability, size)), "meaning of copies"),
    "copying means its complement": (put(fillings, "copying", lambda probability, size: honest_copying(1 - probability, size)), "meaning of copies"),
    "pivots of a table turned round": (put(TableFill, "channel", turned_table), "meaning of tables"),
    "the whole budget for each part": (put_build(lambda _part, _parts: Fraction(1)), "privacy of spl"),
    "the whole budget for each group": (put_build(lambda _part, _parts: Fraction(1)), f"privacy of {GROUPS}"),
    "the pivot with an amplified budget": (put_build(lambda part, parts: Fraction(3 if part.fill else 2, 2 * parts)), "privacy of corr-rr"),
    "the pivot with a split budget": (put_build(lambda part, parts: Fraction(1, (2 if part.fill else 1) * parts)), "budget of cond-rr"),
    "the whole budget for each of two pivots": (put_build(lambda part, parts: Fraction(part.pivots, parts)), f"privacy of {PIVOTS}"),
    "a budget split by attributes, not by parts": (put_build(lambda part, parts: Fraction(1, parts * len(part.attributes))), f"budget of {GROUPS}"),
    "a law of the first branch alone": (put(Part, "probability", lambda self, record, report: self.rest_probability(self.branches[0], report) * self.asked[0].probability(record[0], report[0])), "reports of rs-rfd"),
    "a biased pivot": (put(Part, "draw", draw_with(biased)), "reports of rs-rfd"),
    "the same pivot for all": (put(Part, "draw", draw_with(lambda _part, people, _source: np.zeros(people, np.uint8))), "reports of smp"),
    "two pivots that are never the last two": (put(Part, "draw", draw_with(never_the_last)), f"reports of {SILENT_PIVOTS}"),
    "fills that see the record": (put(Part, "draw", draw_with(branch_draw=branch_with(raw_fills=True))), "reports of corr-rr"),
    "one fill for everybody": (put(Part, "draw", draw_with(branch_draw=branch_with(one_fill=True))), "reports of rs-fd"),
    "the second pivot as it is": (put(Part, "draw", draw_with(branch_draw=branch_with(raw_second=True))), f"reports of {SILENT_PIVOTS}"),
    "pivots of a draw turned round": (put(Part, "draw", draw_with(branch_draw=branch_with(turned=True))), f"reports of {PIVOTS}"),
    "both pivots use the same words": (put(Part, "draw", draw_with(branch_draw=branch_with(shared=True))), f"reports of {SILENT_PIVOTS}"),
    "decoys that are never the last": (put(Part, "draw_decoys", decoys_with(last=False)), f"reports of {DECOYS}"),
    "a decoy that is always the next": (put(Part, "draw_decoys", decoys_with(step=1)), f"reports of {DECOYS}"),
    "one decoy too many": (put(Part, "draw_decoys", decoys_with(more=1)), f"reports of {DECOY_TABLE}"),
    "no decoys": (put(Part, "draw_decoys", decoys_with(more=-1)), f"reports of {DECOY_TABLE}"),
    "the whole budget for a part with decoys": (put_build(lambda part, parts: Fraction(1 + part.decoys, parts)), f"privacy of {DECOYS}"),
    "words used again": (put(Mechanism, "privatise", parts_sharing_words), "reports of spl"),
    "both parts use the same words": (put(Mechanism, "privatise", parts_sharing_words), f"reports of {SILENT_GROUPS}"),
    "parts that read other columns": (put(Mechanism, "privatise", first_part_for_all), f"reports of {GROUPS}"),
    "a silent part that answers everything": (put(Part, "draw", answering_everything), "reports of smp"),
    "silent groups that answer everything": (put(Part, "draw", answering_everything), f"reports of {SILENT_GROUPS}"),
    "one too much weight inside a hyperplane": (put_plane_weights(lambda same, other: (same // 2 + 1, other // 2)), f"privacy of {LARGE}"),
    "half the budget for a hyperplane": (put_plane_weights(lambda same, other: (other + (same - other) // 2, other)), f"budget of {LARGE}"),
    "the next label's hyperplane": (put(Projective, "draw", next_label), "words of large domains"),
    "the next label's hyperplane in a report": (put(Projective, "draw", next_label), f"reports of {LARGE_COPY}"),
    "labels for codes in fills": (put(InSet, "draw", lambda self, given, source: self.labels.draw(given, source)), f"reports of {LARGE_ROW}"),
    "any label instead of another class": (put(ByClass, "draw", classes_with(any_label=True)), f"reports of {ALIGNED}"),
    "other classes by their sizes": (put(ByClass, "draw", classes_with(by_size=True)), f"reports of {ALIGNED}"),
    "the first label of a class": (put(ByClass, "draw", classes_with(first=True)), f"reports of {ALIGNED}"),
    "the first class for what matches none": (put(ByClass, "draw", classes_with(matched=True)), f"reports of {ALIGNED}"),
    "one unit too much for a match": (put(fills, "copying", one_unit_more), "meaning of classes"),
    "the class of the record": (put(Part, "draw", draw_with(branch_draw=branch_with(raw_fills=True))), f"reports of {ALIGNED}"),
    "labels of a class for codes": (put(InSet, "draw", lambda self, given, source: self.labels.draw(given, source)), f"reports of {ALIGNED_LARGE}"),
    "a guess by the mean of branches": (put_guess(mean_of_branches), "guess of cond-rr"),
    "the whole budget for each learned pivot": (put_build(lambda part, parts: Fraction(part.pivots if part.fill else 1, parts)), f"privacy of {LEARNED_PIVOTS}"),
    "learned pivots that divide the budget twice": (put_build(lambda part, parts: Fraction(1, part.pivots * parts)), f"budget of {LEARNED_PIVOTS}"),
    "one pivot that keeps the budget of two": (put_build(lambda part, parts: Fraction(1, (2 if part.fill and part.pivots == 1 else 1) * parts)), f"budget of {FEWER_PIVOTS}"),
    "pivots that noise supports": (put(learn, "gain_of", lambda *_: 1.0), "meaning of fewer pivots"),
    # rounds
    "a refresh asks as the last plan": (put(campaigns, "refresh", refresh_of_the_last), "parts of rounds"),
    "returning people count as new": (put_repeats(lambda _history: 0), "errors of returning people"),
    "a change happens twice": (put_change(lambda honest, track, number, change: honest(track, number, 2 * change)), "changes of rounds"),
    "nothing ever changes": (put_change(lambda honest, track, number, _change: honest(track, number, 0.0)), "changes of rounds"),
    "the other round's frequencies": (put_change(lambda honest, track, number, change: honest(track, 1 - number, change)), "changes of rounds"),
}  # fmt: skip
"""What is planted, and the check that must catch it."""


HARMLESS: list[Plant] = [
    put_change(lambda honest, track, number, change: honest(track, number, change)),
    put_repeats(rounds.repeats),
    put(Keep, "draw", keep_with(lambda s, w, g: away(s, g, w // np.uint64(s.other)))),
    put(Rows, "draw", rows_with("right")),
    put_plane_weights(lambda same, other: (same, other)),
    put(ByClass, "draw", classes_with()),
    put(Part, "draw", draw_with(branch_draw=branch_with())),
    put(Part, "draw_decoys", decoys_with()),
    put_build(lambda _part, parts: Fraction(1, parts)),
    put_weights(lambda same, other: (same, other)),
]
"""The functions that faults are made of, with nothing wrong: what is caught above is the fault and not its disguise."""


def test_what_faults_are_made_of_is_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    for plant in HARMLESS:
        plant(monkeypatch)
    for check in CHECKS.values():
        check()


@pytest.mark.parametrize("name", CHECKS)
def test_nothing_planted_passes(name: str) -> None:
    CHECKS[name]()


@pytest.mark.parametrize("fault", FAULTS)
def test_every_planted_fault_is_caught_by_its_check(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, check = FAULTS[fault]
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        CHECKS[check]()


def test_every_check_has_a_fault_to_catch_or_a_sibling_that_has() -> None:
    kinds = {name.split(" of ")[0] for name in CHECKS}
    assert {check.split(" of ")[0] for _, check in FAULTS.values()} == kinds
