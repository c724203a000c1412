"""A test for change between rounds, from their unbiased estimates alone, and how large a change it would see.

For each attribute the rounds' estimates, with covariances V_t, are compared with their best common value. The sum of
the squared differences, in units of V_t, is chi-square with (rounds − 1)(labels − 1) degrees of freedom if nothing
changed. p-values are corrected by Holm's method: the chance of naming any attribute without cause is 5 % in all.
"""

from collections.abc import Sequence

import numpy as np

from privtally.collector.estimate.attribute import Found
from privtally.collector.estimate.chi_square import seen_shift, tail
from privtally.collector.estimate.inverse import zero_sum_basis
from privtally.documents.estimate import Change
from privtally.exact.arrays import Floats

LEVEL, POWER = 0.05, 0.8
"""The chance of a false alarm over all attributes, and the probability with which a change is to be seen."""
MOST_NAMES = 4


def changes(names: Sequence[str], rounds: Sequence[Found]) -> dict[str, Change]:
    """For each attribute the corrected p-value of a change, and the change that would be seen; attributes without
    covariances are left out.
    """
    tested: dict[str, tuple[float, Floats, int]] = {}
    for own, name in enumerate(names):
        spreads = [found.covariance(own) for found in rounds]
        known = [spread for spread in spreads if spread is not None]
        if len(known) == len(rounds):
            tested[name] = _compare([found.frequencies[own] for found in rounds], known)
    corrected = _holm({name: p for name, (p, _, _) in tested.items()})
    return {
        name: Change(corrected[name], _visible(spread, degrees, LEVEL / len(tested)))
        for name, (_, spread, degrees) in tested.items()
    }


def _compare(frequencies: Sequence[Floats], spreads: Sequence[Floats]) -> tuple[float, Floats, int]:
    """The p-value of a change, the covariance of the last round's difference from all earlier ones, and the degrees
    of freedom.
    """
    basis = zero_sum_basis([len(frequencies[0])])
    points = [basis.T @ own for own in frequencies]
    sizes = [own.trace() for own in spreads]
    # If nothing changed, rounds differ in the size of their errors alone: each round's covariance by itself is noisy.
    shape = np.mean([own / size for own, size in zip(spreads, sizes, strict=True)], axis=0)
    precisions = [np.linalg.inv(basis.T @ (size * shape) @ basis) for size in sizes]
    weighted = sum((own @ point for own, point in zip(precisions, points, strict=True)), np.zeros(()))
    common = np.linalg.solve(sum(precisions, np.zeros(())), weighted)
    off = [point - common for point in points]
    statistic = sum(float(each @ own @ each) for own, each in zip(precisions, off, strict=True))
    degrees = (len(points) - 1) * basis.shape[1]
    before = np.linalg.inv(sum(precisions[:-1], np.zeros(())))
    return tail(statistic, degrees), basis @ (before + np.linalg.inv(precisions[-1])) @ basis.T, degrees


def _visible(spread: Floats, degrees: int, level: float) -> float:
    """The change of one label in the last round, the others giving way evenly, that is seen with probability POWER,
    whichever label it is.
    """
    size = len(spread)
    direction = (np.eye(size) * size - 1) / (size - 1)
    noted = np.einsum("ij,jk,ik->i", direction, np.linalg.pinv(spread, rcond=1e-9, hermitian=True), direction)
    return float(np.sqrt(seen_shift(level, degrees, POWER) / noted.min()))


def _holm(p_values: dict[str, float]) -> dict[str, float]:
    """p-values corrected for their number."""
    corrected, largest = {}, 0.0
    for place, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, p_values[name] * (len(p_values) - place)))
        corrected[name] = largest
    return corrected


def about_changes(found: dict[str, Change]) -> list[str]:
    """What the test says, in words."""
    seen = sorted((change.p_value, name) for name, change in found.items() if change.p_value < LEVEL)
    notes = [f"The answers to '{name}' changed between the rounds (p = {p:.2g})." for p, name in seen[:MOST_NAMES]]
    if len(seen) > MOST_NAMES:
        notes.append(f"So did those to {len(seen) - MOST_NAMES} more questions.")
    if not seen:
        notes.append(f"No change between the rounds shows (p = {min(own.p_value for own in found.values()):.2g}).")
    low, high = (100 * bound(own.visible for own in found.values()) for bound in (min, max))
    points = f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f} to {high:.1f}, depending on the question,"
    notes.append(
        f"A change of an answer by {points} percentage points in the last round is seen {POWER:.0%} of the time."
    )
    return notes
