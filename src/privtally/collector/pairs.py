"""Two attributes together: which answers go with which, from the reports that carry both answers.

A report with one pivot holds one answer and what was drawn from it: its law depends on the frequencies of each
attribute alone. Reports of SPL (Phase I, or a campaign of SPL) carry every pair, those of SMP with several pivots or
groups the pairs that they answer, and those with several hidden pivots all pairs of a group, behind fills. With several
rounds the tables are those of the last one.
"""

from collections.abc import Iterator
from itertools import combinations

import msgspec
import numpy as np

from privtally.collector.consistent import consistent_table
from privtally.collector.estimate import History, in_order, one_way, refusing_numerical_failure
from privtally.collector.estimate.attribute import Found
from privtally.collector.estimate.history import in_rounds
from privtally.collector.joint import fitted
from privtally.documents.estimate import csv_of
from privtally.errors import EstimateError
from privtally.exact.arrays import Floats
from privtally.names import Method

Table = tuple[tuple[float, ...], ...]

_WHO_DOES = (
    "only those that answer both do, as to an spl plan, in Phase I of rs-rfd, corr-rr and cond-rr, and with "
    "several pivots, and only while pairwise tables fit the schema and no question has very many labels"
)


class PairEstimate(msgspec.Struct, frozen=True):
    """A two-way table: how frequent each two labels of two attributes are together, and the standard errors of that.

    Rows and columns add up to the frequencies of each attribute alone by the same method. With `likelihood` no entry is
    negative; the standard errors are those before negative entries are removed.
    """

    attributes: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    frequencies: Table
    standard_errors: Table
    reports: int
    noisy: bool = False
    """Whether the standard errors are as large as the entries, on average (root mean square against mean)."""
    method: Method = "likelihood"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.frequencies).all() and np.isfinite(self.standard_errors).all()):
            raise EstimateError("frequencies and standard errors must be finite; collect more reports")

    def to_csv(self) -> bytes:
        """The table as CSV: one line for each two labels."""
        return csv_of([*self.attributes, "frequency", "standard_error"], self.cells())

    def cells(self) -> Iterator[tuple[str, str, float, float]]:
        """Every two labels with their frequency and its standard error."""
        for one, row, errors in zip(self.labels[0], self.frequencies, self.standard_errors, strict=True):
            for two, frequency, error in zip(self.labels[1], row, errors, strict=True):
                yield one, two, frequency, error


class PairEstimates(msgspec.Struct, frozen=True):
    """The two-way tables of all pairs of attributes that the reports carry, and the pairs that they do not."""

    tables: tuple[PairEstimate, ...]
    missing: tuple[tuple[str, str], ...]

    def to_csv(self) -> bytes:
        """All tables as CSV: one line for each two labels of each two attributes."""
        columns = ["first", "second", "first_label", "second_label", "frequency", "standard_error"]
        return csv_of(columns, ((*table.attributes, *cell) for table in self.tables for cell in table.cells()))


@refusing_numerical_failure(EstimateError)
def estimate_pair(history: History, first: str, second: str, method: Method = "likelihood") -> PairEstimate:
    """The two-way table of two attributes, from all phases whose reports carry both."""
    _check(method)
    history = in_rounds(in_order(history))[-1]
    schema = history[0][0].schema
    for name in (first, second):
        if name not in schema.names:
            raise EstimateError(f"there is no question '{name}'; the plan has {', '.join(schema.names)}")
    if first == second:
        raise EstimateError(f"a pair needs two questions, got '{first}' twice; name another one")
    alone = one_way(history, method)
    found = _table(history, schema.names.index(first), schema.names.index(second), alone, method)
    if found is None:
        raise EstimateError(f"these reports say nothing about '{first}' and '{second}' together; {_WHO_DOES}")
    return found


@refusing_numerical_failure(EstimateError)
def estimate_pairs(history: History, method: Method = "likelihood") -> PairEstimates:
    """The two-way tables of all pairs of attributes that some phase's reports carry."""
    _check(method)
    history = in_rounds(in_order(history))[-1]
    names = history[0][0].schema.names
    alone = one_way(history, method)
    found = {pair: _table(history, *pair, alone, method) for pair in combinations(range(len(names)), 2)}
    tables = tuple(table for table in found.values() if table is not None)
    if not tables:
        raise EstimateError(f"these reports say nothing about any two questions together; {_WHO_DOES}")
    missing = tuple((names[one], names[two]) for (one, two), table in found.items() if table is None)
    return PairEstimates(tables, missing)


def _check(method: Method) -> None:
    if method not in ("unbiased", "likelihood"):
        raise EstimateError("two-way tables need the method likelihood or unbiased; choose one of them")


def _table(history: History, one: int, two: int, alone: Found, method: Method) -> PairEstimate | None:
    """The two-way table of two attributes by their places; None if no report carries it."""
    attributes = history[0][0].schema.attributes
    found = consistent_table(history, one, two, alone)
    if found is None:
        return None
    frequencies = found.frequencies
    if method == "likelihood":
        frequencies = fitted(frequencies, alone.frequencies[one], alone.frequencies[two])
    return PairEstimate(
        attributes=(attributes[one].name, attributes[two].name),
        labels=(attributes[one].labels, attributes[two].labels),
        frequencies=_rows(frequencies),
        standard_errors=_rows(found.variances**0.5),
        reports=found.reports,
        noisy=bool(np.sqrt(found.variances.mean()) >= 1 / frequencies.size),
        method=method,
    )


def _rows(table: Floats) -> Table:
    return tuple(map(tuple, table.tolist()))
