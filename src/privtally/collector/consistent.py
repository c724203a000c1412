"""Two-way tables that agree with the frequencies of every attribute by itself, and so with each other.

A table of reported pairs says something of both attributes alone too, and not quite what all reports together say. Of
all tables with the wanted margins m the nearest to the reported table T is taken, where nearness is measured by the
covariance S of T (generalised least squares):

    T + K (m − A T),   K = S Aᵀ (A S Aᵀ)⁺,   A the margins of a table

It is linear in T and m, so it is unbiased where these are. (I − K A) T does not vary with A T. The one-way frequencies
m vary with T through A T alone: reports that carry the pair enter m by their margins, and other reports say nothing
about the pair. So the covariance of the result is (I − K A) S + K C Kᵀ, where C is that of m.

Tables with many cells have no matrix of covariances: there K is that of equal variances without correlations, which
adds to every row and column the same in each of its cells, and the standard errors are upper bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privtally.collector.estimate import Phase
from privtally.collector.estimate.attribute import Found
from privtally.collector.estimate.several import readable, terms_of
from privtally.collector.joint import JointTable, Reported, reported, weighted
from privtally.exact.arrays import Floats

MOST_CELLS = 1_024
"""Tables with more cells have no matrix of covariances."""


@dataclass(frozen=True)
class Carried:
    """An unbiased two-way table with the covariance of its cells, row after row, and how many reports carried it."""

    frequencies: Floats
    covariance: Floats
    reports: int


def consistent_table(history: Sequence[Phase], one: int, two: int, alone: Found) -> JointTable | None:
    """The two-way table of two attributes whose margins are their frequencies alone; None if no report carries it."""
    margins = (alone.frequencies[one], alone.frequencies[two])
    if margins[0].size * margins[1].size > MOST_CELLS:
        return _many_cells(history, one, two, alone)
    found = [table for phase in history if (table := carried(phase, one, two)) is not None]
    if not found:
        return None
    table = combined(found)
    margin = margin_matrix(*map(len, margins))
    spread = table.covariance @ margin.T
    gain = spread @ np.linalg.pinv(margin @ spread, rcond=1e-9, hermitian=True)
    frequencies = table.frequencies.ravel()
    frequencies = frequencies + gain @ (np.concatenate(margins) - margin @ frequencies)
    within = np.maximum((table.covariance - gain @ spread.T).diagonal(), 0)
    shape = table.frequencies.shape
    variances = _with_margins(within, gain, alone, one, two).reshape(shape)
    return JointTable(frequencies.reshape(shape), variances, table.reports)


def carried(phase: Phase, one: int, two: int) -> Carried | None:
    """What the reports of one phase say about two attributes together, if they carry both answers."""
    found = reported(phase, one, two)
    if found is None:
        return _behind_fills(phase, one, two)
    back = np.kron(*found.back)
    mean = back @ found.smooth.ravel()
    covariance = ((back * found.smooth.ravel()) @ back.T - np.outer(mean, mean)) / found.reports
    return Carried(found.undone().frequencies, covariance, found.reports)


def _behind_fills(phase: Phase, one: int, two: int) -> Carried | None:
    """The same where fills hide the several pivots of the part that both belong to."""
    plan, counts = phase
    mechanism = plan.sampler
    (number, first), (other, second) = mechanism.places[one], mechanism.places[two]
    part = mechanism.parts[number]
    subs = counts.parts.get(part.attributes)
    if number != other or part.pivots == 1 or not part.decoys or subs is None:
        return None
    if not readable(part.sizes, part.pivots):
        return None
    terms, places = terms_of(part, subs), (first, second)
    if not terms.identified.all():  # what is not determined would look certain
        return None
    return Carried(terms.frequencies(places), terms.between(places, places), terms.reports)


def combined(tables: Sequence[Carried]) -> Carried:
    """The tables of several phases, weighted by the inverse of their covariances."""
    if len(tables) == 1:
        return tables[0]
    cells = tables[0].frequencies.size
    inside = np.linalg.qr(np.column_stack([np.ones(cells), np.eye(cells)[:, 1:]]))[0][:, 1:]
    precisions = [np.linalg.inv(inside.T @ table.covariance @ inside) for table in tables]
    whole = np.linalg.inv(sum(precisions, np.zeros(())))
    weighted = (p @ inside.T @ table.frequencies.ravel() for p, table in zip(precisions, tables, strict=True))
    mean = 1 / cells + inside @ whole @ sum(weighted, np.zeros(()))
    reports = sum(table.reports for table in tables)
    return Carried(mean.reshape(tables[0].frequencies.shape), inside @ whole @ inside.T, reports)


def margin_matrix(rows: int, columns: int) -> Floats:
    """The matrix from the cells of a table, row after row, to its two margins laid end to end."""
    first = np.kron(np.eye(rows), np.ones(columns))
    second = np.kron(np.ones(rows), np.eye(columns))
    return np.vstack([first, second])


def _with_margins(within: Floats, gain: Floats, alone: Found, one: int, two: int) -> Floats:
    """The variance of every cell: that within the margins, and that of the margins.

    Where the covariance of the margins is not known, it is the largest that their standard errors allow.
    """
    matrices = alone.covariance(one), alone.covariance(two), alone.between(one, two)
    if any(matrix is None for matrix in matrices):
        errors = np.sqrt(np.concatenate([alone.variances[one], alone.variances[two]]))
        bound: Floats = within + (np.abs(gain) @ errors) ** 2
        return bound
    own, other, both = (np.asarray(matrix) for matrix in matrices)
    covariance = np.block([[own, both], [both.T, other]])
    variances: Floats = within + np.einsum("ci,ij,cj->c", gain, covariance, gain, optimize=True)
    return variances


def _many_cells(history: Sequence[Phase], one: int, two: int, alone: Found) -> JointTable | None:
    """The same for a table too large for a matrix of covariances, with an upper bound on every variance."""
    inside = interior_table(history, one, two)
    if inside is None:
        return None
    rows, columns = inside.frequencies.shape
    margins = alone.frequencies[one][:, None] / columns + alone.frequencies[two] / rows - 1 / rows / columns
    errors = np.sqrt(alone.variances[one])[:, None] / columns + np.sqrt(alone.variances[two]) / rows
    return JointTable(inside.frequencies + margins, (np.sqrt(inside.variances) + errors) ** 2, inside.reports)


def interior_table(history: Sequence[Phase], one: int, two: int) -> JointTable | None:
    """What is left of a two-way table if the same is taken from all cells of a row, and of a column, so that its
    margins are 0; None if no report carries it.
    """
    found = [table for phase in history if (table := reported(phase, one, two)) is not None]
    if not found:
        return None
    inside = (Reported(table.counts, (_centred(table.back[0]), _centred(table.back[1]))) for table in found)
    return weighted([each.undone() for each in inside])


def _centred(back: Floats) -> Floats:
    centred: Floats = back - back.mean(axis=0)
    return centred
