"""Two attributes together: which answers go with which, from the reports that carry both answers.

A report with one pivot holds one answer and what was drawn from it: its law depends on the frequencies of each
attribute alone. Reports of SPL (Phase I, or a campaign of SPL) carry every pair, those of SMP with several pivots or
groups the pairs that they answer, and those with several hidden pivots all pairs of a group, behind fills. With several
rounds the tables are those of the last one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import msgspec
import numpy as np

from privtally.collector.estimate import one_way, refusing_numerical_failure
from privtally.collector.inverse import project_to_simplex, readable, terms_of, zero_sum_basis
from privtally.collector.rounds import in_order, in_rounds
from privtally.collector.summaries import Found
from privtally.collector.together import JointTable, answers_of
from privtally.documents.campaign import History, Phase
from privtally.documents.estimate import MOST_SHOWN, NORMAL_95, Library, csv_of, frame_of
from privtally.documents.plan import Plan
from privtally.errors import EstimateError
from privtally.exact.types import Floats, Integers
from privtally.mechanisms.channels import Asked
from privtally.mechanisms.fills import Places
from privtally.names import Method
from privtally.schema import label_text

MOST_CELLS = 1 << 26
"""With more labels times codes in an attribute, its channel is not undone: the matrix has 8 bytes a cell."""
_TRACE_OF_INDEPENDENCE = 1e-6
MOST_ROUNDS, CLOSE_ENOUGH = 500, 1e-10
"""Tables are fitted to margins in so many rounds at most, or until no margin is off by as much."""


def carries(plan: Plan, one: int, two: int) -> bool:
    """Whether reports to a plan can carry the answers to both attributes."""
    mechanism = plan.mechanism
    parts = [mechanism.parts[mechanism.places[own][0]] for own in (one, two)]
    if any(part.decoys for part in parts):
        return False
    return parts[0] is not parts[1] or parts[0].pivots > 1


@dataclass(frozen=True)
class Reported:
    """How often each two codes were reported together, and the matrices that undo both channels."""

    counts: Integers
    back: tuple[Floats, Floats]

    @property
    def reports(self) -> int:
        """How many reports carry both answers."""
        return int(self.counts.sum())

    @property
    def smooth(self) -> Floats:
        """The reported frequencies with an imaginary report in every cell, but no more in all than real ones: a cell
        that nobody happened to report is not known to be empty.
        """
        imaginary = min(self.counts.size, self.reports)
        smoothed: Floats = (self.counts + imaginary / self.counts.size) / (self.reports + imaginary)
        return smoothed

    def undone(self) -> JointTable:
        """Both channels undone: unbiased, and possibly negative."""
        smooth, (first, second) = self.smooth, self.back
        variances = (first**2 @ smooth @ (second**2).T - (first @ smooth @ second.T) ** 2) / self.reports
        return JointTable(first @ (self.counts / self.reports) @ second.T, variances, self.reports)


def reported(phase: Phase, one: int, two: int) -> Reported | None:
    """The reported pairs of two attributes; None if a phase carries none, or an attribute has too many labels."""
    plan, counts = phase
    if one > two:
        turned = reported(phase, two, one)
        return turned and Reported(turned.counts.T, (turned.back[1], turned.back[0]))
    table = counts.pair_tables.get((one, two))
    if table is None or not carries(plan, one, two):
        return None
    mechanism = plan.mechanism
    channels = [mechanism.parts[part].asked[place] for part, place in (mechanism.places[one], mechanism.places[two])]
    if any(channel.inputs * channel.outputs > MOST_CELLS for channel in channels):
        return None
    table = table[: channels[0].outputs, : channels[1].outputs]
    return Reported(table, (_undoing(channels[0]), _undoing(channels[1]))) if table.any() else None


def _undoing(channel: Asked) -> Floats:
    """The matrix that takes the frequencies of an attribute's private codes, which sum to 1, to true ones."""
    # A report adds 1/λ to each frequency whose set its code belongs to; uniform reports come from uniform answers.
    scale = (channel.inside - channel.meet) * (channel.same - channel.other) / channel.total
    uniform = np.full(channel.inputs, 1 / channel.inputs)
    matrix: Floats = channel.members() / scale
    matrix += (uniform - channel.support(channel.push(uniform)) / scale)[:, None]
    return matrix


def dependence(inside: JointTable, first: Floats, second: Floats) -> Floats:
    """What a table with these margins has beyond the product of them, from what is inside its margins."""
    return inside.frequencies - np.outer(first - 1 / len(first), second - 1 / len(second))


