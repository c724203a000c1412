"""How often somebody who sees a sub-report names the attributes that were asked: exactly, or a bound.

The observer knows the plan and the marginals of every answer, and takes a person's answers to be independent. Given
what a sub-report y shows, and the branch b, it has the probability

    h_b(y) = Π asked π_s(y_s) · Π decoys F_b→j(y_j | y_b),

π_s being the distribution of the private codes of s. The best guess names the branch with the largest one, and is right
(1/branches) Σ_y max_b h_b(y) of the time, branches being those of the shown attributes: with even fills, and answers
that are equally likely, exactly 1/branches for randomized response.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice
from math import prod

import numpy as np

from privtally.exact.arrays import Floats
from privtally.mechanisms.fills import Places
from privtally.mechanisms.part import Part

MAX_CELLS = 1 << 20
"""The most numbers that are looked at: sub-reports times branches, or the cells of the tables that a bound needs."""
MAX_SETS = 2_000
"""The most shown sets that are looked at, sets of attributes that look alike counting once."""
ROUNDED_UP = 1 + 2**-40
"""Guesses are sums of up to `MAX_CELLS` products of floats; with this factor no exact one is too small."""


@dataclass(frozen=True)
class PivotGuess:
    """The chance of naming all asked attributes of a part up to the rounding of floats, or a bound on it.

    An exact value is never below the chance. A bound can be, by about 10^-8, where the branches hardly differ: it has
    the root of a difference that is rounded.
    """

    value: float
    exact: bool = True


def pivot_guess(part: Part, marginals: Sequence[Floats]) -> PivotGuess:
    """The guess of an observer who knows these marginals of the part's attributes."""
    if part.fill is None:
        return PivotGuess(1.0)
    private = [channel.push(np.asarray(own, dtype=float)) for channel, own in zip(part.asked, marginals, strict=True)]
    sets = list(islice(part.alike_sets(_kinds(part, private)), MAX_SETS + 1))
    if len(sets) > MAX_SETS:
        return PivotGuess(min(distance_bound(part, private) * ROUNDED_UP, 1.0), exact=False)
    total, exact = 0.0, True
    for number, places in sets:
        found = _of_shown(part.showing(places) if part.silent else part, [private[own] for own in places])
        total, exact = total + number * found.value, exact and found.exact
    return PivotGuess(min(total / sum(number for number, _ in sets) * ROUNDED_UP, 1.0), exact)


def _kinds(part: Part, private: Sequence[Floats]) -> list[Hashable]:
    """Attributes of one kind look alike to the observer, where fills depend on nothing."""
    assert part.fill is not None
    if part.fill.conditional:
        return list(range(len(private)))
    rows = [_row(part, own) for own in range(len(private))]
    return [(codes.tobytes(), row.tobytes()) for codes, row in zip(private, rows, strict=True)]


def _row(part: Part, own: int) -> Floats:
    """The law of a decoy whose fill depends on nothing."""
    branch = next(branch for branch in part.branches if own not in branch)
    return part.filling(branch, own).push(np.ones(1))


def distance_bound(part: Part, private: Sequence[Floats]) -> float:
    """A bound where there are too many shown sets to look at: 1/c + the mean distance of a private code from a fill.

    With fills r_j that depend on nothing, one pivot and c shown attributes, Σ_y max_s h_s = E_r max_s π_s/r_s is at
    most 1 + Σ_s E_r (π_s/r_s − 1)⁺, and E_r (π_s/r_s − 1)⁺ is the distance in total variation of π_s from r_s.
    """
    assert part.fill is not None
    if part.fill.conditional or part.pivots > 1:
        return 1.0
    distances = [np.maximum(codes - _row(part, own), 0).sum() for own, codes in enumerate(private)]
    return min(1 / part.shown + float(np.mean(distances)), 1.0)


def _of_shown(part: Part, private: Sequence[Floats]) -> PivotGuess:
    """The guess where every attribute is shown."""
    assert part.fill is not None
    exact = True
    if part.pivots == 1 and not part.fill.conditional:
        value = _independent(part, private)
    elif prod(part.answers) * len(part.branches) <= MAX_CELLS:
        value = _enumerated(part, private)
    elif not part.fill.conditional:
        value, exact = _unconditional_bound(part, private), False
    else:
        value, exact = second_moment_bound(part, private), False
    return PivotGuess(value, exact)


def _independent(part: Part, private: Sequence[Floats]) -> float:
    """Fills r_j that depend on nothing, and one pivot.

    Then h_s(y) = Π_j r_j(y_j) · π_s(y_s)/r_s(y_s): the expected largest of independent ratios, from the product of
    their distribution functions. A code that is never filled names the pivot.
    """
    values, places, chances, certain = [], [], [], 0.0
    for own, codes in enumerate(private):
        row = _row(part, own)
        filled = row > 0
        certain += float(codes[~filled].sum())
        values.append(codes[filled] / row[filled])
        chances.append(row[filled])
        places.append(np.full(int(filled.sum()), own))
    ratio, place, chance = map(np.concatenate, (values, places, chances))
    order = np.argsort(ratio, kind="stable")
    reached: Floats = np.ones(len(order))
    for own in range(len(private)):
        reached *= np.cumsum(np.where(place[order] == own, chance[order], 0.0))
    largest = float(ratio[order] @ np.diff(reached, prepend=0.0))
    return (largest + certain) / len(part.branches)


