"""An empirical auditor for black boxes: a lower bound on ε, from samples alone.

Part of the draws look for two records and a few events (sets of whole reports) whose probabilities differ most; the
rest are drawn afresh and bound the ratio of those probabilities by Clopper and Pearson's intervals. What was looked at
never touches what is tested, so that the bound holds whatever the search found: if it exceeds ε, the black box is not
ε-private, but for the stated chance.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import lgamma, log, log1p
from operator import itemgetter
from typing import Literal

import numpy as np

from privtally.exact.types import Floats

# Bounds on a probability from hits among independent draws (Clopper and Pearson 1934).


def lower_bound(hits: int, draws: int, chance: float) -> float:
    """The smallest probability that gives so many hits, or more, with at least the chance."""
    return _solve(lambda p: 1 - below(hits, draws, p) >= chance) if hits else 0.0


def upper_bound(hits: int, draws: int, chance: float) -> float:
    """The largest probability that gives so few hits, or fewer, with at least the chance."""
    return _solve(lambda p: below(hits + 1, draws, p) < chance) if hits < draws else 1.0


def below(hits: int, draws: int, probability: float) -> float:
    """The chance of fewer hits than so many."""
    if not 0 < probability < 1:
        return float(hits > draws * probability)
    counts = np.arange(min(max(hits, 0), draws + 1))
    logs = _log_binomials(draws)[: len(counts)] + counts * log(probability) + (draws - counts) * log1p(-probability)
    return min(float(np.exp(logs).sum()), 1.0)


@lru_cache(maxsize=4)
def _log_binomials(draws: int) -> Floats:
    """The logarithms of "draws over 0, 1, … draws"."""
    factorials = np.array([lgamma(count + 1) for count in range(draws + 1)])
    logs: Floats = factorials[-1] - factorials - factorials[::-1]
    return logs


def _solve(beyond: Callable[[float], bool]) -> float:
    """Where a condition that holds for large probabilities begins to hold."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return (low + high) / 2


Codes = tuple[int, ...]
Sampler = Callable[[Codes, int], Sequence[Hashable]]
"""(record, how many) -> that many reports, drawn independently."""

PAIR_SEARCH, EVENT_SEARCH = 0.04, 0.2
"""The shares of all draws that go into looking for a pair, and then for events."""
LARGEST_EVENT = 64
CANDIDATES = 2
"""How many events are tested; each gets its part of the chance to be wrong."""
RARE = 0.1
"""An event that is rarer than this is tested by pairs of draws of which one alone hits it."""

By = Literal["count", "agreement", "report"]

LUCK: Mapping[By, float] = {"count": 0.0, "agreement": 1.0, "report": 2.5}
"""Standard errors to distrust an event by: among many reports one looks good by luck, among few counts hardly any."""


@dataclass(frozen=True)
class Event:
    """A set of reports: those listed, or those that agree with the two records as listed.

    An agreement has a mark for each attribute: "x" where the report agrees with the first record, "y" where it agrees
    with the other one, "-" where with neither; a count says only how many of each. They pool reports that a mechanism
    hardly tells apart.
    """

    by: By
    marks: frozenset[Hashable]
    promise: float
    """The bound that the search expects of it."""
    rare: bool


@dataclass(frozen=True)
class Finding:
    """A lower bound on ε that holds at the confidence asked for, and the pair and event that show it."""

    epsilon: float
    record: Codes
    other_record: Codes
    event: Event


def one_by_one(respond: Callable[[Codes], Hashable]) -> Sampler:
    """A sampler from a function that gives one report."""
    return lambda record, count: [respond(record) for _ in range(count)]


