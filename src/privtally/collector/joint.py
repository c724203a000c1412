"""Two attributes together: debiased tables from the reports that carry both answers, and fits to given marginals.

A report carries two answers if both were asked: the attributes belong to different parts, or to one that asks several
of its attributes, and their parts do not hide what was asked behind fills.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privtally.collector.estimate import Phase
from privtally.collector.simplex import project_to_simplex
from privtally.documents.plan import Plan
from privtally.exact.arrays import Floats, Integers
from privtally.mechanisms.channel import Asked

MOST_CELLS = 1 << 26
"""With more labels times codes in an attribute, its channel is not undone: the matrix has 8 bytes a cell."""
_TRACE_OF_INDEPENDENCE = 1e-6
_ROUNDS, _CLOSE_ENOUGH = 500, 1e-10


@dataclass(frozen=True)
class JointTable:
    """An unbiased two-way table of two attributes, its variances, and how many reports carried both."""

    frequencies: Floats
    variances: Floats
    reports: int


def carries(plan: Plan, one: int, two: int) -> bool:
    """Whether reports to a plan can carry the answers to both attributes."""
    mechanism = plan.sampler
    parts = [mechanism.parts[mechanism.places[own][0]] for own in (one, two)]
    if any(part.decoys for part in parts):
        return False
    return parts[0] is not parts[1] or parts[0].pivots > 1


def joint_table(history: Sequence[Phase], one: int, two: int) -> JointTable | None:
    """The two-way table from all phases that carry it, weighted by their precision; None if none does."""
    found = [table for phase in history if (table := reported(phase, one, two)) is not None]
    return weighted([table.undone() for table in found]) if found else None


def weighted(tables: Sequence[JointTable]) -> JointTable:
    """The mean of some tables, weighted by their precision."""
    precisions = np.array([1 / table.variances.sum() for table in tables])
    weights = precisions / precisions.sum()
    return JointTable(
        sum((w * table.frequencies for w, table in zip(weights, tables, strict=True)), np.array(0.0)),
        sum((w**2 * table.variances for w, table in zip(weights, tables, strict=True)), np.array(0.0)),
        sum(table.reports for table in tables),
    )


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
    mechanism = plan.sampler
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


def shrunk(noisy: Floats, noise: float, first: Floats, second: Floats) -> Floats:
    """The dependence in a noisy table shrunk towards the independent table with these marginals.

    `noise` is the sum of the variances of the entries with the means of their rows and columns taken off.

    If the true dependence D, the table less the product of its margins, has entries with the variance τ², and those of
    the noisy one have the variance σ² more, its best linear estimate is τ²/(τ² + σ²) times the noisy one. By moments
    τ² + σ² is the noisy one's mean square, and σ² the mean of the variances.
    """
    dependence = noisy - np.outer(noisy.sum(axis=1), noisy.sum(axis=0))
    square = float(np.sum(dependence**2))
    kept = max(1 - noise / square, 0.0) if square else 0.0
    found: Floats = np.outer(first, second) + kept * dependence
    return found


def fitted(table: Floats, first: Floats, second: Floats) -> Floats:
    """The nearest proper table, fitted to the given marginals by iterative proportional fitting.

    A trace of the independent table keeps a zero from blocking the fit.
    """
    joint = project_to_simplex(table.ravel()).reshape(table.shape)
    joint = (1 - _TRACE_OF_INDEPENDENCE) * joint + _TRACE_OF_INDEPENDENCE * np.outer(first, second)
    for _ in range(_ROUNDS):
        joint = joint * _ratio(first, joint.sum(axis=1))[:, None]
        joint = joint * _ratio(second, joint.sum(axis=0))
        if np.abs(joint.sum(axis=1) - first).max() < _CLOSE_ENOUGH:
            break
    return joint


def conditional_rows(joint: Floats) -> list[Floats]:
    """The distribution of the second attribute given each label of the first; its marginal where that never occurs."""
    marginal = joint.sum(axis=0)
    return [row / row.sum() if row.sum() > 0 else marginal for row in joint]


def _ratio(wanted: Floats, found: Floats) -> Floats:
    ratio: Floats = np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)
    return ratio
