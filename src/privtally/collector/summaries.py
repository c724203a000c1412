"""The most frequent labels of every attribute, with intervals that hold although they were chosen by what was seen.

The 95 % intervals of an attribute are simultaneous over all of its labels (Bonferroni: each label's has the level
1 − 0.05/k): with 95 % probability none of the k intervals misses, so that none of the chosen ones does either, however
they were chosen. They are those of the unbiased estimate, whatever method gives the frequencies: what a prior pulls
towards the others is not normal around where it is pulled.
"""

from collections.abc import Callable
from statistics import NormalDist
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec import structs

from privtally.collector.inverse import project_to_simplex
from privtally.collector.spread import Bounded, Exact, Spread
from privtally.documents.estimate import (
    NORMAL_95,
    AttributeEstimate,
    Estimate,
    Frequencies,
    Located,
    Provenance,
    Quantile,
    csv_of,
)
from privtally.errors import EstimateError
from privtally.exact.types import Floats, Integers
from privtally.mechanisms.channels import Asked
from privtally.names import Method
from privtally.scales import Ranges
from privtally.schema import Attribute

SHARES = (0.25, 0.5, 0.75)


def can_divide(frequencies: Floats, spread: Spread) -> bool:
    """Whether the share of people who answered is certainly above 0; else nothing can be said about them alone."""
    return bool(frequencies.sum() > NORMAL_95 * np.sqrt(max(spread.total, 0)))


def among_answered(
    labels: tuple[str, ...], said: Floats, frequencies: Floats, spread: Spread, *, intervals: bool
) -> Frequencies:
    """The frequencies `said` among those who answered, with standard errors by the delta method.

    Intervals are those of the frequencies that the spread belongs to, and reach as far as what is said.
    """
    total = frequencies.sum()
    shares, shown = frequencies / total, said / said.sum()
    variances, beside = spread.shares(shares)
    parts = (labels, tuple(shown.tolist()), tuple((np.sqrt(variances) / total).tolist()))
    if not intervals:
        return Frequencies(*parts)
    down, up = _reach(total, variances, beside, spread.total)
    low = np.clip(shares - down, 0, 1)
    high = np.where(shares + up > 0, np.clip(shares + up, 0, 1), np.minimum((down + up) / 2, 1))
    low, high = np.minimum(shown, low), np.maximum(shown, high)
    return Frequencies(*parts, tuple(low.tolist()), tuple(high.tolist()))


def mean(ranges: Ranges, frequencies: Floats, spread: Spread) -> Located:
    """The mean of the numbers; its value takes every number for the middle of what its label counts as."""
    total = frequencies.sum()
    shares = frequencies / total
    least, largest = (np.array(numbers, dtype=float) for numbers in (ranges.lowest, ranges.highest))
    below, above = float(shares @ least), float(shares @ largest)
    variance, beside = spread.weighted(least - below)
    down, _ = _reach(total, variance, beside, spread.total)
    variance, beside = spread.weighted(largest - above)
    _, up = _reach(total, variance, beside, spread.total)
    return _located(ranges, (below + above) / 2, below - float(down), above + float(up))


def quantiles(ranges: Ranges, frequencies: Floats, spread: Spread) -> tuple[Quantile, ...]:
    """The numbers below which a quarter, half and three quarters of the people lie.

    The value spreads people evenly over a bin, and over the halves of the steps around a point of a grid. Rounding to
    a grid moves an answer by less than a step: with D the cumulative frequency of the points and F that of the answers,
    F(g_j) ≤ D(g_j) ≤ F(g_j+1), so that the quantile lies between the neighbours of the point that D reaches it at.
    """
    starts, ends = (
        (np.array(near, dtype=float) + np.array(far)) / 2
        for near, far in ((ranges.lowest, ranges.least), (ranges.highest, ranges.largest))
    )
    total = frequencies.sum()
    likely = np.concatenate([[0.0], project_to_simplex(frequencies / total).cumsum()])
    found = []
    for share in SHARES:
        beyond = frequencies.cumsum() - share * total
        reach = NORMAL_95 * spread.cumulative(share)
        # The label of the quantile is the first whose cumulative frequency reaches the share.
        first = int(np.argmax(np.append((beyond + reach)[:-1] >= 0, True)))
        last = int(np.flatnonzero(np.append(True, (beyond - reach)[:-1] <= 0))[-1])
        code = min(int(np.searchsorted(likely[1:], share)), len(frequencies) - 1)
        inside = (share - likely[code]) / max(likely[code + 1] - likely[code], 1e-300)
        value = float(starts[code] + np.clip(inside, 0, 1) * (ends[code] - starts[code]))
        at = _located(ranges, value, ranges.least[first], ranges.largest[max(first, last)])
        found.append(Quantile(at.value, at.low, at.high, share))
    return tuple(found)


