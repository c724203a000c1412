"""One attribute of an estimate: its frequencies, and what follows from them where it may be skipped or has bins.

Intervals, means and quantiles rest on what the reports alone say. The default method pulls every frequency a little
towards the others; over many bins in order these little pulls would add up and move a mean far beyond its interval.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from msgspec import structs

from privtally.collector.estimate.answered import among_answered, can_divide, mean, quantiles
from privtally.collector.estimate.spread import Bounded, Exact, Spread
from privtally.documents.estimate import NORMAL_95, AttributeEstimate
from privtally.exact.arrays import Floats, Integers
from privtally.mechanisms.channel import Asked
from privtally.schema import Attribute


def _unknown(_one: int, _two: int) -> None:
    """No covariance between attributes."""


class Found(NamedTuple):
    """Frequencies and variances of every attribute, and the covariance within one of them where that is known."""

    frequencies: list[Floats]
    variances: list[Floats]
    covariance: Callable[[int], Floats | None]
    between: Callable[[int, int], Floats | None] = _unknown
    """The covariance between two attributes, where that is known."""
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
    if not attribute.optional and (attribute.numbers is None or not intervals):
        return alone
    chosen, spread = _chosen(attribute, own, found.alone or found, notes)
    if spread is None:
        return alone
    more: dict[str, Any] = {}
    if attribute.optional:
        said = found.frequencies[own][: attribute.answers]
        more["answered"] = among_answered(attribute.labels[:-1], said, chosen, spread, intervals=intervals)
    if attribute.numbers is not None and intervals:
        more["mean"] = mean(attribute.numbers, chosen, spread)
        more["quantiles"] = quantiles(attribute.numbers, chosen, spread)
    return structs.replace(alone, **more)


def _chosen(attribute: Attribute, own: int, found: Found, notes: list[str]) -> tuple[Floats, Spread | None]:
    """The frequencies of the labels that people chose, and their spread if enough people chose one."""
    answers, errors = attribute.answers, np.sqrt(found.variances[own])
    matrix, chosen = found.covariance(own), found.frequencies[own][:answers]
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
