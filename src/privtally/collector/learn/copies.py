"""Corr-RR: what fills an attribute copies the pivot's private code, or differs from it."""

from fractions import Fraction

import numpy as np

from privtally.collector.estimate import History
from privtally.collector.estimate.current import current_frequencies, current_likelihoods
from privtally.collector.learn.matches import learn_matches
from privtally.collector.learn.robust import Bound, choose, too_large
from privtally.collector.learn.rules import copy_probabilities
from privtally.collector.learn.secrecy import Secrecy, evenly
from privtally.collector.learn.wanted import Found, Wanted
from privtally.exact.arrays import Floats
from privtally.exact.probability import nearest_probability
from privtally.mechanisms.alignment import label_by_label
from privtally.mechanisms.fills import CopyFill, Places, UniformFill
from privtally.mechanisms.named import RandomizedResponse


def learn_copies(history: History, group: Places, budget: Fraction, wanted: Wanted) -> Found:
    """Copy probabilities by the rule, or probabilities of matches where labels do not correspond one by one."""
    if not label_by_label(history[-1][0].schema, group):
        return learn_matches(history, group, budget, wanted)
    if wanted.rule == "robust":
        schema = history[-1][0].schema
        labels = [schema.attributes[own].labels for own in group]
        secrecy = Secrecy(group, schema.sizes, budget, wanted)
        bound = _bound(secrecy)
        if too_large(labels) or not _can_be_kept(bound, secrecy):
            return evenly(secrecy)
        choice = choose(labels, budget, current_likelihoods(history, group), wanted.people, bound)
        return Found(_fill(choice.copy_probability), wanted.rule, wanted.people, choice.pivot_guess)
    frequencies = current_frequencies(history)
    own_frequencies = [frequencies[own] for own in group]
    fill = CopyFill(copy_probabilities(own_frequencies, float(budget), wanted.people, wanted.rule))
    # The paper's rules are for randomized response, whatever the number of labels.
    return Found(fill, wanted.rule, wanted.people, channels=(RandomizedResponse(),) * len(group))


def _fill(copy_probability: Floats) -> CopyFill:
    return CopyFill(tuple(map(tuple, copy_probability.tolist())))


def _can_be_kept(bound: Bound, secrecy: Secrecy) -> bool:
    """Whether it is known how often copies name the pivot, if that matters: codes may be too many to say."""
    attributes = len(secrecy.group)
    codes = secrecy.part(UniformFill()).answers[0]
    copies = np.full((attributes, attributes), nearest_probability(1 / codes))
    np.fill_diagonal(copies, 1.0)
    return secrecy.wanted.max_pivot_guess == 1 or bound.guess is None or bound.guess(copies) < 1


def _bound(secrecy: Secrecy) -> Bound:
    """The bound for copies. To an observer who knows nothing the codes of randomized response are uniform."""
    part = secrecy.part(_fill(np.ones((len(secrecy.group),) * 2)))
    uniform = secrecy.wanted.totals is None and part.asked[0].inside == 1
    return Bound(
        allowed=lambda least, even: secrecy.allowed(part, least, even),
        guess=None if uniform else lambda copies: secrecy.guess(secrecy.part(_fill(copies))),
    )
