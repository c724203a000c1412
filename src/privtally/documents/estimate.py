"""Estimate: frequencies with their standard errors, and where they came from."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from math import inf, isfinite, sqrt
from statistics import fmean
from typing import Any

import msgspec
import numpy as np

from privtally.errors import EstimateError
from privtally.exact import wire
from privtally.exact.arrays import Floats
from privtally.names import MechanismName, Method

NORMAL_95 = 1.959963984540054
"""The normal distribution has 95 % within this many standard deviations."""

_FORMULA = re.compile(r"(?![+-]?[0-9]+([.][0-9]+)?\Z)'*[=+\-@\t\r]")
"""How a text begins that a spreadsheet would compute, and how such a text begins once it is marked; no number does."""


class Frequencies(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For each label its frequency and the standard error of that."""

    labels: tuple[str, ...]
    frequencies: tuple[float, ...]
    standard_errors: tuple[float, ...]
    low: tuple[float, ...] | msgspec.UnsetType = msgspec.UNSET
    high: tuple[float, ...] | msgspec.UnsetType = msgspec.UNSET
    """Where the 95 % interval of each frequency begins and ends; missing where a bias comes on top."""

    def __post_init__(self) -> None:
        if not len(self.labels) == len(self.frequencies) == len(self.standard_errors):
            raise EstimateError("labels, frequencies and standard errors must have the same length")
        if len(self.labels) < 2 or not all(map(wire.is_printable, self.labels)):
            raise EstimateError("an attribute needs at least two labels of printable text")
        if not all(map(isfinite, (*self.frequencies, *self.standard_errors))):
            raise EstimateError("frequencies and standard errors must be finite; collect more reports")
        if not abs(sum(self.frequencies) - 1) < 1e-6 or not min(self.standard_errors) >= 0:
            raise EstimateError("frequencies must sum to 1 and standard errors must not be negative")
        if self.low is msgspec.UNSET and self.high is msgspec.UNSET:
            return
        low, high = self.low or (), self.high or ()
        if not len(low) == len(high) == len(self.labels):
            raise EstimateError("an interval must have a beginning and an end for each label")
        if not all(start <= own <= end for start, own, end in zip(low, self.frequencies, high, strict=True)):
            raise EstimateError("an interval must contain its frequency")

    @property
    def half_widths(self) -> tuple[float, ...]:
        """Half the width of each 95 % interval, as its standard error says where there is none."""
        if self.low is msgspec.UNSET or self.high is msgspec.UNSET:
            return tuple(NORMAL_95 * error for error in self.standard_errors)
        return tuple((end - start) / 2 for start, end in zip(self.low, self.high, strict=True))


