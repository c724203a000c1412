"""What one report says at uniform answers and how often its pivot is named, whatever the fills of its part.

Small alphabets are enumerated. For others the information is that of the reported marginals, and the chance to name the
pivot is a bound: with Q the uniform distribution of reports and P_s that of reports with pivot s,

    (1/d) Σ over reports of the largest P_s  ≤  (1/d) (1 + Σ_s TV(P_s, Q)),

and a product of distributions is no further from a product of others than 1 − Π (1 − TV) of its factors.
"""

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from privtally.collector.estimate.inverse import block_diagonal, ends
from privtally.collector.estimate.likelihood import Weighed, push_matrix
from privtally.exact.arrays import Floats
from privtally.mechanisms import Part, independent

MOST_REPORTS = 1 << 13
"""Alphabets of at most this many reports are enumerated."""


@dataclass(frozen=True)
class Report:
    """The information on the frequencies laid end to end, and the chance, or a bound on it, to name the pivot."""

    information: Floats
    pivot_guess: float


def at_uniform(part: Part) -> Report:
    """One report of a part with one pivot whose fills hide it."""
    if part.distinct <= MOST_REPORTS:
        return _enumerated(part)
    return Report(_of_marginals(part), _guess_bound(part))


def _uniform(part: Part) -> list[Floats]:
    return [np.full(size, 1 / size) for size in part.sizes]


def _enumerated(part: Part) -> Report:
    push = push_matrix(part)
    private = push @ np.concatenate(_uniform(part))
    reports = Weighed.of(part, np.array(list(product(*map(range, part.answers)))))
    reports = reports.only(reports.possible)
    chances = reports.weights * private[reports.places]
    information = reports.moments(private, chances.sum(axis=1))[1]
    return Report(push.T @ information @ push, float(chances.max(axis=1).sum()))


def _of_marginals(part: Part) -> Floats:
    """The information of reported marginals whose covariance is that of one report."""
    private = [channel.push(own) for channel, own in zip(part.asked, _uniform(part), strict=True)]
    places = range(len(private))
    tables = {
        (pivot, other): np.eye(len(private[pivot])) if pivot == other else _table(part, pivot, other)
        for pivot in places
        for other in places
    }
    units = np.split(np.eye(sum(part.sizes)), ends(part.sizes), axis=1)
    operator = np.hstack(part.expect(independent(units))).T
    reported = np.concatenate(part.expect(independent(_uniform(part))))
    spread = block_diagonal([np.diag(own) for own in np.split(reported, ends(part.answers))])
    starts = np.cumsum([0, *part.answers])
    for one, two in combinations(places, 2):
        pairs = [(tables[own, one].T * private[own]) @ tables[own, two] for own in places]
        block = np.sum(pairs, axis=0) / len(private)
        rows, columns = slice(starts[one], starts[one + 1]), slice(starts[two], starts[two + 1])
        spread[rows, columns], spread[columns, rows] = block, block.T
    spread -= np.outer(reported, reported)
    return np.asarray(operator.T @ np.linalg.pinv(spread, rcond=1e-9, hermitian=True) @ operator)


def _table(part: Part, pivot: int, other: int) -> Floats:
    """The probability of each code of the other attribute given each private code of the pivot."""
    return np.asarray(part.filling((pivot,), other).push(np.eye(part.answers[pivot])))


def _guess_bound(part: Part) -> float:
    attributes = len(part.attributes)
    total = 1.0
    for (pivot,), channel, own in zip(part.branches, part.asked, _uniform(part), strict=True):
        private = channel.push(own)
        near = np.ones(len(private))
        for other in part.others((pivot,)):
            near *= 1 - np.abs(_table(part, pivot, other) - 1 / part.answers[other]).sum(axis=1) / 2
        total += float(np.abs(private - 1 / len(private)).sum() / 2 + private @ (1 - near))
    return min(total / attributes, 1.0)
