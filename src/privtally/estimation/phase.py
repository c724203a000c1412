"""What one phase alone says: its counts carried back through its mechanism.

The variances treat the people who took part as a random sample of the population that the frequencies describe, and
come from the counts themselves: reports are independent, so the covariance of their mean is that of one report divided
by their number. They take the plan as given, learned parameters included. One imaginary report, spread evenly, keeps
every variance above zero in small samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privtally.channel import Keep
from privtally.counts import Counts, Tally
from privtally.errors import EstimateError
from privtally.mechanisms import Pivot, Sample, Split, operator_matrix
from privtally.plan import Plan

Floats = NDArray[np.float64]

SINGULAR = 1e6
"""A condition number from which on an operator cannot be undone in floating point with any use."""
NEARLY_SINGULAR = 1e2
"""A condition number from which on people should be told."""


@dataclass(frozen=True)
class PhaseEstimate:
    """Frequencies and variances for each attribute, which of them are determined, and the operator's condition."""

    frequencies: Sequence[Floats]
    variances: Sequence[Floats]
    known: Sequence[bool]
    condition: float = 1.0


def invert(plan: Plan, counts: Counts) -> PhaseEstimate:
    """Undo the exact operator of the plan's mechanism: unbiased wherever `known`."""
    match plan.sampler:
        case Split(channels):
            return _respond_each(plan, channels, counts.attributes)
        case Sample(channels):
            return _respond_each(plan, channels, [tally[:-1] for tally in counts.attributes])
        case Pivot() as mechanism:
            scales = mechanism.scales()
            if scales is None:
                return _invert_matrix(mechanism, counts)
            return _invert_scales(mechanism, scales, counts)
        case mechanism:
            raise TypeError(f"no inverse for {type(mechanism).__name__}")


def debias_as_randomized_response(plan: Plan, counts: Counts) -> PhaseEstimate:
    """The paper's Phase II estimator: as if every attribute had gone through randomized response itself."""
    assert isinstance(plan.sampler, Pivot)
    return _respond_each(plan, plan.sampler.channels, counts.attributes)


def _respond_each(plan: Plan, channels: Sequence[Keep], tallies: Sequence[Tally]) -> PhaseEstimate:
    """Each attribute by itself: f = (c/n − q) / (p − q)."""
    for attribute, tally in zip(plan.schema.attributes, tallies, strict=True):
        if not tally.sum():
            raise EstimateError(f"nobody answered attribute '{attribute.name}' in phase {plan.phase}; collect more")
    scales = [float(channel.scale) for channel in channels]
    return PhaseEstimate(
        [
            (tally / tally.sum() - 1 / len(tally)) / scale + 1 / len(tally)
            for tally, scale in zip(tallies, scales, strict=True)
        ],
        [_spread(tally) / scale**2 for tally, scale in zip(tallies, scales, strict=True)],
        [True] * len(tallies),
    )


def _invert_scales(mechanism: Pivot, scales: Floats, counts: Counts) -> PhaseEstimate:
    """Where reported_j = Σ_s Λ[j, s] · f_s + constant: one small matrix serves every label."""
    own_scales = np.diag(scales)
    inverse, known, condition = _pseudo_inverse(scales / own_scales)
    inverse = inverse / own_scales[:, None]
    uniform = [np.full(size, 1 / size) for size in mechanism.sizes]
    offsets = [
        tally / counts.reports - reported
        for tally, reported in zip(counts.attributes, mechanism.expect(uniform), strict=True)
    ]
    attributes = range(len(uniform))
    frequencies = [start.copy() for start in uniform]
    variances = [np.zeros(size) for size in mechanism.sizes]
    spreads = [_spread(tally) for tally in counts.attributes]
    for one in attributes:
        for own in np.flatnonzero(inverse[:, one]):
            frequencies[own] += inverse[own, one] * offsets[one]
            variances[own] += inverse[own, one] ** 2 * spreads[one]
    for one, two in combinations(attributes, 2):
        both = np.flatnonzero(inverse[:, one] * inverse[:, two])
        if both.size:
            shared, is_bound = _shared_spread(counts, one, two, spreads)
            for own in both:
                weight = 2 * inverse[own, one] * inverse[own, two]
                variances[own] += (abs(weight) if is_bound else weight) * shared
    return PhaseEstimate(frequencies, variances, [bool(known[own]) for own in attributes], condition)


