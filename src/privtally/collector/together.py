"""Questions asked together: tables of sets of questions, and single questions from all tables that hold them.

Reports to a set S undo its channel to an unbiased table of the product of its labels. The margins of all tables, with
the single questions that some people were asked, are observations of the questions' frequencies u, in coordinates that
sum to 0: y_S = u_S + noise with the covariance C_S. Weighted least squares give

    û = M⁻¹ Σ n_S E_S W_S y_S,   M = Σ n_S E_S W_S E_Sᵀ,   W_S the inverse of C_S at uniform answers, from one report

The weights do not look at the answers, so that û is unbiased; its covariance uses C_S as it was seen. A table is then
moved to the margins û, by as much as its cells go with its margins at uniform answers, and all tables that share a
question agree about it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, pairwise
from math import prod

import numpy as np

from privtally.collector.inverse import zero_sum_basis
from privtally.documents.campaign import History
from privtally.documents.counts import Counts
from privtally.exact.types import Floats, Integers
from privtally.mechanisms.channels import Asked
from privtally.mechanisms.fills import Places
from privtally.mechanisms.together import Together

MOST_CELLS = 1 << 12
"""A table with more cells has upper bounds as variances."""


@dataclass(frozen=True)
class JointTable:
    """An unbiased two-way table of two attributes, its variances, and how many reports carried both."""

    frequencies: Floats
    variances: Floats
    reports: int


@dataclass(frozen=True)
class Undoing:
    """The linear map that undoes the channel of a set, and the margins of what it gives."""

    channel: Asked
    shape: tuple[int, ...]

    @property
    def scale(self) -> float:
        channel = self.channel
        return (channel.inside - channel.meet) * (channel.same - channel.other) / channel.total

    @cached_property
    def even(self) -> Floats:
        """The law of the codes at uniform answers."""
        size = self.channel.inputs
        pushed: Floats = self.channel.push(np.full(size, 1 / size))
        return pushed

    def undone(self, codes: Floats) -> Floats:
        """What frequencies of codes add to each label of the product, less the mean."""
        support = self.channel.support(codes) / self.scale
        centred: Floats = support - support.mean()
        return centred

    def rows(self, labels: Iterator[Floats]) -> Floats:
        """For each of some sets of labels, given as ones, what each code adds to their sum."""
        size, even = self.channel.inputs, self.channel.spread(np.ones(self.channel.inputs))
        added = [(self.channel.spread(ones) - ones.sum() / size * even) / self.scale for ones in labels]
        return np.array(added)

    def kept(self, axes: Sequence[int]) -> Iterator[Floats]:
        """The labels of the product with each combination of labels on these axes, as ones."""
        for cell in np.ndindex(*(self.shape[axis] for axis in axes)):
            ones = np.zeros(self.shape)
            place: list[int | slice] = [slice(None)] * len(self.shape)
            for axis, label in zip(axes, cell, strict=True):
                place[axis] = label
            ones[tuple(place)] = 1
            yield ones.ravel()

    @cached_property
    def margins(self) -> Floats:
        """What each code adds to the margins, in their coordinates (coordinate, code)."""
        rows = np.vstack([self.rows(self.kept([axis])) for axis in range(len(self.shape))])
        whole: Floats = zero_sum_basis(self.shape).T @ rows
        return whole

    @cached_property
    def weight(self) -> Floats:
        """The inverse of the covariance of the margins from one report, at uniform answers."""
        return np.asarray(np.linalg.inv(spread(self.margins, self.even)))


@lru_cache(maxsize=1024)
def undoing(channel: Asked, shape: tuple[int, ...]) -> Undoing:
    """How a channel on the product of some numbers of labels is undone."""
    return Undoing(channel, shape)


def spread(rows: Floats, law: Floats) -> Floats:
    """The covariance, from one report, of linear functions of codes that have this law."""
    mean = rows @ law
    found: Floats = (rows * law) @ rows.T - np.outer(mean, mean)
    return found


@dataclass(frozen=True)
class _Set:
    """The reports that answer one set of questions."""

    places: Places
    undoing: Undoing
    tally: Floats

    @property
    def reports(self) -> float:
        return float(self.tally.sum())

    @property
    def law(self) -> Floats:
        """The law of the codes as seen, with an imaginary report of every code, but no more in all than real ones."""
        imaginary = min(self.reports, len(self.tally))
        smoothed: Floats = (self.tally + imaginary / len(self.tally)) / (self.reports + imaginary)
        return smoothed

    @property
    def shares(self) -> Floats:
        """The shares of the codes less what uniform answers would give."""
        less: Floats = self.tally / self.reports - self.undoing.even
        return less


@lru_cache(maxsize=4)
def _answers(mechanism: Together, counts: Counts) -> "Answers":
    return Answers(mechanism, counts.attributes[0])


def answers_of(history: History) -> "Answers | None":
    """What the reports of one round say if it asks questions together; else None."""
    plan, counts = history[-1]
    mechanism = plan.mechanism
    return _answers(mechanism, counts) if isinstance(mechanism, Together) else None


class Answers:
    """What all reports to a plan that asks questions together say."""

    def __init__(self, mechanism: Together, tally: Floats | Integers) -> None:
        """`tally` says how often each code came."""
        self.sizes = mechanism.sizes
        tallies = np.split(tally.astype(float), mechanism.starts[1:-1])
        every = (
            _Set(places, undoing(channel, mechanism.shape(number)), tally)
            for number, (places, channel, tally) in enumerate(
                zip(mechanism.sets, mechanism.asked, tallies, strict=True)
            )
        )
        self.sets = [each for each in every if each.reports]
        self._holding: dict[tuple[int, int], list[_Set]] = {}
        for each in self.sets:
            for pair in combinations(each.places, 2):
                self._holding.setdefault(pair, []).append(each)
        asked = {place for each in self.sets for place in each.places}
        self.unasked = [place for place in range(len(self.sizes)) if place not in asked]
        """The questions that nobody was asked; they have even frequencies."""
        ends = np.cumsum([0, *(size - 1 for size in self.sizes)])
        self._coordinates = [np.arange(start, end) for start, end in pairwise(ends.tolist())]
        total, weighed = np.zeros((ends[-1], ends[-1])), np.zeros(ends[-1])
        for each in self.sets:
            rows = self._rows(each.places)
            total[np.ix_(rows, rows)] += each.reports * each.undoing.weight
            weighed[rows] += each.reports * each.undoing.weight @ (each.undoing.margins @ each.shares)
        for place in self.unasked:
            total[self._coordinates[place], self._coordinates[place]] = 1
        self._inverse = np.linalg.inv(total)
        self._found = self._inverse @ weighed

    def _rows(self, places: Places) -> Integers:
        return np.concatenate([self._coordinates[place] for place in places])

    def gain(self, each: _Set) -> Floats:
        """What the margins of a set add to all frequencies, in coordinates."""
        gained: Floats = self._inverse[:, self._rows(each.places)] @ each.undoing.weight * each.reports
        return gained

    @cached_property
    def _covariance(self) -> Floats:
        total = np.zeros_like(self._inverse)
        for each in self.sets:
            gain = self.gain(each)
            total += gain @ spread(each.undoing.margins, each.law) @ gain.T / each.reports
        return total

    def frequencies(self, place: int) -> Floats:
        """The frequencies of a question: unbiased."""
        found: Floats = 1 / self.sizes[place] + self._basis(place) @ self._found[self._coordinates[place]]
        return found

    def covariance(self, one: int, two: int) -> Floats:
        """The covariance of the frequencies of two questions, or of one."""
        block = self._covariance[np.ix_(self._coordinates[one], self._coordinates[two])]
        whole: Floats = self._basis(one) @ block @ self._basis(two).T
        return whole

    def _basis(self, place: int) -> Floats:
        return zero_sum_basis([self.sizes[place]])

    def table(self, one: int, two: int) -> JointTable | None:
        """The table of two questions with their frequencies as margins; None if no report answers both."""
        if one > two:
            turned = self.table(two, one)
            return turned and JointTable(turned.frequencies.T, turned.variances.T, turned.reports)
        both = self._holding.get((one, two))
        if both is None:
            return None
        shape, reports = (self.sizes[one], self.sizes[two]), sum(each.reports for each in both)
        cells = np.zeros(shape)
        for each in both:
            whole = (1 / each.undoing.channel.inputs + each.undoing.undone(each.shares)).reshape(each.undoing.shape)
            others = tuple(axis for axis, place in enumerate(each.places) if place not in (one, two))
            cells += each.reports / reports * whole.sum(axis=others)
        target = np.array([self.frequencies(one) - cells.sum(axis=1)]).T / shape[1]
        cells = cells + target + (self.frequencies(two) - cells.sum(axis=0)) / shape[0]
        large = prod(shape) > MOST_CELLS
        variances = self._bounds(both, one, two, reports) if large else self._variances(both, one, two, reports)
        return JointTable(cells, variances.reshape(shape), int(reports))

    def _variances(self, both: Sequence[_Set], one: int, two: int, reports: float) -> Floats:
        """The variance of every cell: each set's reports take part in its table, in its margins, or in both."""
        shape = (self.sizes[one], self.sizes[two])
        # What coordinates of the two questions' frequencies add to each cell.
        spread_out = np.hstack(
            [
                np.kron(self._basis(one), np.full((shape[1], 1), 1 / shape[1])),
                np.kron(np.full((shape[0], 1), 1 / shape[0]), self._basis(two)),
            ]
        )
        rows = self._rows((one, two))
        # All sets move the margins; those of the table itself are taken out here, as their cells vary with them.
        through = self._covariance[np.ix_(rows, rows)].copy()
        total = np.zeros(prod(shape))
        for each in both:
            channel, law, gain = each.undoing, each.law, self.gain(each)[rows]
            through -= gain @ spread(channel.margins, law) @ gain.T / each.reports
            added = each.reports / reports * self._rests(each, one, two) + spread_out @ gain @ channel.margins
            total += (added**2 @ law - (added @ law) ** 2) / each.reports
        found: Floats = total + np.einsum("ci,ij,cj->c", spread_out, through, spread_out, optimize=True)
        return np.maximum(found, 0)

    def _rests(self, each: _Set, one: int, two: int) -> Floats:
        """What each code adds to the cells of a table, less the means of its row and column (cell, code)."""
        inside = each.undoing.rows(each.undoing.kept([each.places.index(one), each.places.index(two)]))
        table = inside.reshape(self.sizes[one], self.sizes[two], -1)
        rests = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0, keepdims=True)
        return np.asarray((rests + table.mean(axis=(0, 1))).reshape(len(inside), -1))

    def inside(self, one: int, two: int) -> Floats:
        """The covariance of the cells of a table of two questions that some reports answer, for given margins."""
        both = self._holding[one, two]
        reports = sum(each.reports for each in both)
        spreads = (each.reports / reports**2 * spread(self._rests(each, one, two), each.law) for each in both)
        return np.asarray(sum(spreads, np.zeros(())))

    def _bounds(self, both: Sequence[_Set], one: int, two: int, reports: float) -> Floats:
        """The same for large tables: at most the square of the sum of the errors of the cells, of the table's own
        margins, which are taken off, and of the margins that it is moved to.
        """
        shape, cells = (self.sizes[one], self.sizes[two]), np.zeros(self.sizes[one] * self.sizes[two])
        own = [np.zeros(size) for size in shape]
        for each in both:
            channel, law, share = each.undoing.channel, each.law, each.reports / reports
            held = channel.holder_counts() / channel.inputs
            squares = channel.support(law) - 2 * channel.support(law * held) + law @ held**2
            rest = tuple(axis for axis, place in enumerate(each.places) if place not in (one, two))
            # Cells of a sum vary at most as independent ones, since a report is in few of them.
            summed = squares.reshape(each.undoing.shape).sum(axis=rest).ravel()
            cells += share**2 * summed / each.undoing.scale**2 / each.reports
            spreads = np.split(spread(each.undoing.margins, law), self._ends(each.places), axis=0)
            for margin, place in zip(own, (one, two), strict=True):
                axis = each.places.index(place)
                block = np.split(spreads[axis], self._ends(each.places), axis=1)[axis]
                margin += share**2 * (self._basis(place) @ block @ self._basis(place).T).diagonal() / each.reports
        for margin, place in zip(own, (one, two), strict=True):
            margin[:] = np.sqrt(margin) + np.sqrt(np.maximum(self.covariance(place, place).diagonal(), 0))
        bound: Floats = (np.sqrt(cells) + (own[0][:, None] / shape[1] + own[1] / shape[0]).ravel()) ** 2
        return bound

    def _ends(self, places: Places) -> Integers:
        """Where the coordinates of each attribute of a set end, but for the last."""
        return np.cumsum([self.sizes[place] - 1 for place in places])[:-1]
