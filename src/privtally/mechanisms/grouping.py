"""Which attributes to put together: the variance of an unbiased estimate, and the groups that make it least.

A group of g attributes has one pivot and the budget epsilon/t if there are t groups. Fewer groups leave more budget to
each pivot; more groups ask more of everybody. Where filled attributes hide the pivot, a frequency's variance grows with
g², where they are silent with g. What is best depends on the numbers of labels, epsilon and the kind of fill, and a
little on the answers: before anybody has answered, all distributions are taken to be equally likely.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privtally.errors import PlanError
from privtally.exact.arrays import Floats
from privtally.mechanisms.channel import Asked
from privtally.mechanisms.named import Groups, Named, RandomizedResponse, best_channel

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


def unbiased_variance(
    channel: Asked, share: float = 1.0, frequencies: Floats | None = None, fill: Floats | None = None
) -> float:
    """The variance of the unbiased estimate from one report, on average over labels; uniform answers if none are given.

    The report answers the attribute with probability `share` and otherwise has a code with the chances of a fill, even
    ones if none are given.
    """
    labels = channel.inputs
    true = np.full(labels, 1 / labels) if frequencies is None else frequencies
    reported = share * channel.push(true) + (1 - share) * (1 / channel.outputs if fill is None else fill)
    # A code belongs to the sets of `held` labels; the estimate moves every label by the same so that their sum is 1.
    held = channel.holder_counts()
    squares = float(reported @ (held - held**2 / labels))
    observed = channel.support(reported)
    slope = share * (channel.inside - channel.meet) * (channel.same - channel.other) / channel.total
    return (squares - float(np.sum((observed - observed.mean()) ** 2))) / (labels * slope**2)


def best_groups(sizes: Sequence[int], epsilon: Fraction, named: Named) -> Grouping:
    """The groups with the least expected variance, of all partitions into at most MOST_GROUPS groups and that of every
    attribute alone; learned fills are taken to be even.

    For groups of given sizes it is best to put the attributes with the largest variance into the smallest groups. So
    the best groups are runs of the attributes in the order of their variances, and dynamic programming finds them.
    """
    named.check_takes_groups()
    found = groups_by_number(sizes, epsilon, named)
    candidates = [own for number, own in found.items() if number < len(sizes) or not named.learns]
    if not candidates:
        raise PlanError("no groups can be chosen for these questions and this epsilon; name them, or use spl")
    variance, groups = min(candidates, key=lambda candidate: candidate[0])
    together, alone = (found[number][0] if number in found else None for number in (1, len(sizes)))
    return Grouping(in_order(groups), variance, together, alone)


def groups_by_number(sizes: Sequence[int], epsilon: Fraction, named: Named) -> dict[int, tuple[float, Groups]]:
    """For each number of groups that can be had the least expected variance and the groups that have it."""
    found: dict[int, tuple[float, Groups]] = {}
    for number in sorted({*range(1, min(len(sizes), MOST_GROUPS) + 1), len(sizes)}):
        try:
            channels = {size: _channel(epsilon / number, size, named, alone=False) for size in set(sizes)}
        except PlanError:
            break  # more groups have still less budget
        cost = _expected_variance if _silent(named) else _even_variance  # hidden: the difference is the same for all
        costs = {size: cost(channel, 1.0) for size, channel in channels.items()}
        groups = _best_runs(tuple(costs[size] for size in sizes), number, _power(named))
        if groups is not None and all(_takes(named, [sizes[own] for own in group]) for group in groups):
            own_channels = [channels[size] for size in sizes]
            for (own,) in (group for group in groups if len(group) == 1):
                own_channels[own] = _channel(epsilon / number, sizes[own], named, alone=True)
            found[number] = mean_variance(own_channels, groups, named), groups
    return found


def in_order(groups: Groups) -> Groups:
    """The same groups, the attributes of each in order and the groups by their first attribute."""
    return tuple(sorted(tuple(sorted(group)) for group in groups))


def _silent(named: Named) -> bool:
    return named.fill is not None and named.fill.silent


def _power(named: Named) -> int:
    """How a variance grows with the number of attributes in a group."""
    return 1 if _silent(named) else 2


def _channel(budget: Fraction, size: int, named: Named, *, alone: bool) -> Asked:
    """The channel of an attribute; one alone in its group has no fill that would need labels."""
    by_label = not alone and named.learned is not None and named.learned.by_label
    return (RandomizedResponse() if by_label else best_channel(budget, size)).channel(budget, size)


def mean_variance(channels: Sequence[Asked], groups: Groups, named: Named) -> float:
    """The mean over attributes of the expected variance of their frequencies."""
    total = 0.0
    for group in groups:
        many, share = (len(group), 1.0) if _silent(named) else (1, 1 / len(group))
        for own in group:
            total += many * _expected_variance(channels[own], share)
    return total / len(channels)


def _expected_variance(channel: Asked, share: float) -> float:
    """The unbiased variance on average over all distributions of the answers, each as likely (Dirichlet(1)).

    Frequencies that differ from uniform ones make it smaller by the mean of their squared differences.
    """
    labels = channel.inputs
    return _even_variance(channel, share) - (labels - 1) / (labels**2 * (labels + 1))


@lru_cache(maxsize=4096)
def _even_variance(channel: Asked, share: float) -> float:
    """The unbiased variance at uniform answers; many attributes have the same channel, and many groups are compared."""
    return unbiased_variance(channel, share)


def _takes(named: Named, sizes: Sequence[int]) -> bool:
    """Whether a mechanism can have attributes with these numbers of labels in one group."""
    try:
        if named.learned is not None and len(sizes) > 1:
            named.learned.check_sizes(sizes, 1)
    except PlanError:
        return False
    return True


@lru_cache(maxsize=256)
def _best_runs(costs: tuple[float, ...], number: int, power: int) -> Groups | None:
    """The partition into so many groups with the least sum of costs, each times a power of its group's size; None if
    there is none.
    """
    order = sorted(range(len(costs)), key=lambda own: -costs[own])
    before = np.concatenate([[0.0], np.cumsum([costs[own] for own in order])])
    places = np.arange(len(order) + 1)
    lengths = places[None, :] - places[:, None]
    run = np.maximum(lengths, 0).astype(float) ** power * (before[None, :] - before[:, None])
    run[lengths <= 0] = np.inf
    return cheapest_cut(run, order, number)


def cheapest_cut(run: Floats, order: Sequence[int], number: int) -> Groups | None:
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
