"""The exact privacy loss of a plan: how much likelier a report can be under one record than under another.

All of it is rational arithmetic on the integer weights that the sampler uses. For a pivot mechanism write G_s(y) for
the probability that the fills give the rest of report y when s is the pivot with private code y_s. Then

    P(y | x) = (1/d) Σ_s (same_s if x_s = y_s else other_s) / total_s · G_s(y)

so that for two records that differ in a set D of attributes the ratio is largest when x agrees with y all over D, x′
nowhere in D, and both disagree with y elsewhere. One pass over reports and sets D finds it; no pair of records is left
out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import prod

from privtally.mechanisms import Mechanism, Pivot, Sample, Split
from privtally.mechanisms.channel import Keep

MAX_STATES = 1_000_000
"""Pivot mechanisms are enumerated while reports, times the ways in which two records can agree with one (five for each
attribute), are no more than this, which is what the verifier can try one by one; beyond it they are bounded."""


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
    match mechanism:
        case Split(channels):
            return _split(channels)
        case Sample(channels):
            return _sample(channels)
        case Pivot() as pivot if prod(pivot.outputs) * 5 ** len(pivot.channels) <= MAX_STATES:
            return _pivot(pivot)
        case _:
            # Post-processing of one channel, averaged over channels that are chosen without looking at the record.
            return [Loss(differing, mechanism.ratio) for differing in range(1, len(mechanism.sizes) + 1)]


def worst(found: Sequence[Loss]) -> Loss:
    """The largest ratio between any two records."""
    return max(found, key=lambda loss: loss.ratio)


def _split(channels: Sequence[Keep]) -> list[Loss]:
    """Independent channels: the ratios of the attributes that differ multiply; the largest ones are taken."""
    order = sorted(range(len(channels)), key=lambda own: channels[own].ratio, reverse=True)
    found = []
    for differing in range(1, len(channels) + 1):
        chosen = order[:differing]
        ratio = prod((channels[own].ratio for own in chosen), start=Fraction(1))
        found.append(Loss(differing, ratio, *_witness(len(channels), chosen)))
    return found


def _sample(channels: Sequence[Keep]) -> list[Loss]:
    """The report names its attribute: only that one counts, whatever else differs."""
    best = max(range(len(channels)), key=lambda own: channels[own].ratio)
    found = []
    for differing in range(1, len(channels) + 1):
        others = [own for own in range(len(channels)) if own != best]
        record, other, _ = _witness(len(channels), [best, *others[: differing - 1]])
        report = tuple(0 if own == best else channel.size for own, channel in enumerate(channels))
        found.append(Loss(differing, channels[best].ratio, record, other, report))
    return found


def _pivot(mechanism: Pivot) -> list[Loss]:
    attributes = range(len(mechanism.channels))
    best: dict[int, Loss] = {}
    for report in product(*map(range, mechanism.outputs)):
        rest = [mechanism.rest_probability(own, report) for own in attributes]
        kept = [channel.probability(0, 0) * rest[own] for own, channel in enumerate(mechanism.channels)]
        changed = [channel.probability(0, 1) * rest[own] for own, channel in enumerate(mechanism.channels)]
        if not any(kept):
            continue
        for chosen in _subsets(attributes):
            elsewhere = sum((changed[own] for own in attributes if own not in chosen), start=Fraction(0))
            low = sum((changed[own] for own in chosen), start=elsewhere)
            high = sum((kept[own] for own in chosen), start=elsewhere)
            ratio = high / low
            differing = len(chosen)
            if differing not in best or ratio > best[differing].ratio:
                record, other, _ = _pair(mechanism.sizes, report, chosen)
                best[differing] = Loss(differing, ratio, record, other, report)
    return [best[differing] for differing in sorted(best)]


def _subsets(attributes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for size in range(1, len(attributes) + 1):
        yield from combinations(attributes, size)


def _pair(
    sizes: Sequence[int], report: Sequence[int], chosen: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Two records that differ where chosen: one agrees with the report there, and neither does elsewhere."""
    away = [(code + 1) % size for code, size in zip(report, sizes, strict=True)]
    record = tuple(report[own] if own in chosen else away[own] for own in range(len(sizes)))
    return record, tuple(away), tuple(report)


def _witness(attributes: int, chosen: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The same for independent channels: the report is all zeros."""
    return _pair([2] * attributes, [0] * attributes, chosen)
