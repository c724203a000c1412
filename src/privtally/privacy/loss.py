"""The exact privacy loss of a mechanism: how much likelier a report can be under one record than under another.

All of it is rational arithmetic on the integer weights that the sampler uses. For one sub-report y of a part,

    P(y | x) = (1/branches) Σ over branches  G_b(y) Π over its pivots s  R_s(y_s | x_s)

is affine in each R_s. The ratio between two records is therefore largest when each attribute is either the same in both
and as probable or as improbable as it can be, or different, most probable under the one record and least probable under
the other. One pass over sub-reports and those choices finds it; no pair of records is left out. Parts are independent,
so that the largest ratios of parts multiply.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from privtally.mechanisms import Mechanism, Part
from privtally.mechanisms.channel import largest_and_smallest
from privtally.mechanisms.part import SubReport

MAX_STATES = 1_000_000
"""Parts are enumerated while the sub-reports to try, times the ways in which two records can agree with one (five for
each attribute that can be its pivot), are no more than this, which is what the verifier can try one by one."""


@dataclass(frozen=True)
class Loss:
    """The largest likelihood ratio between records that differ in so many attributes.

    Two records and a report attain it; where there are none, it is a bound that follows from the structure.
    """

    differing: int
    ratio: Fraction
    record: tuple[int, ...] | None = None
    other_record: tuple[int, ...] | None = None
    report: tuple[int, ...] | None = None

    @property
    def exact(self) -> bool:
        """Whether the ratio is attained."""
        return self.report is not None


def losses(mechanism: Mechanism) -> list[Loss]:
    """The largest ratio between records that differ in 1, 2, … d attributes."""
    if any(states(part) > MAX_STATES for part in mechanism.parts):
        # Post-processing of the asked channels, averaged over choices that are made without looking at the record.
        return [Loss(differing, mechanism.ratio) for differing in range(1, mechanism.width + 1)]
    single = [_losses_of(part)[1] for part in mechanism.parts if len(part.attributes) == 1]
    rows = [_Choice.of(part, loss) for part, loss in zip(_single(mechanism), single, strict=True)]
    best = _prefixes(sorted(rows, key=lambda choice: choice.ratio, reverse=True), mechanism)
    for part in mechanism.parts:
        if len(part.attributes) > 1:
            best = _combined(best, [_Choice.of(part, loss) for loss in _losses_of(part)])
    return [choice.loss(mechanism.width) for choice in best[1:]]


def worst(found: Sequence[Loss]) -> Loss:
    """The largest ratio between any two records."""
    return max(found, key=lambda loss: loss.ratio)


def states(part: Part) -> int:
    """How many ways there are to try a part's sub-reports against two records."""
    if part.silent:
        return len(part.branches) * int(5**part.pivots)
    return (1 if _blind(part) else prod(part.answers)) * int(5 ** len(part.attributes))


def _blind(part: Part) -> bool:
    """Whether fills say nothing about codes, so that one sub-report for each kind of code stands for all."""
    return part.fill is None or part.fill.even


@dataclass(frozen=True)
class _Choice:
    """Records and reports of some attributes, as maps from attribute to code, with their ratio."""

    ratio: Fraction
    differing: int
    record: dict[int, int]
    other: dict[int, int]
    report: dict[int, int]

    @classmethod
    def of(cls, part: Part, loss: Loss) -> "_Choice":
        maps = (
            dict(zip(part.attributes, codes or (), strict=True))
            for codes in (loss.record, loss.other_record, loss.report)
        )
        return cls(loss.ratio, loss.differing, *maps)

    def and_also(self, more: "_Choice") -> "_Choice":
        """Both together."""
        return _Choice(
            self.ratio * more.ratio,
            self.differing + more.differing,
            self.record | more.record,
            self.other | more.other,
            self.report | more.report,
        )

    def loss(self, width: int) -> Loss:
        """The loss, codes in the order of the attributes."""
        codes = [tuple(each[own] for own in range(width)) for each in (self.record, self.other, self.report)]
        return Loss(self.differing, self.ratio, *codes)


def _single(mechanism: Mechanism) -> list[Part]:
    return [part for part in mechanism.parts if len(part.attributes) == 1]


