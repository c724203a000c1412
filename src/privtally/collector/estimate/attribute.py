"""One attribute of an estimate: its frequencies, and what follows from them where it may be skipped or has bins.

Mean and quantiles rest on unbiased frequencies, whatever the method. `pooled` pulls every frequency a little towards
the others; over many bins in order these little pulls add up, and would move the mean far beyond its interval.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from msgspec import structs

from privtally.collector.estimate.answered import among_answered, can_divide, mean, quantiles
from privtally.collector.estimate.spread import Bounded, Exact, Spread
from privtally.documents.estimate import AttributeEstimate
from privtally.exact.arrays import Floats
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


def frequencies_of(attribute: Attribute, own: int, found: Found, *, intervals: bool) -> AttributeEstimate:
    """One attribute's frequencies alone."""
    errors = np.sqrt(found.variances[own])
    return AttributeEstimate.of(attribute.labels, found.frequencies[own], errors, intervals=intervals)


def attribute_estimate(
    attribute: Attribute, own: int, found: Found, unbiased: Found | None, notes: list[str], *, intervals: bool
) -> AttributeEstimate:
    """One attribute of an estimate; without unbiased frequencies there are no mean and quantiles."""
    alone = frequencies_of(attribute, own, found, intervals=intervals)
    more: dict[str, Any] = {}
    if attribute.optional:
        chosen, spread = _chosen(attribute, own, found, notes)
        if spread is not None:
            more["answered"] = among_answered(attribute.labels[:-1], chosen, spread, intervals=intervals)
    if attribute.numbers is not None and unbiased is not None:
        chosen, spread = _chosen(attribute, own, unbiased, notes)
        if spread is not None:
            more["mean"] = mean(attribute.numbers, chosen, spread)
            more["quantiles"] = quantiles(attribute.numbers, chosen, spread)
    return structs.replace(alone, **more)


def _chosen(attribute: Attribute, own: int, found: Found, notes: list[str]) -> tuple[Floats, Spread | None]:
    """The frequencies of the labels that people chose, and their spread if enough people chose one."""
    answers, errors = attribute.answers, np.sqrt(found.variances[own])
    matrix, chosen = found.covariance(own), found.frequencies[own][:answers]
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
