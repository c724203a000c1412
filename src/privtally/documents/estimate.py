"""Estimate: frequencies with their standard errors, and where they came from."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import inf, isfinite, sqrt
from statistics import fmean
from typing import Any, Literal, get_args

import msgspec
import numpy as np

from privtally.errors import DocumentError, EstimateError, listed, meant
from privtally.exact import canonical
from privtally.exact.types import Floats
from privtally.names import MechanismName, Method
from privtally.schema import label_text

NORMAL_95 = 1.959963984540054
"""The normal distribution has 95 % within this many standard deviations."""

MOST_SHOWN = 20
"""So many labels of an attribute are shown where an estimate prints itself."""

Library = Literal["pandas", "polars", "pyarrow"]
LIBRARIES: tuple[Library, ...] = get_args(Library)
"""The libraries of whose frames an estimate can be."""

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
        if len(self.labels) < 2 or not all(map(canonical.is_printable, self.labels)):
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


@dataclass(frozen=True, repr=False)
class Shares(Mapping[str, float]):
    """The estimated share of every label of one attribute: `shares["yes"]`; a number or a truth value is its text."""

    attribute: str
    found: Frequencies

    def __getitem__(self, label: Any) -> float:
        share = self._by_label(self.found.frequencies).get(label_text(label))
        if share is None:
            raise KeyError(f"question {self.attribute!r} has no answer {label!r}; it has {listed(self.found.labels)}")
        return share

    def __iter__(self) -> Iterator[str]:
        return iter(self.found.labels)

    def __len__(self) -> int:
        return len(self.found.labels)

    @property
    def low(self) -> dict[str, float] | None:
        """Where the 95 % interval of each share begins; None where a bias comes on top of its standard error."""
        return None if self.found.low is msgspec.UNSET else self._by_label(self.found.low)

    @property
    def high(self) -> dict[str, float] | None:
        """Where it ends."""
        return None if self.found.high is msgspec.UNSET else self._by_label(self.found.high)

    @property
    def standard_errors(self) -> dict[str, float]:
        """The standard error of each share."""
        return self._by_label(self.found.standard_errors)

    def _by_label(self, values: Sequence[float]) -> dict[str, float]:
        return dict(zip(self.found.labels, values, strict=True))

    def __repr__(self) -> str:
        return "\n".join([self.attribute, *_lines(self.found)])


def _lines(found: Frequencies) -> Iterator[str]:
    """A line for each of the most frequent labels: its share, and its interval or standard error."""
    shown = sorted(sorted(range(len(found.labels)), key=lambda code: -found.frequencies[code])[:MOST_SHOWN])
    width = max(len(found.labels[code]) for code in shown)
    for code in shown:
        reach = f"± {100 * found.standard_errors[code]:.1f} s.e., without the bias"
        if found.low is not msgspec.UNSET and found.high is not msgspec.UNSET:
            reach = f"95 %: {100 * found.low[code]:.1f} – {100 * found.high[code]:.1f}"
        yield f"  {found.labels[code]:<{width}}  {100 * found.frequencies[code]:5.1f} %  ({reach})"
    if len(shown) < len(found.labels):
        yield f"  and {len(found.labels) - len(shown):,} rarer answers"


class Located(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number with its 95 % interval, in which what bins, or a grid for quantiles, leave open is included."""

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
    """One attribute, and what follows from its frequencies where it may be skipped or is of numbers."""

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
        canonical.check_digest(self.plan, "the plan of a phase", EstimateError)
        canonical.check_digest(self.counts, "the counts of a phase", EstimateError)


class Provenance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an estimate came from."""

    campaign: str
    mechanism: MechanismName
    phases: tuple[PhaseUsed, ...]
    software: str

    def __post_init__(self) -> None:
        canonical.check_digest(self.campaign, "the campaign", EstimateError)
        if not self.phases or not canonical.is_printable(self.software):
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
        if not self.attributes or not all(map(canonical.is_printable, [*self.attributes, *self.notes])):
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

    def __getitem__(self, name: str) -> Shares:
        """The share of every label of an attribute."""
        if name not in self.attributes:
            listed = f"the questions are {', '.join(self.attributes)}"
            raise KeyError(f"there is no question {name!r}; {meant(str(name), list(self.attributes), listed)}")
        return Shares(name, self.attributes[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.attributes)

    def __repr__(self) -> str:
        shown = [f"{self[name]!r}" for name in list(self.attributes)[:MOST_SHOWN]]
        rest = len(self.attributes) - len(shown)
        more = [f"and {rest:,} more questions"] if rest else []
        return "\n".join([headline(self.provenance, self.method), *shown, *more, *self.notes])

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

    def to_dict(self) -> dict[str, dict[str, float]]:
        """The share of every label, by attribute and label."""
        return {name: dict(self[name]) for name in self.attributes}

    def to_frame(self, library: Library | None = None) -> Any:
        """The estimate's table as a frame: a row for each label, with attribute, label, frequency, standard_error,
        low_95, high_95 and among; of pandas, Polars or PyArrow, whichever is there, unless one is named.
        """
        return frame_of(*self.table(), library)

    def to_pandas(self) -> Any:
        """The same in pandas."""
        return self.to_frame("pandas")

    def to_polars(self) -> Any:
        """The same in Polars."""
        return self.to_frame("polars")

    def to_arrow(self) -> Any:
        """The same in PyArrow."""
        return self.to_frame("pyarrow")


def headline(provenance: Provenance, method: Method) -> str:
    """What an estimate is and where it came from, in one line."""
    reports = sum(phase.reports for phase in provenance.phases)
    how = f"{provenance.mechanism}, ε = {provenance.phases[0].epsilon:g}, method {method}"
    return f"Totals estimated from {reports:,} private reports ({how})"


def installed_library() -> Library:
    """The first library of frames that is installed; the first of all if none is."""
    found: list[Library] = [own for own in LIBRARIES if find_spec(own) is not None]
    return found[0] if found else LIBRARIES[0]


def frame_of(names: Sequence[str], rows: Sequence[Sequence[Any]], library: Library | None = None) -> Any:
    """A table as a frame; what is missing is null. Refused if the library is not installed."""
    import narwhals as nw

    chosen = library or installed_library()
    if find_spec(chosen) is None:
        raise DocumentError(f"a frame of {chosen} needs that library; install it with: pip install {chosen}")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    kinds = {name: _kind([value for value in column if value is not None]) for name, column in columns.items()}
    return nw.from_dict(columns, kinds, backend=chosen).to_native()


def _kind(values: Sequence[Any]) -> Any:
    import narwhals as nw

    kinds = set(map(type, values))
    return nw.String if kinds == {str} else nw.Int64 if kinds == {int} else nw.Float64


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
    return canonical.decode(data, Estimate, EstimateError, "the estimate")