class Located(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number with its 95 % interval, in which what binning leaves open is included."""

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not -inf < self.low <= self.value <= self.high < inf:
            raise EstimateError("an interval must be finite and contain its value")


class Quantile(Located, frozen=True, forbid_unknown_fields=True):
    """The number below which a share of the people lies."""

    share: float


class AttributeEstimate(Frequencies, frozen=True, forbid_unknown_fields=True):
    """One attribute, and what follows from its frequencies where it may be skipped or has bins."""

    answered: Frequencies | msgspec.UnsetType = msgspec.UNSET
    """The frequencies among those who answered."""
    mean: Located | msgspec.UnsetType = msgspec.UNSET
    quantiles: tuple[Quantile, ...] | msgspec.UnsetType = msgspec.UNSET
    """Mean and quantiles of the numbers, among those who answered."""

    @classmethod
    def of(
        cls,
        labels: tuple[str, ...],
        frequencies: Floats,
        standard_errors: Floats,
        bounds: tuple[Floats, Floats] | None = None,
        *,
        intervals: bool,
    ) -> "AttributeEstimate":
        """From arrays, with 95 % intervals where the standard errors say all.

        Without `bounds` an interval reaches 1.96 standard errors to each side of its frequency. What lies outside 0 to
        1 is cut off, but never the frequency itself, which an unbiased method may put there.
        """
        parts = (labels, tuple(frequencies.tolist()), tuple(standard_errors.tolist()))
        if not intervals:
            return cls(*parts)
        reach = NORMAL_95 * standard_errors
        low = np.minimum(frequencies, np.maximum(frequencies - reach, 0))
        high = np.maximum(frequencies, np.minimum(frequencies + reach, 1))
        if bounds is not None:
            low, high = bounds
        return cls(*parts, tuple(low.tolist()), tuple(high.tolist()))


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether an attribute's frequencies changed between rounds."""

    p_value: float
    """How often counts would differ as much without a change, corrected for the number of attributes."""
    visible: float
    """The change of one frequency in the last round that the test sees with probability 0.8."""

    def __post_init__(self) -> None:
        if not 0 <= self.p_value <= 1 or not 0 < self.visible < inf:
            raise EstimateError("a p-value must be from 0 to 1, and a visible change finite and above 0")


class RoundEstimate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The frequencies of one round, and the phases that it is made of."""

    round: int
    phases: tuple[int, ...]
    attributes: dict[str, AttributeEstimate]

    def __post_init__(self) -> None:
        if self.round < 1 or not self.phases or min(self.phases) < 1:
            raise EstimateError("a round must be at least 1 and have phases")


class PhaseUsed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one phase put into an estimate."""

    phase: int
    epsilon: float
    reports: int
    plan: str
    counts: str

    def __post_init__(self) -> None:
        if self.phase < 1 or self.reports < 1:
            raise EstimateError("a phase and its number of reports must be at least 1")
        wire.check_digest(self.plan, "the plan of a phase", EstimateError)
        wire.check_digest(self.counts, "the counts of a phase", EstimateError)


class Provenance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an estimate came from."""

    campaign: str
    mechanism: MechanismName
    phases: tuple[PhaseUsed, ...]
    software: str

    def __post_init__(self) -> None:
        wire.check_digest(self.campaign, "the campaign", EstimateError)
        if not self.phases or not wire.is_printable(self.software):
            raise EstimateError("an estimate must name its phases, and its software in printable text")


class Estimate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag="privtally.estimate/1"):
    """Frequencies of every attribute.

    The standard errors measure the spread of what the reports to these plans say. `biased` says whether the frequencies
    are off on average: pulled towards each other by the method likelihood, whose intervals allow for that, or offset by
    the method paper, which has none in a learned phase.
    """

    attributes: dict[str, AttributeEstimate]
    method: Method
    biased: bool
    notes: tuple[str, ...]
    provenance: Provenance
    changes: dict[str, Change] | msgspec.UnsetType = msgspec.UNSET
    """Whether each attribute changed, where the campaign has several rounds and that can be tested."""
    rounds: tuple[RoundEstimate, ...] | msgspec.UnsetType = msgspec.UNSET
    """Every round's frequencies, the last round's being those of the estimate."""

    def __post_init__(self) -> None:
        if not self.attributes or not all(map(wire.is_printable, [*self.attributes, *self.notes])):
            raise EstimateError("an estimate needs attributes, and names and notes of printable text")
        if self.changes is not msgspec.UNSET and not set(self.changes) <= set(self.attributes):
            raise EstimateError("changes must be of the estimate's attributes")
        if self.rounds is not msgspec.UNSET:
            self._check_rounds(self.rounds)

    def _check_rounds(self, rounds: tuple[RoundEstimate, ...]) -> None:
        numbers = [own.round for own in rounds]
        if not numbers or numbers != sorted(set(numbers)):
            raise EstimateError("rounds must be in order, each there once")
        labels = {name: own.labels for name, own in self.attributes.items()}
        if any({name: found.labels for name, found in own.attributes.items()} != labels for own in rounds):
            raise EstimateError("every round must have the attributes and labels of the estimate")

    @property
    def has_intervals(self) -> bool:
        """Whether frequencies have intervals: without them an offset comes on top of the standard errors."""
        return all(own.low is not msgspec.UNSET for own in self.attributes.values())

    @property
    def half_width(self) -> float:
        """Half the width of a 95 % interval, as the root mean square over all labels of all attributes."""
        return sqrt(fmean(reach**2 for own in self.attributes.values() for reach in own.half_widths))

    def body(self) -> dict[str, Any]:
        """The estimate as plain values."""
        body: dict[str, Any] = msgspec.to_builtins(self)
        return body

    def dump(self) -> bytes:
        """The estimate as a document, laid out for reading."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"

    def table(self) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The columns and rows of a table: one row for each label, and one more for each among those who answered; or
        one for each label in each round. An interval that is missing is None.
        """
        columns = ["attribute", "label", "frequency", "standard_error", "low_95", "high_95"]
        if self.rounds is not msgspec.UNSET:
            found = ((own.round, name, each) for own in self.rounds for name, each in own.attributes.items())
            return ["round", *columns], [(number, name, *row) for number, name, each in found for row in _rows(each)]
        rows: list[tuple[Any, ...]] = []
        for name, attribute in self.attributes.items():
            rows += [(name, *row, "everybody") for row in _rows(attribute)]
            if attribute.answered is not msgspec.UNSET:
                rows += [(name, *row, "answered") for row in _rows(attribute.answered)]
        return [*columns, "among"], rows

    def to_csv(self) -> bytes:
        """The estimate's table as CSV."""
        return csv_of(*self.table())


def _rows(found: Frequencies) -> Iterator[tuple[Any, ...]]:
    nothing = (None,) * len(found.labels)
    bounds = (nothing if bound is msgspec.UNSET else bound for bound in (found.low, found.high))
    return zip(found.labels, found.frequencies, found.standard_errors, *bounds, strict=True)


def csv_of(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> bytes:
    """A table as CSV. A text that a spreadsheet would compute as a formula has an apostrophe in front."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in (columns, *rows):
        writer.writerow(f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell for cell in row)
    return text.getvalue().encode()


def load_estimate(data: bytes | str) -> Estimate:
    """An estimate from its document."""
    return wire.decode(data, Estimate, EstimateError, "the estimate")
