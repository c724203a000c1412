"""Which attributes to put together in the next phase, from the reports of earlier ones.

Candidates are every attribute alone (SPL), all in one group, the best groups of each number before anybody has answered
(`mechanisms.grouping`), and, for few attributes whose fills depend on the pivot, what merging two groups at a time
finds. Each has the fills that `learn` would learn for it, so that its law is known when it is compared. What remains
open is the answers, and these enter as far as the reports of earlier phases say:

    fills that do not depend on the pivot   the variance of the unbiased estimate of all phases, at the pooled estimate
    fills that do                           the pooled estimate's error, for each pair of the prior's variances

In the second case earlier phases give a posterior over the pairs, and the criterion is the mean logarithm of the error.
The standard deviation, over the pairs, of its difference to another candidate's says how far the reports support a
choice. Merged groups replace the best of the others only if their gain is larger than that.

How much worse than SPL and one group the choice can be: its criterion is at most that of each of them. If no criterion
is further than a factor e^δ from the error that its groups will have, then e^(−δ) · error of the choice ≤ its criterion
≤ criterion of the better end ≤ e^δ · error of the better end: the choice has at most e^(2δ) times the error of either.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from privtally.collector.estimate import History
from privtally.collector.learn.judges import MOST_DIRECTIONS, Judge, LearnPart, PooledJudge, UnbiasedJudge
from privtally.collector.learn.secrecy import UnattainableGuessError
from privtally.collector.learn.wanted import Wanted
from privtally.documents.plan import Plan
from privtally.errors import LearningError, PlanError
from privtally.exact.arrays import Floats
from privtally.mechanisms import NAMED
from privtally.mechanisms.fills import Places
from privtally.mechanisms.grouping import groups_by_number, in_order
from privtally.mechanisms.named import Groups

MOST_MERGED = 8
"""With more attributes groups are not merged: there would be too many to learn fills for."""


@dataclass(frozen=True)
class GroupChoice:
    """The groups with the least expected error, and that of every candidate: the mean squared error of a frequency
    of the final estimate.

    `before` are the groups that would have been chosen before anybody had answered.
    """

    groups: Groups
    before: Groups
    errors: dict[Groups, float]

    @property
    def error(self) -> float:
        """The expected error of the chosen groups."""
        return self.errors[self.groups]


def choose_groups(history: History, wanted: Wanted, learn_part: LearnPart) -> GroupChoice:
    """The groups for the next phase of a campaign; `learn_part` learns a group's part."""
    plan = history[-1][0]
    named, sizes = NAMED[plan.mechanism], plan.schema.sizes
    learned = named.learned
    assert learned is not None
    compared = _Compared(_judge(history, wanted, learn_part), lambda group: learned.check_labels(plan.schema, group))
    by_number = groups_by_number(sizes, Fraction(plan.epsilon), named)
    for _, groups in by_number.values():
        compared.add(groups)
    compared.add(_alone(plan))
    if not compared.logs:
        raise LearningError("no groups can be chosen for these questions and this epsilon; name them")
    best = compared.best(compared.logs)
    if learned.conditional and len(sizes) <= MOST_MERGED:
        merged = compared.merged(_alone(plan))
        best = min((own for own in merged if compared.supports(own, best)), key=compared.expected, default=best)
    _, before = min(by_number.values(), key=lambda own: own[0], default=(0.0, best))
    return GroupChoice(best, in_order(before), compared.errors())


def _judge(history: History, wanted: Wanted, learn_part: LearnPart) -> Judge:
    plan = history[-1][0]
    learned = NAMED[plan.mechanism].learned
    assert learned is not None
    sizes = plan.schema.sizes
    if learned.conditional and sum(sizes) - len(sizes) <= MOST_DIRECTIONS:
        return PooledJudge(history, wanted.people, learn_part)
    return UnbiasedJudge(history, wanted.people, None if learned.conditional else learn_part)


def _alone(plan: Plan) -> Groups:
    return tuple((own,) for own in range(len(plan.schema.sizes)))


class _Compared:
    """Candidates with the logarithms of their expected errors, case by case; `check` refuses a group."""

    def __init__(self, judge: Judge, check: Callable[[Places], None]) -> None:
        self._judge, self._check = judge, check
        self.logs: dict[Groups, Floats] = {}

    def add(self, groups: Groups) -> bool:
        """Judge groups if the next phase can have them, and say whether it can."""
        groups = in_order(groups)
        if groups not in self.logs:
            try:
                for group in groups:
                    self._check(group)
                self.logs[groups] = np.log(self._judge.errors(groups))
            except (PlanError, UnattainableGuessError):
                return False
        return True

    def expected(self, groups: Groups) -> float:
        """The criterion: the mean logarithm of the error."""
        return float(self._judge.weights @ self.logs[groups])

    def best(self, candidates: Iterable[Groups]) -> Groups:
        return min(candidates, key=self.expected)

    def supports(self, groups: Groups, instead: Groups) -> bool:
        """Whether the gain of groups is larger than its standard deviation over what is open."""
        gain = self.logs[instead] - self.logs[groups]
        mean = float(self._judge.weights @ gain)
        return mean > float(np.sqrt(self._judge.weights @ (gain - mean) ** 2))

    def merged(self, start: Groups) -> list[Groups]:
        """What merging the two groups that gain most finds, one pair of groups after the other."""
        found, groups = [], start
        while len(groups) > 1:
            options = []
            for one, two in combinations(groups, 2):
                option = in_order((*(group for group in groups if group not in (one, two)), one + two))
                options += [option] if self.add(option) else []
            if not options:
                break
            groups = self.best(options)
            found.append(groups)
        return found

    def errors(self) -> dict[Groups, float]:
        """The expected error of every candidate: the geometric mean over what is open."""
        return {groups: float(np.exp(self.expected(groups))) for groups in self.logs}
