"""The exact privacy loss of a mechanism: how much likelier a report can be under one record than under another.

All of it is rational arithmetic on the integer weights that the sampler uses. For one sub-report y of a part,

    P(y | x) = (1/branches) Σ over branches  G_b(y) Π over its pivots s  R_s(y_s | x_s)

is affine in each R_s. The ratio between two records is therefore largest when each attribute is either the same in both
and as probable or as improbable as it can be, or different, most probable under the one record and least probable under
the other. One pass over sub-reports and those choices finds it; no pair of records is left out. Parts are independent,
so that the largest ratios of parts multiply.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb, prod
from operator import itemgetter

from privtally.mechanisms import Mechanism, Part
from privtally.mechanisms.channel import Asked, largest_and_smallest

MAX_STATES = 1_000_000
"""Parts are enumerated while the sub-reports to try, times the ways in which two records can agree with one (five for
each attribute that it shows), are no more than this, which is what the verifier can try one by one."""


@dataclass(frozen=True)
class Loss:
    """The largest likelihood ratio between records that differ in so many attributes.

    Two records and a report attain it; where there are none, it is a bound that follows from the structure.
    """

    differing: int
    ratio: Fraction
    record: tuple[int, ...] = ()
    other_record: tuple[int, ...] = ()
    report: tuple[int, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the ratio is attained."""
        return bool(self.report)


def losses(mechanism: Mechanism) -> list[Loss]:
    """The largest ratio between records that differ in 1, 2, … d attributes."""
    if any(states(part) > MAX_STATES for part in mechanism.parts):
        # Post-processing of the asked channels, averaged over choices that are made without looking at the record.
        return [Loss(differing, mechanism.ratio) for differing in range(1, mechanism.width + 1)]
    found = [_losses_of(part) for part in mechanism.parts]
    # For each number of differing attributes the largest ratio and each part's share in it. Among parts of a single
    # attribute those with the largest ratios differ first.
    single = sorted((n for n, own in enumerate(found) if len(own) == 2), key=lambda n: found[n][1].ratio, reverse=True)
    best = [(Fraction(1), {number: found[number][0] for number in single})]
    for number in single:
        ratio, shares = best[-1]
        best.append((ratio * found[number][1].ratio, shares | {number: found[number][1]}))
    for number, own in enumerate(found):
        if len(own) > 2:
            more: list[list[tuple[Fraction, dict[int, Loss], Loss]]] = [[] for _ in range(len(best) + len(own) - 1)]
            for (before, (ratio, shares)), loss in product(enumerate(best), own):
                more[before + loss.differing].append((ratio * loss.ratio, shares, loss))
            chosen = (max(choices, key=itemgetter(0)) for choices in more)
            best = [(ratio, shares | {number: loss}) for ratio, shares, loss in chosen]
    return [_whole(mechanism, differing, *best[differing]) for differing in range(1, mechanism.width + 1)]


def worst(found: Sequence[Loss]) -> Loss:
    """The largest ratio between any two records."""
    return max(found, key=lambda loss: loss.ratio)


def states(part: Part) -> int:
    """How many ways there are to try a part's sub-reports against two records."""
    return (comb(len(part.attributes), part.shown) if _blind(part) else part.distinct) * int(5**part.shown)


def _blind(part: Part) -> bool:
    """Whether fills say nothing about codes, so that one sub-report for each kind of code stands for all."""
    return part.fill is None or part.fill.even


def _whole(mechanism: Mechanism, differing: int, ratio: Fraction, shares: dict[int, Loss]) -> Loss:
    """The loss of the parts together, codes in the order of the attributes."""
    attained = [(shares[number], place) for number, place in mechanism.places]
    return Loss(
        differing,
        ratio,
        tuple(loss.record[place] for loss, place in attained),
        tuple(loss.other_record[place] for loss, place in attained),
        tuple(loss.report[place] for loss, place in attained),
    )


def _losses_of(part: Part) -> list[Loss]:
    """The largest ratio of a part between records that differ in 0, 1, 2, … of its attributes."""
    best: dict[int, Loss] = {}
    attributes = len(part.attributes)
    kinds: list[Hashable] = [*part.asked] if _blind(part) else [*range(attributes)]
    for _, places in part.alike_sets(kinds):
        for loss in _losses_of_shown(part.showing(places)):
            # Attributes that are not shown have no effect, so that they may differ as well.
            others = [own for own in range(attributes) if own not in places]
            for more in range(len(others) + 1):
                known = best.get(loss.differing + more)
                if known is None or loss.ratio > known.ratio:
                    record, other, report = [0] * attributes, [0] * attributes, list(part.answers)
                    for own, *codes in zip(places, loss.record, loss.other_record, loss.report, strict=True):
                        record[own], other[own], report[own] = codes
                    for own in others[:more]:
                        other[own] = 1
                    best[loss.differing + more] = Loss(
                        loss.differing + more, loss.ratio, tuple(record), tuple(other), tuple(report)
                    )
    return [best[differing] for differing in sorted(best)]


def _losses_of_shown(part: Part) -> list[Loss]:
    """The same for a part all of whose attributes are shown."""
    best: dict[int, Loss] = {}
    # For each attribute whether both records have its most (0) or least (1) probable code, or one record each. With one
    # pivot an attribute that is the same in both only weakens the ratio, the less the less probable it is.
    ways = ((1, 1), (0, 1)) if part.pivots == 1 else ((0, 0), (1, 1), (0, 1))
    for report in product(*map(_kinds, part.asked)) if _blind(part) else part.reports():
        rest = {branch: chance for branch in part.branches if (chance := part.rest_probability(branch, report))}
        relevant = sorted({own for branch in rest for own in branch})
        free = [own for own in range(len(part.attributes)) if own not in relevant]
        ends = [largest_and_smallest(part.asked[own], report[own]) for own in relevant]
        for choice in product(ways, repeat=len(relevant)) if rest else ():
            record, other = [0] * len(part.attributes), [0] * len(part.attributes)
            for own, end, (one, two) in zip(relevant, ends, choice, strict=True):
                record[own], other[own] = end[one], end[two]
            ratio = _weight(part, rest, report, record) / _weight(part, rest, report, other)
            differing = sum(one != two for one, two in choice)
            # Attributes without effect on this sub-report may differ as well.
            for more in range(len(free) + 1):
                known = best.get(differing + more)
                if known is None or ratio > known.ratio:
                    changed = tuple(1 if own in free[:more] else code for own, code in enumerate(other))
                    best[differing + more] = Loss(differing + more, ratio, tuple(record), changed, report)
    return [best[differing] for differing in sorted(best)]


def _weight(
    part: Part, rest: dict[tuple[int, ...], Fraction], report: Sequence[int], record: Sequence[int]
) -> Fraction:
    """The probability of a sub-report given a record, times the number of branches."""
    total = Fraction(0)
    for branch, chance in rest.items():
        total += prod((part.asked[own].probability(record[own], report[own]) for own in branch), start=chance)
    return total


def _kinds(channel: Asked) -> list[int]:
    """An output code in the sets of some inputs only; where there is none, one of no input's set and one of all."""
    kinds: dict[int, int] = {}
    for code in range(channel.outputs):
        holders = len(channel.holders(code))
        if 0 < holders < channel.inputs:
            return [code]
        kinds.setdefault(holders, code)
    return list(kinds.values())