def _prefixes(choices: Sequence[_Choice], mechanism: Mechanism) -> list[_Choice]:
    """The best choice for each number of differing attributes among single ones: those with the largest ratios."""
    same = _Choice(Fraction(1), 0, {}, {}, {})
    for part in _single(mechanism):
        same = same.and_also(_Choice.of(part, _losses_of(part)[0]))
    found = [same]
    for choice in choices:
        found.append(found[-1].and_also(choice))
    return found


def _combined(best: Sequence[_Choice], more: Sequence[_Choice]) -> list[_Choice]:
    """The best choice for each number of differing attributes, one from each list."""
    found: list[_Choice | None] = [None] * (len(best) + len(more) - 1)
    for one in best:
        for two in more:
            place = one.differing + two.differing
            known = found[place]
            if known is None or one.ratio * two.ratio > known.ratio:
                found[place] = one.and_also(two)
    return [choice for choice in found if choice is not None]


def _losses_of(part: Part) -> list[Loss]:
    """The largest ratio of a part between records that differ in 0, 1, 2, … of its attributes."""
    best: dict[int, Loss] = {}
    for report in _reports_to_try(part):
        rest = {branch: part.rest_probability(branch, report) for branch in part.branches}
        rest = {branch: chance for branch, chance in rest.items() if chance}
        if not rest:
            continue
        relevant = sorted({own for branch in rest for own in branch})
        ends = {own: largest_and_smallest(part.asked[own], report[own]) for own in relevant}
        for ways in _ways(len(relevant), alone=part.pivots == 1):
            choice = dict(zip(relevant, ways, strict=True))
            codes = {own: (ends[own][choice[own][0]], ends[own][choice[own][1]]) for own in relevant}
            high, low = (_weight(part, rest, report, {own: codes[own][side] for own in relevant}) for side in (0, 1))
            _keep_better(best, part, report, codes, high / low)
    return [best[differing] for differing in sorted(best)]


def _ways(attributes: int, *, alone: bool) -> Iterator[tuple[tuple[int, int], ...]]:
    """For each attribute whether both records have its most (0) or least (1) probable code, or one record each.

    With one pivot an attribute that is the same in both only weakens the ratio, the less the less probable it is.
    """
    kinds = ((1, 1), (0, 1)) if alone else ((0, 0), (1, 1), (0, 1))
    yield from product(kinds, repeat=attributes)


def _weight(part: Part, rest: dict[tuple[int, ...], Fraction], report: SubReport, codes: dict[int, int]) -> Fraction:
    """The probability of a sub-report, times the number of branches, if a record has these codes."""
    chances = {own: part.asked[own].probability(code, report[own]) for own, code in codes.items()}
    return sum(
        (chance * prod((chances[own] for own in branch), start=Fraction(1)) for branch, chance in rest.items()),
        start=Fraction(0),
    )


def _keep_better(
    best: dict[int, Loss], part: Part, report: SubReport, codes: dict[int, tuple[int, int]], ratio: Fraction
) -> None:
    """Note a ratio for its number of differing attributes, and for more of them: others may differ without effect."""
    free = [own for own in range(len(part.attributes)) if own not in codes]
    differing = sum(one != two for one, two in codes.values())
    for more in range(len(free) + 1):
        known = best.get(differing + more)
        if known is None or ratio > known.ratio:
            changed = set(free[:more])
            record = tuple(codes[own][0] if own in codes else 0 for own in range(len(part.attributes)))
            other = tuple(codes[own][1] if own in codes else int(own in changed) for own in range(len(part.attributes)))
            best[differing + more] = Loss(differing + more, ratio, record, other, report)


def _reports_to_try(part: Part) -> Iterator[SubReport]:
    """Every sub-report, or where fills are blind to codes one for each kind of code."""
    if not _blind(part):
        yield from part.reports()
        return
    kinds = [_kinds(part, own) for own in range(len(part.attributes))]
    if not part.silent:
        yield from product(*kinds)
        return
    for branch in part.branches:
        for codes in product(*(kinds[own] for own in branch)):
            asked = dict(zip(branch, codes, strict=True))
            yield tuple(asked.get(own, silence) for own, silence in enumerate(part.answers))


def _kinds(part: Part, own: int) -> list[int]:
    """An output code in the sets of some inputs only; where there is none, one of no input's set and one of all."""
    channel = part.asked[own]
    kinds: dict[int, int] = {}
    for code in range(channel.outputs):
        holders = len(channel.holders(code))
        if 0 < holders < channel.inputs:
            return [code]
        kinds.setdefault(holders, code)
    return list(kinds.values())
