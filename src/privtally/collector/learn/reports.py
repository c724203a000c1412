"""What one report of a part says at uniform answers, whatever its fills.

Small alphabets are enumerated; for others it is the information in the reported marginals.
"""

from itertools import combinations, product

import numpy as np

from privtally.collector.estimate.inverse import block_diagonal, ends
from privtally.collector.estimate.likelihood import Weighed, push_matrix
from privtally.exact.arrays import Floats
from privtally.mechanisms import Part, independent

MOST_REPORTS = 1 << 13
"""Alphabets of at most this many reports are enumerated."""


def information_at_uniform(part: Part) -> Floats:
    """The information on the frequencies, laid end to end, in one report of a part with one pivot."""
    return _enumerated(part) if part.distinct <= MOST_REPORTS else _of_marginals(part)


def _uniform(part: Part) -> list[Floats]:
    return [np.full(size, 1 / size) for size in part.sizes]


def _enumerated(part: Part) -> Floats:
    push = push_matrix(part)
    private = push @ np.concatenate(_uniform(part))
    reports = Weighed.of(part, np.array(list(product(*map(range, part.answers)))))
    reports = reports.only(reports.possible)
    information = reports.moments(private, reports.probability(private))[1]
    return np.asarray(push.T @ information @ push)


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
