"""Two attributes together: which answers go with which, from the reports that say so.

Only SPL randomises every answer of a report by itself, so only SPL reports (those of Phase I, or of a campaign of SPL)
say anything about two attributes together. A pivot report holds one answer and what was drawn from it: its law depends
on the frequencies of each attribute alone.
"""

import csv
import io
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from privtally.collector.joint import debias_pair, undo
from privtally.collector.simplex import project_to_simplex
from privtally.documents.counts import Counts, check_counts
from privtally.documents.plan import Plan
from privtally.errors import EstimateError
from privtally.mechanisms import Split

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


def estimate_pair(phases: Sequence[tuple[Plan, Counts]], first: str, second: str) -> PairEstimate:
    """The two-way table of two attributes, from whichever phase's reports carry it."""
    for plan, counts in phases:
        check_counts(plan, counts)
    carrying = [(plan, counts) for plan, counts in phases if isinstance(plan.sampler, Split)]
    if not carrying:
        raise EstimateError(
            "these reports say nothing about two attributes together; only those to an spl plan do, "
            "as in Phase I of rs-rfd, corr-rr and cond-rr"
        )
    plan, counts = carrying[0]
    names = plan.schema.names
    for name in (first, second):
        if name not in names:
            raise EstimateError(f"there is no attribute '{name}'; the plan has {', '.join(names)}")
    if first == second:
        raise EstimateError(f"a pair needs two attributes, got '{first}' twice")
    if not counts.reports:
        raise EstimateError(f"phase {plan.phase} has no reports")
    one, two = names.index(first), names.index(second)
    table = counts.pair_tables.get((min(one, two), max(one, two)))
    if table is None:
        raise EstimateError("these counts keep no pairwise tables: the schema has too many labels")
    reported = (table if one < two else table.T) / counts.reports
    channels = plan.sampler.channels[one], plan.sampler.channels[two]
    raw = debias_pair(reported, *channels)
    # One imaginary report, spread evenly, keeps every variance above zero.
    smooth = (reported * counts.reports + 1 / reported.size) / (counts.reports + 1)
    back = [undo(np.eye(channel.size), channel) for channel in channels]
    mean = back[0] @ smooth @ back[1].T
    variance = (back[0] ** 2 @ smooth @ (back[1] ** 2).T - mean**2) / counts.reports
    attributes = plan.schema.attributes
    return PairEstimate(
        attributes=(first, second),
        labels=(attributes[one].labels, attributes[two].labels),
        frequencies=_rows(project_to_simplex(raw.ravel()).reshape(raw.shape)),
        standard_errors=_rows(np.sqrt(variance)),
        reports=counts.reports,
    )


def _rows(table: NDArray[np.float64]) -> Table:
    return tuple(map(tuple, table.tolist()))