def attack(sampler: Sampler, sizes: Sequence[int], draws: int, confidence: float = 0.95) -> Finding:
    """The largest ε that samples prove at the confidence, with so many draws in all."""
    for_pair, for_event = int(draws * PAIR_SEARCH), int(draws * EVENT_SEARCH)
    each = (draws - for_pair - for_event) // 2
    pair = _best_pair(sampler, sizes, for_pair)
    seen = [sampler(record, max(for_event // 2, 1)) for record in pair]
    events = _events(seen, pair, each)[:CANDIDATES]
    fresh = [sampler(record, each) for record in pair]
    bounds = [_bound(event, fresh, pair, (1 - confidence) / len(events)) for event in events]
    epsilon, event = max(zip(bounds, events, strict=True), key=itemgetter(0))
    return Finding(max(epsilon, 0.0), *pair, event)


def candidate_pairs(sizes: Sequence[int]) -> list[tuple[Codes, Codes]]:
    """Pairs that differ in the first 1, 2 … d attributes, in each one alone, and at the far ends; both ways round."""
    attributes = range(len(sizes))
    others = [tuple(int(own <= last) for own in attributes) for last in attributes]
    others += [tuple(int(own == alone) for own in attributes) for alone in attributes]
    others.append(tuple(size - 1 for size in sizes))
    pairs = [((0,) * len(sizes), other) for other in dict.fromkeys(others)]
    return pairs + [(two, one) for one, two in pairs]


def _bound(event: Event, samples: Sequence[Sequence[Hashable]], pair: tuple[Codes, Codes], chance: float) -> float:
    """A lower bound on the logarithm of the event's two probabilities' ratio, wrong with at most the chance."""
    one, two = ([mark in event.marks for mark in _marks(event.by, sample, pair)] for sample in samples)
    draws, hits, misses = len(one), sum(one), sum(two)
    if not event.rare:
        likely, unlikely = lower_bound(hits, draws, chance / 2), upper_bound(misses, draws, chance / 2)
        return log(likely / unlikely) if likely > 0 else 0.0
    # Among pairs of draws of which one alone hits, the share that is the first record's tells the odds ratio exactly;
    # the ratio of the probabilities is at least that times the first one's chance to miss.
    alone = sum(hit and not miss for hit, miss in zip(one, two, strict=True))
    other_alone = sum(miss and not hit for hit, miss in zip(one, two, strict=True))
    share = lower_bound(alone, alone + other_alone, 0.9 * chance)
    missing = 1 - upper_bound(hits, draws, 0.1 * chance)
    return log(share / (1 - share) * missing) if 0 < share < 1 and missing > 0 else 0.0


def _best_pair(sampler: Sampler, sizes: Sequence[int], draws: int) -> tuple[Codes, Codes]:
    pairs = candidate_pairs(sizes)
    records = list(dict.fromkeys(record for pair in pairs for record in pair))
    share = max(draws // len(records), 1)
    seen = {record: sampler(record, share) for record in records}
    return max(pairs, key=lambda pair: _events([seen[record] for record in pair], pair, share)[0].promise)


def _events(samples: Sequence[Sequence[Hashable]], pair: tuple[Codes, Codes], planned: int) -> list[Event]:
    """Events, the one that promises the best bound at the planned number of draws first.

    Of each kind: the marks that speak most for the first record, one by one together.
    """
    found, seen = [], len(samples[0]) + 1
    for by, distrust in LUCK.items():
        one, two = (Counter(_marks(by, sample, pair)) for sample in samples)
        ranked = sorted(one, key=lambda mark: (one[mark] + 0.5) / (two[mark] + 2), reverse=True)
        hits = misses = 0.5
        for size, mark in enumerate(ranked[:LARGEST_EVENT], start=1):
            hits, misses = hits + one[mark], misses + two[mark]
            noise = 2 * ((seen / hits + seen / misses) / planned) ** 0.5
            promise = log(hits / misses) - noise - distrust / misses**0.5
            found.append(Event(by, frozenset(ranked[:size]), promise, hits / seen < RARE))
    return sorted(found, key=lambda event: event.promise, reverse=True)


def _marks(by: By, reports: Sequence[Hashable], pair: tuple[Codes, Codes]) -> Sequence[Hashable]:
    """Reports as an event sees them; a report that is no tuple of codes stands for itself."""
    if by == "report":
        return reports
    marks = []
    for report in reports:
        if isinstance(report, tuple) and len(report) == len(pair[0]):
            codes = zip(report, *pair, strict=True)
            agreement = ["x" if code == one else "y" if code == two else "-" for code, one, two in codes]
            report = "".join(agreement if by == "agreement" else sorted(agreement))
        marks.append(report)
    return marks