def _enumerated(part: Part, private: Sequence[Floats]) -> float:
    """Sub-report by sub-report."""
    largest: Floats = np.zeros(part.answers)
    for branch in part.branches:
        law = np.ones(part.answers)
        for axes, table in _factors(part, branch, private):
            law *= _on(table, axes, len(part.answers))
        np.maximum(largest, law, out=largest)
    return float(largest.sum()) / len(part.branches)


def _on(table: Floats, axes: Places, width: int) -> Floats:
    """A table with its axes at these places among so many."""
    shape = [1] * width
    for axis, size in zip(axes, table.shape, strict=True):
        shape[axis] = size
    return table.transpose(np.argsort(axes)).reshape(shape)


def _factors(part: Part, branch: Places, private: Sequence[Floats]) -> list[tuple[Places, Floats]]:
    """The factors of h_b, each with the attributes that it depends on."""
    asked = [((own,), private[own]) for own in branch]
    return [*asked, *(((*branch, other), _filling(part, branch, other)) for other in part.others(branch))]


def _filling(part: Part, branch: Places, other: int) -> Floats:
    """F_b→j with an axis for each pivot and one for the filled code."""
    given = [part.answers[own] for own in branch]
    return part.filling(branch, other).push(np.eye(prod(given))).reshape(*given, part.answers[other])


def second_moment_bound(part: Part, private: Sequence[Floats]) -> float:
    """A bound from second moments; at least 1 where they are too large to compute.

    For any distribution q of sub-reports let r_b = h_b/q, with the mean r̄ over the B branches. The largest of B numbers
    exceeds their mean by at most √((B−1)/B · Σ_b (r_b − r̄)²) (Samuelson), and by Jensen's inequality

        Σ_y max_b h_b = E_q max_b r_b ≤ 1 + √((B−1)/B · E_q Σ_b (r_b − r̄)²).

    With M_bc = E_q r_b r_c = Σ_y h_b h_c / q the expectation is tr M − ΣM/B. The bound is 1/B, the least there is,
    where all h_b are equal. q is the product of the reported marginals, so that it is 0 only where all h_b are. Being a
    product over attributes it makes M_bc a sum over the pivots' codes alone, of products over attributes:

        M_bc = Σ_x Σ_x' π_b(x) π_c(x') Π_j Σ_y A_b(j, x, y) A_c(j, x', y) / q_j(y),

    A_b(j, x, y) being the chance of the code y of attribute j if the pivots of b have the codes x.
    """
    branches, width = part.branches, max(part.answers)
    if (len(branches) * prod(sorted(part.answers)[-part.pivots :])) ** 2 > MAX_CELLS:
        return 1.0
    codes = [_outer([private[own] for own in branch]).ravel() for branch in branches]
    tables = [_given(part, branch, width) for branch in branches]
    reported = sum((chances @ table for chances, table in zip(codes, tables, strict=True)), np.zeros(1)) / len(branches)
    weight = np.divide(1, reported, out=np.zeros_like(reported), where=reported > 0)
    trace, total = 0.0, 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for one, two in combinations_with_replacement(range(len(branches)), 2):
            alike = (tables[one] * weight[:, None]) @ tables[two].transpose(0, 2, 1)
            moment = float(codes[one] @ alike.prod(axis=0) @ codes[two])
            trace += moment if one == two else 0.0
            total += moment if one == two else 2 * moment
    return _bounded(len(branches), trace, total)


def _bounded(branches: int, trace: float, total: float) -> float:
    """The bound from the trace of M and the sum of all its entries."""
    spread = trace - total / branches
    if not np.isfinite(spread):
        return 1.0
    return (1 + float(np.sqrt((branches - 1) / branches * max(spread, 0.0)))) / branches


def _unconditional_bound(part: Part, private: Sequence[Floats]) -> float:
    """The same bound for fills that depend on nothing, whatever the number of codes and branches.

    Then M_bc is a product over attributes of one of three numbers, for those that both branches ask, one of them or
    none; the sum over all pairs of branches is the coefficient of x^m y^m in Π_j (none + (x + y)·one + x·y·both).
    """
    pivots, share = part.pivots, part.pivots / len(part.attributes)
    sums, squares = np.zeros((pivots + 1, pivots + 1)), np.zeros(pivots + 1)
    sums[0, 0] = squares[0] = 1.0
    for own, codes in enumerate(private):
        row = _row(part, own)
        reported = share * codes + (1 - share) * row
        held = reported > 0
        none, one, both = (
            float(np.sum(first[held] * second[held] / reported[held]))
            for first, second in ((row, row), (row, codes), (codes, codes))
        )
        more = none * sums
        more[1:] += one * sums[:-1]
        more[:, 1:] += one * sums[:, :-1]
        more[1:, 1:] += both * sums[:-1, :-1]
        squares = np.concatenate([none * squares[:1], none * squares[1:] + both * squares[:-1]])
        sums = more
    return _bounded(len(part.branches), float(squares[-1]), float(sums[-1, -1]))


def _outer(tables: Sequence[Floats]) -> Floats:
    product = tables[0]
    for table in tables[1:]:
        product = np.multiply.outer(product, table)
    return product


def _given(part: Part, branch: Places, width: int) -> Floats:
    """The chance of each code given a branch and its private codes (attribute, private codes, code of the attribute);
    a pivot has its own code.
    """
    given = [part.answers[own] for own in branch]
    table: Floats = np.zeros((len(part.answers), prod(given), width))
    for own, answers in enumerate(part.answers):
        if own in branch:
            own_codes = np.unravel_index(np.arange(prod(given)), given)[branch.index(own)]
            table[own, np.arange(prod(given)), own_codes] = 1
        else:
            table[own, :, :answers] = _filling(part, branch, own).reshape(prod(given), answers)
    return table
