"""Corr-RR: what fills an attribute goes with the pivot's private label, or differs from it.

Between attributes with the same labels it is a copy; between others a label of the class that matches, and an even fill
where nothing goes together.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np

from privtally.collector.estimate import History, unbiased
from privtally.collector.learn.rules import (
    MOST_ATTRIBUTES,
    PairError,
    copy_probabilities,
    nearest,
    safe_copies,
    spread,
)
from privtally.errors import LearningError
from privtally.exact.probability import nearest_probability
from privtally.mechanisms.aligned import AlignedPair
from privtally.mechanisms.alignment import Classes, alignment_of, label_by_label
from privtally.mechanisms.fills import AlignedFill, CopyFill, Places, UniformFill
from privtally.mechanisms.named import PartPlan, RandomizedResponse, asking, best_channel
from privtally.names import RULES_LABEL_BY_LABEL, Rule

MOST_MATCHED = 4_096
"""With more labels in a group that do not correspond one by one, fills are even."""


def learn_copies(history: History, group: Places, budget: Fraction, rule: Rule, people: int) -> PartPlan:
    """Copy probabilities by the rule, or probabilities of matches where labels do not correspond one by one."""
    plan = history[-1][0]
    sizes = plan.schema.sizes
    # What the rule takes to be safe is safe where all attributes are shown.
    some = plan.decoys is not None and plan.decoys < len(group) - 1
    large = len(group) > MOST_ATTRIBUTES or any(_large(budget, sizes[own]) for own in group)
    if rule == "robust" and (some or large):
        return asking(group, sizes, budget, UniformFill(), decoys=plan.decoys)
    fill = (_copies if label_by_label(plan.schema, group) else _matches)(history, group, budget, rule, people)
    # The paper's rules are for randomized response, whatever the number of labels.
    channels = None if isinstance(fill, UniformFill) else (RandomizedResponse(),) * len(group)
    return asking(group, sizes, budget, fill, decoys=plan.decoys, channels=channels)


def _large(budget: Fraction, size: int) -> bool:
    """Whether labels are so many that randomized response, of which the rules are, is not their best channel."""
    return not isinstance(best_channel(budget, size), RandomizedResponse)


def _copies(history: History, group: Places, budget: Fraction, rule: Rule, people: int) -> CopyFill:
    found = unbiased(history, [])
    frequencies, variances = ([own[place] for place in group] for own in (found.frequencies, found.variances))
    return CopyFill(copy_probabilities(frequencies, float(budget), people, rule, variances))


def _matches(history: History, group: Places, budget: Fraction, rule: Rule, people: int) -> AlignedFill | UniformFill:
    """For each pair and direction the probability of a match with the least error, or an even fill."""
    if rule in RULES_LABEL_BY_LABEL:
        raise LearningError(
            f"the rule '{rule}' is for questions whose answers correspond one by one; use robust or proposition"
        )
    schema = history[-1][0].schema
    pairs = {
        (one, two): classes
        for one, two in combinations(range(len(group)), 2)
        if (classes := alignment_of(schema, group[one], group[two])) is not None
    }
    if not pairs or sum(schema.sizes[own] for own in group) > MOST_MATCHED:
        return UniformFill()
    found = unbiased(history, [])
    frequencies = [found.frequencies[own] for own in group]
    spreads = [spread(found.variances[own]) for own in group]
    asked = [RandomizedResponse().channel(budget, schema.sizes[own]) for own in group]

    def match(pair: tuple[int, int], classes: Classes, pivot: int, other: int) -> float | None:
        private = asked[pivot].push(np.eye(asked[pivot].inputs))
        fills = [AlignedPair.of(pair, classes, (p, p)).channel(pivot) for p in (0.0, 1.0)]
        never, always = (fill.push(private) for fill in fills if fill is not None)
        scale = float(asked[other].scale or 0)
        noise = spreads[pivot] if rule == "robust" else 0.0
        best = PairError(frequencies[other], scale, people).best_match(frequencies[pivot], never, always, noise)
        if best is not None and rule == "robust":
            held = sum(1 for own in classes if own[other == pair[1]])
            best = nearest(safe_copies(len(group), held, 1 / spreads[other], people * scale**2), best)
        return None if best is None else nearest_probability(best)

    stated = ((pair, own, (match(pair, own, *pair), match(pair, own, *pair[::-1]))) for pair, own in pairs.items())
    matched = tuple(AlignedPair.of(pair, own, chances) for pair, own, chances in stated if chances != (None, None))
    return AlignedFill(matched) if matched else UniformFill()