def _reach(total: float, variance: Floats, beside: Floats | None, total_variance: float) -> tuple[Floats, Floats]:
    """How far the 95 % interval of a ratio reaches down and up, from the variance of numerator − ratio · denominator.

    Without its covariance with the denominator the two errors are taken to agree perfectly.
    """
    if beside is None:
        both: Floats = NORMAL_95 * np.sqrt(variance) / (total - NORMAL_95 * np.sqrt(total_variance))
        return both, both
    square = NORMAL_95**2
    leading = total**2 - square * total_variance
    root = np.sqrt(square**2 * beside**2 + leading * square * variance)
    down, up = (square * beside + root) / leading, (root - square * beside) / leading
    return down, up


def _located(ranges: Ranges, value: float, low: float, high: float) -> Located:
    """A value and its interval, none of them outside what was declared."""
    start, end = ranges.lowest[0], ranges.highest[-1]
    low, high = (float(np.clip(bound, start, end)) for bound in (min(low, high), max(low, high)))
    return Located(float(np.clip(value, low, high)), low, high)


class Found(NamedTuple):
    """Frequencies and variances of every attribute, and the covariance of two of them, or of one, where it is known."""

    frequencies: list[Floats]
    variances: list[Floats]
    covariance: Callable[[int, int], Floats | None]
    bounds: tuple[list[Floats], list[Floats]] | None = None
    """Where the 95 % intervals begin and end, if not at 1.96 standard errors."""
    alone: "Found | None" = None
    """What the reports alone say, if the frequencies are pulled away from it."""