def shrunk(inside: JointTable, first: Floats, second: Floats) -> Floats:
    """A table with these margins, its noisy dependence shrunk towards none.

    If the true dependence has entries with the variance τ², and those of the noisy one have the variance σ² more, its
    best linear estimate is τ²/(τ² + σ²) times the noisy one. By moments τ² + σ² is the noisy one's mean square, and σ²
    the mean of the variances inside the margins.
    """
    noisy = dependence(inside, first, second)
    square = float(np.sum(noisy**2))
    kept = max(1 - float(inside.variances.sum()) / square, 0.0) if square else 0.0
    table: Floats = np.outer(first, second) + kept * noisy
    return table


def fitted(table: Floats, first: Floats, second: Floats) -> Floats:
    """The nearest proper table, fitted to the given marginals by iterative proportional fitting.

    A trace of the independent table keeps a zero from blocking the fit.
    """
    joint = project_to_simplex(table.ravel()).reshape(table.shape)
    joint = (1 - _TRACE_OF_INDEPENDENCE) * joint + _TRACE_OF_INDEPENDENCE * np.outer(first, second)
    return proportional(joint, {(0,): first, (1,): second}, CLOSE_ENOUGH)


def proportional(table: Floats, margins: Mapping[Places, Floats], close: float) -> Floats:
    """Iterative proportional fitting: a table with these margins, by their axes, and no more structure than it had.

    It ends once no margin is off by as much as `close`, or after MOST_ROUNDS rounds.
    """
    rests = {axes: tuple(axis for axis in range(table.ndim) if axis not in axes) for axes in margins}
    for _ in range(MOST_ROUNDS):
        for axes, wanted in margins.items():
            found = table.sum(axis=rests[axes])
            ratio = np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)
            table = table * np.expand_dims(ratio, rests[axes])
        if all(np.abs(table.sum(axis=rests[axes]) - wanted).max() < close for axes, wanted in margins.items()):
            break
    return table


# Two-way tables that agree with the frequencies of every attribute by itself, and so with each other.


MOST_JOINT_CELLS = 1_024
"""Tables with more cells have no matrix of covariances."""


@dataclass(frozen=True)
class Carried:
    """An unbiased two-way table with the covariance of its cells, row after row, and how many reports carried it."""

    frequencies: Floats
    covariance: Floats
    reports: int


def consistent_table(history: Sequence[Phase], one: int, two: int, alone: Found) -> JointTable | None:
    """The two-way table of two attributes whose margins are their frequencies alone; None if no report carries it."""
    if (together := answers_of(history)) is not None:
        return together.table(one, two)
    margins = (alone.frequencies[one], alone.frequencies[two])
    if margins[0].size * margins[1].size > MOST_JOINT_CELLS:
        return _many_cells(history, one, two, alone)
    found = [table for phase in history if (table := carried(phase, one, two)) is not None]
    if not found:
        return None
    table = combined(found)
    rows, columns = table.frequencies.shape
    margin = np.vstack([np.kron(np.eye(rows), np.ones(columns)), np.kron(np.ones(rows), np.eye(columns))])
    spread = table.covariance @ margin.T
    gain = spread @ np.linalg.pinv(margin @ spread, rcond=1e-9, hermitian=True)
    frequencies = table.frequencies.ravel()
    frequencies = frequencies + gain @ (np.concatenate(margins) - margin @ frequencies)
    within = np.maximum((table.covariance - gain @ spread.T).diagonal(), 0)
    variances = _with_margins(within, gain, alone, one, two).reshape(rows, columns)
    return JointTable(frequencies.reshape(rows, columns), variances, table.reports)


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
    mechanism = plan.mechanism
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
    inside = zero_sum_basis([cells])
    precisions = [np.linalg.inv(inside.T @ table.covariance @ inside) for table in tables]
    whole = np.linalg.inv(sum(precisions, np.zeros(())))
    weighted = (p @ inside.T @ table.frequencies.ravel() for p, table in zip(precisions, tables, strict=True))
    mean = 1 / cells + inside @ whole @ sum(weighted, np.zeros(()))
    reports = sum(table.reports for table in tables)
    return Carried(mean.reshape(tables[0].frequencies.shape), inside @ whole @ inside.T, reports)


