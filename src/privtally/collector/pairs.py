"""Two attributes together: which answers go with which, from the reports that carry both answers.

A report with one pivot holds one answer and what was drawn from it: its law depends on the frequencies of each
attribute alone. Reports of SPL (Phase I, or a campaign of SPL) carry every pair.
"""

import csv
import io

import msgspec

from privtally.collector.estimate import History, in_order
from privtally.collector.joint import joint_table
from privtally.collector.simplex import project_to_simplex
from privtally.errors import EstimateError
from privtally.exact.arrays import Floats

Table = tuple[tuple[float, ...], ...]


class PairEstimate(msgspec.Struct, frozen=True):
    """A two-way table: how frequent each two labels of two attributes are together, and the standard errors of that.

    The frequencies are the nearest proper table to an unbiased one; the standard errors are the unbiased one's.
    """

    attributes: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    frequencies: Table
    standard_errors: Table
    reports: int

    def to_csv(self) -> bytes:
        """The table as CSV: one line for each two labels."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*self.attributes, "frequency", "standard_error"])
        for one, row, errors in zip(self.labels[0], self.frequencies, self.standard_errors, strict=True):
            for two, frequency, error in zip(self.labels[1], row, errors, strict=True):
                writer.writerow([one, two, frequency, error])
        return text.getvalue().encode()


def estimate_pair(history: History, first: str, second: str) -> PairEstimate:
    """The two-way table of two attributes, from all phases whose reports carry both."""
    history = in_order(history)
    schema = history[0][0].schema
    for name in (first, second):
        if name not in schema.names:
            raise EstimateError(f"there is no attribute '{name}'; the plan has {', '.join(schema.names)}")
    if first == second:
        raise EstimateError(f"a pair needs two attributes, got '{first}' twice")
    one, two = schema.names.index(first), schema.names.index(second)
    found = joint_table(history, one, two)
    if found is None:
        raise EstimateError(
            f"these reports say nothing about '{first}' and '{second}' together; only those that answer both do, "
            "as in Phase I of rs-rfd, corr-rr and cond-rr, and only while pairwise tables fit the schema"
        )
    nearest = project_to_simplex(found.frequencies.ravel()).reshape(found.frequencies.shape)
    return PairEstimate(
        attributes=(first, second),
        labels=(schema.attributes[one].labels, schema.attributes[two].labels),
        frequencies=_rows(nearest),
        standard_errors=_rows(found.variances**0.5),
        reports=found.reports,
    )


def _rows(table: Floats) -> Table:
    return tuple(map(tuple, table.tolist()))
