"""Which attributes to put together: the variance of an unbiased estimate, and the groups that make it least.

A group of g attributes has one pivot and the budget epsilon/t if there are t groups. Fewer groups leave more budget to
each pivot; more groups ask more of everybody. Hidden among c attributes, a frequency's variance from one report is

    g · min(c, g) · V(epsilon/t, k)

V being the variance that the attribute's channel has on its k labels, at uniform answers. SPL is g = 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privtally.errors import PlanError
from privtally.exact.types import Floats
from privtally.mechanisms.fills import Fill
from privtally.mechanisms.named import Groups, RandomizedResponse, best_channel
from privtally.mechanisms.projective import even_variance

MOST_GROUPS = 32
"""The most groups that are tried, besides every attribute alone: more have too little of the largest budget."""


@dataclass(frozen=True)
class Grouping:
    """Groups, and the variance of a frequency that one person's report gives, on average over attributes and labels.

    `together` is that of one group of all attributes, None where they cannot be in one group; `alone` that of every
    attribute in a group of its own, None where 64-bit weights cannot realise so small a budget.
    """

    groups: Groups
    variance: float
    together: float | None
    alone: float | None


@lru_cache(maxsize=1 << 14)
def answer_variance(budget: Fraction, size: int, *, by_label: bool = False) -> float:
    """The variance of a frequency from one answer at uniform answers, through the best channel for so many labels, or
    through randomized response where fills need labels.
    """
    kind = RandomizedResponse() if by_label else best_channel(budget, size)
    channel = kind.channel(budget, size)
    return even_variance(channel.same / channel.other, channel.outputs, channel.inside, channel.meet, size)


def hidden_variances(
    sizes: Sequence[int], epsilon: Fraction, groups: Groups, among: int | None, learned: type[Fill] | None = None
) -> list[float]:
    """For each attribute the variance of its frequencies from one report, hidden `among` so many of its group, all of
    them if None.
    """
    variances = [0.0] * len(sizes)
    for group in groups:
        shown = len(group) if among is None else min(among, len(group))
        by_label = len(group) > 1 and learned is not None and learned.by_label
        for attribute in group:
            variance = answer_variance(epsilon / len(groups), sizes[attribute], by_label=by_label)
            variances[attribute] = len(group) * shown * variance
    return variances


def best_groups(
    sizes: Sequence[int], epsilon: Fraction, among: int | None, learned: type[Fill] | None = None
) -> Grouping:
    """The groups with the least variance, of all partitions into at most MOST_GROUPS groups and that of every attribute
    alone, pivots being hidden `among` so many attributes; learned fills are taken to be even.
    """
    found = groups_by_number(sizes, epsilon, among, learned)
    candidates = [own for number, own in found.items() if number < len(sizes) or learned is None]
    if not candidates:
        raise PlanError("no groups can be chosen for these questions and this epsilon; name them, or use spl")
    variance, groups = min(candidates, key=lambda candidate: candidate[0])
    together, alone = (found[number][0] if number in found else None for number in (1, len(sizes)))
    return Grouping(groups, variance, together, alone)


def groups_by_number(
    sizes: Sequence[int], epsilon: Fraction, among: int | None, learned: type[Fill] | None = None
) -> dict[int, tuple[float, Groups]]:
    """For each number of groups that can be had the least variance and the groups that have it.

    For groups of given sizes it is best to put the attributes with the largest variance into the smallest groups. So
    the best groups are runs of the attributes in the order of their variances, and dynamic programming finds them. A
    group has one attribute, or at least as many as a pivot is to be hidden among.
    """
    found: dict[int, tuple[float, Groups]] = {}
    by_label = learned is not None and learned.by_label
    for number in sorted({*range(1, min(len(sizes), MOST_GROUPS) + 1), len(sizes)}):
        try:
            costs = tuple(answer_variance(epsilon / number, size, by_label=by_label) for size in sizes)
        except PlanError:
            break  # more groups have still less budget
        groups = _best_runs(costs, number, among)
        if groups is not None and all(_takes(learned, [sizes[own] for own in group]) for group in groups):
            variances = hidden_variances(sizes, epsilon, groups, among, learned)
            found[number] = sum(variances) / len(variances), tuple(sorted(tuple(sorted(group)) for group in groups))
    return found


def _takes(learned: type[Fill] | None, sizes: Sequence[int]) -> bool:
    """Whether attributes with these numbers of labels can be in one group."""
    try:
        if learned is not None and len(sizes) > 1:
            learned.check_sizes(sizes, 1)
    except PlanError:
        return False
    return True


@lru_cache(maxsize=256)
def _best_runs(costs: tuple[float, ...], number: int, among: int | None) -> Groups | None:
    """The partition into so many groups with the least sum of variances; None if there is none."""
    order = sorted(range(len(costs)), key=lambda own: -costs[own])
    before = np.concatenate([[0.0], np.cumsum([costs[own] for own in order])])
    places = np.arange(len(order) + 1)
    lengths = places[None, :] - places[:, None]
    least = 1 if among is None else min(among, len(costs))
    shown = lengths if among is None else np.minimum(lengths, among)
    run = np.where((lengths == 1) | (lengths >= least), lengths * shown * (before[None, :] - before[:, None]), np.inf)
    run[lengths <= 0] = np.inf
    return _cheapest_cut(run, order, number)


def _cheapest_cut(run: Floats, order: Sequence[int], number: int) -> Groups | None:
    """The cut of a sequence into so many runs with the least sum of run[start, end]; None if all are infinite."""
    places = np.arange(len(order) + 1)
    best, starts = run[0], [np.zeros(len(places), dtype=np.int64)]
    for _ in range(number - 1):
        options = best[:, None] + run
        starts.append(np.argmin(options, axis=0))
        best = options[starts[-1], places]
    if not np.isfinite(best[-1]):
        return None
    groups, end = [], len(order)
    for start in reversed(starts):
        groups.append(tuple(order[start[end] : end]))
        end = int(start[end])
    return tuple(groups)
