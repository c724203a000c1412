"""A test for change between rounds, from what each round's reports say alone, and how large a change it would see.

A round's log-likelihood near what all rounds say together gives its own estimate, with the covariance V_t that it has
if nothing changed. For each attribute the rounds' estimates are compared with their best common value. The sum of the
squared differences, in units of V_t, is then chi-square with (rounds − 1)(labels − 1) degrees of freedom. p-values are
corrected by Holm's method: the chance of naming any attribute without cause is 5 % in all. People who come again make
differences smaller than the test expects, so that it errs on the safe side.
"""

from collections.abc import Sequence

import numpy as np

from privtally.collector.estimate.chi_square import seen_shift, tail
from privtally.collector.estimate.history import History
from privtally.collector.estimate.inverse import zero_sum_basis
from privtally.collector.estimate.local_level import Quadratic, near_together
from privtally.collector.estimate.pooled import MOST_LABELS, Model
from privtally.collector.estimate.returning import allowing_for_returns
from privtally.collector.estimate.stacked import PhaseLikelihood
from privtally.documents.estimate import Change
from privtally.errors import EstimateError
from privtally.exact.arrays import Floats

LEVEL, POWER = 0.05, 0.8
"""The chance of a false alarm over all attributes, and the probability with which a change is to be seen."""
MOST_NAMES = 4


def changes(rounds: Sequence[History]) -> dict[str, Change]:
    """For each attribute the corrected p-value of a change, and the change that would be seen."""
    schema = rounds[0][0][0].schema
    if sum(schema.sizes) > MOST_LABELS:
        raise EstimateError(f"schemas with more than {MOST_LABELS:,} answers are too large")
    model = Model([attribute.labels for attribute in schema.attributes])
    likelihoods = [
        allowing_for_returns(phases, [PhaseLikelihood(*phase) for phase in phases], schema.sizes) for phases in rounds
    ]
    _, said = near_together(likelihoods, model)
    if not all(model.is_determined(model.basis @ own.information @ model.basis.T) for own in said):
        raise EstimateError("a round by itself does not determine them")
    points, spreads = zip(*(_alone(own, model) for own in said), strict=True)
    ends = np.cumsum([0, *schema.sizes]).tolist()
    compared: dict[str, tuple[float, Floats, int]] = {}
    for attribute, start, end in zip(schema.attributes, ends, ends[1:], strict=False):
        place = slice(start, end)
        compared[attribute.name] = _compare(
            [point[place] for point in points], [spread[place, place] for spread in spreads]
        )
    corrected = _holm({name: p for name, (p, _, _) in compared.items()})
    return {
        name: Change(corrected[name], _visible(spread, degrees, LEVEL / len(compared)))
        for name, (_, spread, degrees) in compared.items()
    }


def _alone(said: Quadratic, model: Model) -> tuple[Floats, Floats]:
    """A round's own differences from uniform, with their covariance."""
    covariance = np.linalg.inv(said.information)
    return model.basis @ covariance @ said.gradient, model.basis @ covariance @ model.basis.T


def _compare(points: Sequence[Floats], spreads: Sequence[Floats]) -> tuple[float, Floats, int]:
    """The p-value of a change, the covariance of the last round's difference from all earlier ones, and the degrees
    of freedom.
    """
    basis = zero_sum_basis([len(points[0])])
    inside = [basis.T @ own for own in points]
    precisions = [np.linalg.inv(basis.T @ own @ basis) for own in spreads]
    weighted = sum((own @ point for own, point in zip(precisions, inside, strict=True)), np.zeros(()))
    common = np.linalg.solve(sum(precisions, np.zeros(())), weighted)
    off = [point - common for point in inside]
    statistic = sum(float(each @ own @ each) for own, each in zip(precisions, off, strict=True))
    degrees = (len(inside) - 1) * basis.shape[1]
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
    points = f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f} to {high:.1f}"
    notes.append(
        f"A change of an answer by {points} percentage points in the last round is seen {POWER:.0%} of the time."
    )
    return notes
