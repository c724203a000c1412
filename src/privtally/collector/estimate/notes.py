"""What people should know about an estimate: phases that hardly tell attributes apart, and reports not kept whole."""

from collections.abc import Sequence
from math import gcd

import numpy as np

from privtally.collector.estimate.inverse import block_diagonal, operator_of, zero_sum_basis
from privtally.collector.estimate.likelihood import Weighed, push_matrix
from privtally.collector.estimate.phase import PhaseEstimate
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.exact.arrays import Floats, Integers
from privtally.mechanisms import Part, independent

NEARLY_SINGULAR = 1e2
"""A condition number from which on people should be told."""
SPACED = 1 << 14
"""So many reports, evenly spaced among all, stand for all where what they say is compared."""
MOST_LABELS = 300
"""Parts with more labels are not compared."""


def about_conditions(names: Sequence[str], phases: Sequence[int], found: Sequence[PhaseEstimate]) -> list[str]:
    """Which phases cannot, or can hardly, tell attributes apart."""
    notes = []
    for number, phase in zip(phases, found, strict=True):
        lost = [name for name, known in zip(names, phase.known, strict=True) if not known]
        if lost:
            notes.append(
                f"Phase {number} cannot tell {', '.join(lost)} apart from the others (its operator is singular); "
                "those frequencies rest on the other phases alone."
            )
        elif phase.condition > NEARLY_SINGULAR:
            rest = "; the frequencies rest mostly on the other phases" if len(found) > 1 else "; its errors are large"
            notes.append(
                f"Phase {number} hardly tells the attributes apart (its operator is nearly singular, condition "
                f"{phase.condition:.0f}){rest}."
            )
    return notes


def about_limits(plan: Plan, counts: Counts) -> list[str]:
    """Which parts have more different reports than are kept, and what that costs."""
    notes = []
    for part in plan.sampler.parts:
        if counts.parts.get(part.attributes, True) is None:
            kept = "pairwise tables" if counts.pairs else "one-way counts"
            text = (
                f"Phase {plan.phase} has more than {counts.limit:,} different reports, so that the estimate rests on "
            )
            text += f"their {kept}"
            factor = cost_of_one_way(part)
            if factor is not None:
                text += f"; that makes its standard errors about {factor:.2g} times as large"
            notes.append(f"{text}.")
    return notes


def cost_of_one_way(part: Part) -> float | None:
    """How much larger standard errors are if the attributes of reports are read one by one, at uniform answers.

    None where the part is not of one hidden pivot, is too large, or does not determine its attributes.
    """
    small = sum(part.sizes) <= MOST_LABELS and part.sizes == part.answers
    if part.pivots != 1 or part.fill is None or part.silent or not small:
        return None
    uniform = [np.full(size, 1 / size) for size in part.sizes]
    inside, push = zero_sum_basis(part.sizes), push_matrix(part)
    reports = Weighed.of(part, spaced(part))
    reports = reports.only(reports.possible)
    private = push @ np.concatenate(uniform)
    chances = reports.probability(private)
    whole = push.T @ reports.moments(private, chances / chances.sum())[1] @ push
    observed = part.observe(independent(uniform))
    operator = operator_of(part)
    spread = _covariance(part, reports, chances / chances.sum(), observed)
    one_way = operator.T @ np.linalg.pinv(spread, rcond=1e-9, hermitian=True) @ operator
    variances = []
    for information in (whole, one_way):
        values = np.linalg.eigvalsh(inside.T @ information @ inside)
        if values[0] <= 1e-9 * values[-1]:
            return None
        variances.append(float((1 / values).sum()))
    return float(np.sqrt(variances[1] / variances[0]))


def spaced(part: Part) -> Integers:
    """Reports evenly spaced among all: multiples of a number near the golden section of how many there are.

    The two numbers have no common divisor, so that no report comes twice before all have come.
    """
    step = part.distinct * 61_803 // 100_000 or 1
    while gcd(step, part.distinct) > 1:
        step += 1
    codes = np.zeros((min(part.distinct, SPACED), len(part.answers)), dtype=np.int64)
    for row in range(len(codes)):
        rest = row * step % part.distinct
        for place, size in enumerate(part.answers):
            rest, codes[row, place] = divmod(rest, size)
    return codes


def _covariance(part: Part, reports: Weighed, chances: Floats, observed: Sequence[Floats]) -> Floats:
    """The covariance of one report's codes, each code 1 or 0."""
    mean = np.concatenate(observed)
    total = np.zeros((len(mean), len(mean)))
    for start in range(0, len(chances), 1 << 12):
        rows = np.zeros((len(chances[start : start + (1 << 12)]), len(mean)))
        np.put_along_axis(rows, reports.places[start : start + (1 << 12)], 1.0, axis=1)
        total += rows.T @ (rows * chances[start : start + (1 << 12), None])
    same = block_diagonal([np.ones((size, size)) for size in part.answers]) > 0
    total = np.where(same, np.diag(mean), total)
    covariance: Floats = total - np.outer(mean, mean)
    return covariance