def interval(point: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Where 95 % intervals begin and end, cut to what a frequency can be: never empty, never a certain 0 or 1."""
    reach = NORMAL_95 * errors
    low, high = np.clip(point - reach, 0, 1), np.clip(point + reach, 0, 1)
    below, above = point + reach <= 0, point - reach >= 1
    high = np.where(below, np.minimum(reach, 1), high)
    return np.where(above, np.maximum(1 - reach, 0), low), high


def wilson(tally: Integers, channel: Asked) -> tuple[Floats, Floats]:
    """95 % intervals of an attribute that is answered openly: those of the score test of every label.

    The number of reports with a code of a label's set is binomial with the probability a + b · (its frequency).
    """
    people = int(tally[: channel.outputs].sum())
    if not people:
        return np.zeros(channel.inputs), np.ones(channel.inputs)
    anyway = (channel.meet * channel.same + (channel.inside - channel.meet) * channel.other) / channel.total
    slope = (channel.inside - channel.meet) * (channel.same - channel.other) / channel.total
    seen = channel.support(tally[: channel.outputs].astype(float)) / people
    square = NORMAL_95**2 / people
    middle = (seen + square / 2) / (1 + square)
    reach = np.sqrt(square * seen * (1 - seen) + square**2 / 4) / (1 + square)
    return interval((middle - anyway) / slope, reach / slope / NORMAL_95)


def frequencies_of(attribute: Attribute, own: int, found: Found, *, intervals: bool) -> AttributeEstimate:
    """One attribute's frequencies alone."""
    bounds = None if found.bounds is None else (found.bounds[0][own], found.bounds[1][own])
    errors = np.minimum(np.sqrt(found.variances[own]), 1 / NORMAL_95)  # where nothing is known, anything may be
    return AttributeEstimate.of(attribute.labels, found.frequencies[own], errors, bounds, intervals=intervals)


def attribute_estimate(
    attribute: Attribute, own: int, found: Found, notes: list[str], *, intervals: bool
) -> AttributeEstimate:
    """One attribute of an estimate; mean and quantiles are there where it has intervals."""
    alone = frequencies_of(attribute, own, found, intervals=intervals)
    if not attribute.optional and (attribute.ranges is None or not intervals):
        return alone
    chosen, spread = _chosen(attribute, own, found.alone or found, notes)
    if spread is None:
        return alone
    more: dict[str, Any] = {}
    if attribute.optional:
        said = found.frequencies[own][: attribute.answers]
        more["answered"] = among_answered(attribute.labels[:-1], said, chosen, spread, intervals=intervals)
    if attribute.ranges is not None and intervals:
        more["mean"] = mean(attribute.ranges, chosen, spread)
        more["quantiles"] = quantiles(attribute.ranges, chosen, spread)
    return structs.replace(alone, **more)


def _chosen(attribute: Attribute, own: int, found: Found, notes: list[str]) -> tuple[Floats, Spread | None]:
    """The frequencies of the labels that people chose, and their spread if enough people chose one."""
    answers, errors = attribute.answers, np.sqrt(found.variances[own])
    matrix, chosen = found.covariance(own, own), found.frequencies[own][:answers]
    if np.isinf(errors).any():
        return chosen, None
    skipped = float(errors[-1]) if attribute.optional else 0.0
    spread = Bounded(errors[:answers], skipped) if matrix is None else Exact(matrix[:answers, :answers])
    note = None
    if not can_divide(chosen, spread):
        note = f"Too few people answered '{attribute.name}' to say what those who did answered."
    elif matrix is None:
        note = f"'{attribute.name}' has too many answers for exact errors of what follows from its frequencies; "
        note += "those intervals are upper bounds."
    if note is not None and note not in notes:
        notes.append(note)
    return chosen, spread if can_divide(chosen, spread) else None


MISSED = 0.05
"""How often some interval of an attribute may miss."""


class TopLabels(msgspec.Struct, frozen=True):
    """One attribute's most frequent labels, the most frequent first, and of how many labels they are."""

    labels: tuple[str, ...]
    frequencies: tuple[float, ...]
    standard_errors: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    """Where the intervals begin and end: those of all labels of the attribute hold together with 95 %.

    They come from the unbiased estimate and are not symmetric around another method's frequencies.
    """
    of: int


class TopEstimate(msgspec.Struct, frozen=True):
    """The most frequent labels of every attribute."""

    attributes: dict[str, TopLabels]
    method: Method
    notes: tuple[str, ...]
    provenance: Provenance
    intervals: str = "simultaneous 95 %, over all labels of an attribute"

    def to_csv(self) -> bytes:
        """The labels as CSV: one line for each."""
        bounds = ["low_simultaneous_95", "high_simultaneous_95"]
        rows = (
            (name, *row)
            for name, top in self.attributes.items()
            for row in zip(top.labels, top.frequencies, top.standard_errors, top.low, top.high, strict=True)
        )
        return csv_of(["attribute", "label", "frequency", "standard_error", *bounds], rows)


def top(estimate: Estimate, unbiased: Estimate, most: int) -> TopEstimate:
    """At most so many labels of every attribute of an estimate; intervals come from the unbiased one."""
    if not estimate.has_intervals:
        raise EstimateError("the method 'paper' has a bias that its intervals would not include; use another")
    attributes = {name: _top(own, unbiased.attributes[name], most) for name, own in estimate.attributes.items()}
    return TopEstimate(attributes, estimate.method, estimate.notes, estimate.provenance)


def _top(attribute: AttributeEstimate, unbiased: AttributeEstimate, most: int) -> TopLabels:
    frequencies, errors = np.array(attribute.frequencies), np.array(attribute.standard_errors)
    chosen = np.argsort(-frequencies, kind="stable")[:most]
    middle = np.array(unbiased.frequencies)
    reach = NormalDist().inv_cdf(1 - MISSED / 2 / len(frequencies)) * np.array(unbiased.standard_errors)
    # An interval contains its frequency, and ends at 0 and 1.
    low = np.minimum(frequencies, np.maximum(middle - reach, 0))
    high = np.maximum(frequencies, np.minimum(middle + reach, 1))
    labels = tuple(attribute.labels[code] for code in chosen)
    shown, spreads, start, end = (tuple(values[chosen].tolist()) for values in (frequencies, errors, low, high))
    return TopLabels(labels, shown, spreads, start, end, of=len(frequencies))
