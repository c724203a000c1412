"""A phase's likelihood: its parts stacked, with the correlation that comes from their answering for the same people.

Sub-reports of one person are independent given the record, but answers of one person go together. The gradient of part
p is H_p (f̂ − f) plus noise, so that the covariance of the gradients of two parts is H_p C_pq H_q, where C_pq is the
covariance of the true answers, found by undoing both parts' operators on the pairwise tables. With V the covariance of
all gradients, the best combination has the gradient H V⁻¹ g and the information H V⁻¹ H. Parts are stacked in units of
their own deviations, and the correlation is believed the less the fewer reports there are.
"""

from collections.abc import Sequence

import numpy as np

from privtally.collector.estimate.inverse import block_diagonal, ends, inverse_of, zero_sum_basis
from privtally.collector.estimate.likelihood import Likelihood, OneWay, Score, WholeReports, columns, part_likelihood
from privtally.collector.estimate.phase import covariance, observed
from privtally.collector.simplex import project_to_simplex
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.exact.arrays import Floats
from privtally.mechanisms import Part

FEW_REPORTS = 10
"""With this many reports for each direction, half of the correlation that pairwise tables show is believed."""
NO_INFORMATION = 1e-12
"""A direction with this part of the largest information has none."""


class PhaseLikelihood:
    """All parts of a phase; each is a likelihood with the places of its frequencies among all.

    With a `group` of attributes it is the likelihood of their frequencies alone, from the parts that the group is made
    of.
    """

    def __init__(self, plan: Plan, counts: Counts, group: Sequence[int] | None = None) -> None:
        mechanism = plan.sampler
        group = range(mechanism.width) if group is None else group
        parts = [part for part in mechanism.parts if set(part.attributes) <= set(group)]
        sizes = [mechanism.sizes[own] for own in group]
        self._parts: list[WholeReports | OneWay] = [part_likelihood(plan, counts, part) for part in parts]
        self._columns = [columns(sizes, [group.index(own) for own in part.attributes]) for part in parts]
        stacked = len(parts) > 1 and bool(counts.pairs)
        self._precision = _precision(plan, counts, parts, self._parts) if stacked else None
        if self._precision is not None:
            self._inside = [zero_sum_basis(part.sizes) for part in parts]

    @property
    def impossible(self) -> int:
        """How many sub-reports have probability 0 whatever the answers."""
        return sum(part.impossible for part in self._parts)

    def at(self, frequencies: Floats) -> Score:
        gradient, information = np.zeros(len(frequencies)), np.zeros((len(frequencies), len(frequencies)))
        scores = [part.at(frequencies[place]) for part, place in zip(self._parts, self._columns, strict=True)]
        if self._precision is None:
            for place, (part_gradient, part_information) in zip(self._columns, scores, strict=True):
                gradient[place] = part_gradient
                information[np.ix_(place, place)] = part_information
            return gradient, information
        roots, whitened = [], []
        for inside, (part_gradient, part_information) in zip(self._inside, scores, strict=True):
            root, inverse = _root(inside.T @ part_information @ inside)
            roots.append(inside @ root)
            whitened.append(inverse @ inside.T @ part_gradient)
        place = np.concatenate(self._columns)
        root = block_diagonal(roots)
        gradient[place] = root @ (self._precision @ np.concatenate(whitened))
        information[np.ix_(place, place)] = root @ self._precision @ root.T
        return gradient, information


def _precision(plan: Plan, counts: Counts, parts: Sequence[Part], likelihoods: Sequence[Likelihood]) -> Floats:
    """The inverse of the gradients' correlation, each part in units of its own deviations."""
    to_true, roots = [], []
    for part, likelihood in zip(parts, likelihoods, strict=True):
        inverse, inside = inverse_of(part), zero_sum_basis(part.sizes)
        shares = [own.shares for own in observed(plan, counts, part)]
        point = np.concatenate([project_to_simplex(own) for own in inverse.apply(shares)])
        information = inside.T @ likelihood.at(point)[1] @ inside
        roots.append(_root(information)[0])
        back = np.vstack([np.hstack(inverse.back(own)) for own in range(len(part.attributes))])
        to_true.append(inside.T @ back)
    unit = block_diagonal([root @ back for root, back in zip(roots, to_true, strict=True)])
    correlation = unit @ covariance(counts, parts) @ unit.T
    sizes = [len(root) for root in roots]
    for start, size in zip([0, *ends(sizes)], sizes, strict=True):
        correlation[start : start + size, start : start + size] = np.eye(size)
    values, vectors = np.linalg.eigh(correlation)
    correlation = (vectors * np.maximum(values, 0)) @ vectors.T
    attributes = sum(len(part.attributes) for part in parts)
    trust = counts.reports / (counts.reports + FEW_REPORTS * (len(correlation) + attributes))
    precision: Floats = np.linalg.inv((1 - trust) * np.eye(len(correlation)) + trust * correlation)
    return precision


def _root(matrix: Floats) -> tuple[Floats, Floats]:
    """The symmetric square root of an information matrix, and its inverse where there is information."""
    values, vectors = np.linalg.eigh(matrix)
    known = values > NO_INFORMATION * max(values[-1], np.finfo(float).tiny)
    roots = np.sqrt(np.where(known, values, 0))
    inverse = np.divide(1, roots, out=np.zeros_like(roots), where=known)
    return (vectors * roots) @ vectors.T, (vectors * inverse) @ vectors.T