def _shared_spread(counts: Counts, one: int, two: int, spreads: Sequence[Floats]) -> tuple[Floats, bool]:
    """The covariance of two attributes' frequencies of the same label; a bound on its size if nothing keeps it."""
    agreements = counts.agreements(one, two)
    if agreements is None:
        return np.sqrt(spreads[one] * spreads[two]), True
    both = (agreements + 1 / len(agreements) ** 2) / (counts.reports + 1)
    return (both - _smooth(counts.attributes[one]) * _smooth(counts.attributes[two])) / counts.reports, False


def _invert_matrix(mechanism: Pivot, counts: Counts) -> PhaseEstimate:
    """Any fills: the whole operator, between the spaces in which every attribute sums to nothing."""
    sizes = mechanism.sizes
    bounds = np.cumsum(sizes)[:-1]
    basis = _zero_sum_basis(sizes)
    operator = operator_matrix(mechanism).T
    shares = np.repeat([float(channel.scale) / len(sizes) for channel in mechanism.channels], np.array(sizes) - 1)
    inverse, _, condition = _pseudo_inverse(basis.T @ operator @ basis / shares)
    back = basis @ (inverse / shares[:, None]) @ basis.T
    identified = np.abs(back @ operator @ basis - basis).max(axis=1) < 1e-6
    uniform = np.concatenate([np.full(size, 1 / size) for size in sizes])
    reported = np.concatenate(counts.attributes) / counts.reports
    frequencies = uniform + back @ (reported - operator @ uniform)
    variances = np.einsum("ij,jk,ik->i", back, _covariance(counts), back, optimize=True)
    return PhaseEstimate(
        np.split(frequencies, bounds),
        np.split(variances, bounds),
        [bool(rows.all()) for rows in np.split(identified, bounds)],
        condition,
    )


def _covariance(counts: Counts) -> Floats:
    """The covariance of all reported frequencies, attributes laid end to end (`cond-rr` plans keep pair tables)."""
    smooth = [_smooth(tally) for tally in counts.attributes]
    together = np.block(
        [
            [np.diag(smooth[one]) if one == two else _smooth_pair(counts, one, two) for two in range(len(smooth))]
            for one in range(len(smooth))
        ]
    )
    flat = np.concatenate(smooth)
    covariance: Floats = (together - np.outer(flat, flat)) / counts.reports
    return covariance


def _smooth_pair(counts: Counts, one: int, two: int) -> Floats:
    table = counts.pair_tables[min(one, two), max(one, two)]
    smooth: Floats = (table + 1 / table.size) / (counts.reports + 1)
    return smooth if one < two else smooth.T


def _smooth(tally: Tally) -> Floats:
    """Reported frequencies with one imaginary report, spread evenly."""
    smooth: Floats = (tally + 1 / len(tally)) / (tally.sum() + 1)
    return smooth


def _spread(tally: Tally) -> Floats:
    """The variance of each reported frequency."""
    smooth = _smooth(tally)
    spread: Floats = smooth * (1 - smooth) / tally.sum()
    return spread


def _pseudo_inverse(matrix: Floats) -> tuple[Floats, NDArray[np.bool_], float]:
    """The inverse as far as there is one, which unknowns it determines, and the condition number.

    Columns come divided by what each attribute's own channel lets through, so that the condition says how far the
    attributes can be told apart, and nothing of how noisy each one is.
    """
    singular = np.linalg.svd(matrix, compute_uv=False)
    condition = float(singular[0] / singular[-1]) if singular[-1] > 0 else float("inf")
    inverse = np.linalg.pinv(matrix, rcond=1 / SINGULAR).astype(np.float64)
    known: NDArray[Any] = np.abs(inverse @ matrix - np.eye(len(matrix))).max(axis=1) < 1e-6
    return inverse, known, condition


def _zero_sum_basis(sizes: Sequence[int]) -> Floats:
    """Orthonormal columns that span the vectors in which each attribute's part sums to 0."""
    basis = np.zeros((sum(sizes), sum(sizes) - len(sizes)))
    row = column = 0
    for size in sizes:
        ones_first = np.column_stack([np.ones(size), np.eye(size)[:, 1:]])
        basis[row : row + size, column : column + size - 1] = np.linalg.qr(ones_first)[0][:, 1:]
        row, column = row + size, column + size - 1
    return basis