def _with_margins(within: Floats, gain: Floats, alone: Found, one: int, two: int) -> Floats:
    """The variance of every cell: that within the margins, and that of the margins.

    Where the covariance of the margins is not known, it is the largest that their standard errors allow.
    """
    matrices = alone.covariance(one, one), alone.covariance(two, two), alone.covariance(one, two)
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
    margins are 0, from all phases that carry it, weighted by their precision; None if none does.
    """
    found = [table for phase in history if (table := reported(phase, one, two)) is not None]
    if not found:
        return None
    backs = ([back - back.mean(axis=0) for back in table.back] for table in found)
    tables = [Reported(table.counts, (one, two)).undone() for table, (one, two) in zip(found, backs, strict=True)]
    precisions = np.array([1 / table.variances.sum() for table in tables])
    weights = precisions / precisions.sum()
    return JointTable(
        np.tensordot(weights, [table.frequencies for table in tables], 1),
        np.tensordot(weights**2, [table.variances for table in tables], 1),
        sum(table.reports for table in tables),
    )


Table = tuple[tuple[float, ...], ...]

_WHO_DOES = (
    "only reports that answer both do: ask with the mechanism pairs; those of spl, of Phase I and with several pivots "
    "do as well, while questions have few labels"
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
    """Whether half 95 % intervals are as large as the entries, on average (root mean square against mean)."""
    method: Method = "likelihood"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.frequencies).all() and np.isfinite(self.standard_errors).all()):
            raise EstimateError("frequencies and standard errors must be finite; collect more reports")

    def __getitem__(self, labels: tuple[Any, Any]) -> float:
        """How frequent two labels are together: `table["yes", "daily"]`."""
        one, two = (own.index(label_text(label)) for own, label in zip(self.labels, labels, strict=True))
        return self.frequencies[one][two]

    def __repr__(self) -> str:
        first, second = self.attributes
        lines = [f"{first} and {second} together, from {self.reports:,} private reports"]
        cells = list(self.cells())
        for one, two, frequency, error in cells[:MOST_SHOWN]:
            lines.append(f"  {one}, {two}: {100 * frequency:.1f} % (± {100 * NORMAL_95 * error:.1f})")
        lines += [f"  and {len(cells) - MOST_SHOWN:,} more"] * (len(cells) > MOST_SHOWN)
        return "\n".join(lines + ["Warning: the ± are as large as the shares, so this table says little"] * self.noisy)

    def to_csv(self) -> bytes:
        """The table as CSV: one line for each two labels."""
        return csv_of(self._columns, self.cells())

    def to_frame(self, library: Library | None = None) -> Any:
        """The table as a frame: one row for each two labels."""
        return frame_of(self._columns, list(self.cells()), library)

    def to_pandas(self) -> Any:
        """The same in pandas."""
        return self.to_frame("pandas")

    @property
    def _columns(self) -> list[str]:
        return [*self.attributes, "frequency", "standard_error"]

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
    history = _last_round(history, method)
    names = history[0][0].schema.names
    for name in (first, second):
        if name not in names:
            raise EstimateError(f"there is no question '{name}'; the plan has {', '.join(names)}")
    if first == second:
        raise EstimateError(f"a pair needs two questions, got '{first}' twice; name another one")
    found = _table(history, names.index(first), names.index(second), one_way(history, method), method)
    if found is None:
        raise EstimateError(f"these reports say nothing about '{first}' and '{second}' together; {_WHO_DOES}")
    return found


@refusing_numerical_failure(EstimateError)
def estimate_pairs(history: History, method: Method = "likelihood") -> PairEstimates:
    """The two-way tables of all pairs of attributes that some phase's reports carry."""
    history = _last_round(history, method)
    names = history[0][0].schema.names
    alone = one_way(history, method)
    found = {pair: _table(history, *pair, alone, method) for pair in combinations(range(len(names)), 2)}
    tables = tuple(table for table in found.values() if table is not None)
    if not tables:
        raise EstimateError(f"these reports say nothing about any two questions together; {_WHO_DOES}")
    missing = tuple((names[one], names[two]) for (one, two), table in found.items() if table is None)
    return PairEstimates(tables, missing)


def _last_round(history: History, method: Method) -> History:
    if method not in ("unbiased", "likelihood"):
        raise EstimateError("two-way tables need the method likelihood or unbiased; choose one of them")
    return in_rounds(in_order(history))[-1]


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
        noisy=bool(NORMAL_95 * np.sqrt(found.variances.mean()) >= 1 / frequencies.size),
        method=method,
    )


def _rows(table: Floats) -> Table:
    return tuple(map(tuple, table.tolist()))
