"""Two attributes together, from SPL reports: debiased, and made consistent with the one-way frequencies."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privtally.collector.simplex import project_to_simplex
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.errors import LearningError
from privtally.mechanisms import Split
from privtally.mechanisms.channel import Keep

Floats = NDArray[np.float64]

_TRACE_OF_INDEPENDENCE = 1e-6
_ROUNDS, _CLOSE_ENOUGH = 500, 1e-10


def pair_joint(plan: Plan, counts: Counts, one: int, two: int, marginals: Sequence[Floats]) -> Floats:
    """The joint frequencies of attributes one < two: non-negative, with the given marginals.

    The debiased table is projected to the simplex, and then fitted to the marginals by iterative proportional fitting,
    so that all pairs agree on every attribute. A trace of the independent table keeps a zero from blocking the fit.
    """
    assert isinstance(plan.sampler, Split)
    tables = counts.pair_tables
    if (one, two) not in tables:
        raise LearningError("these counts keep no pairwise tables: the schema has too many labels for cond-rr")
    raw = debias_pair(tables[one, two] / counts.reports, plan.sampler.channels[one], plan.sampler.channels[two])
    joint = project_to_simplex(raw.ravel()).reshape(raw.shape)
    independent = np.outer(marginals[one], marginals[two])
    return _fit(
        (1 - _TRACE_OF_INDEPENDENCE) * joint + _TRACE_OF_INDEPENDENCE * independent, marginals[one], marginals[two]
    )


def debias_pair(table: Floats, one: Keep, two: Keep) -> Floats:
    """Undo both channels of a table of reported pairs: unbiased, and possibly negative."""
    return undo(undo(table, one).T, two).T


def conditional_rows(joint: Floats) -> list[Floats]:
    """The distribution of the second attribute given each label of the first; its marginal where that never occurs."""
    marginal = joint.sum(axis=0)
    return [row / row.sum() if row.sum() > 0 else marginal for row in joint]


def undo(table: Floats, channel: Keep) -> Floats:
    """Undo a channel along the first axis of a table."""
    scale = float(channel.scale)
    undone: Floats = (table - (1 - scale) / channel.size * table.sum(axis=0)) / scale
    return undone


def _fit(joint: Floats, rows: Floats, columns: Floats) -> Floats:
    for _ in range(_ROUNDS):
        joint = joint * _ratio(rows, joint.sum(axis=1))[:, None]
        joint = joint * _ratio(columns, joint.sum(axis=0))
        if np.abs(joint.sum(axis=1) - rows).max() < _CLOSE_ENOUGH:
            break
    return joint


def _ratio(wanted: Floats, found: Floats) -> Floats:
    ratio: Floats = np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)
    return ratio
