"""The most frequent labels of every attribute, with intervals that hold although they were chosen by what was seen.

The 95 % intervals of an attribute are simultaneous over all of its labels (Bonferroni: each label's has the level
1 − 0.05/k): with 95 % probability none of the k intervals misses, so that none of the chosen ones does either, however
they were chosen. They are those of the unbiased estimate, whatever method gives the frequencies: what a prior pulls
towards the others is not normal around where it is pulled.
"""

from statistics import NormalDist

import msgspec
import numpy as np

from privtally.documents.estimate import AttributeEstimate, Estimate, Provenance, csv_of
from privtally.errors import EstimateError
from privtally.names import Method

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
    return TopLabels(
        labels=tuple(attribute.labels[code] for code in chosen),
        frequencies=tuple(frequencies[chosen].tolist()),
        standard_errors=tuple(errors[chosen].tolist()),
        low=tuple(low[chosen].tolist()),
        high=tuple(high[chosen].tolist()),
        of=len(frequencies),
    )
