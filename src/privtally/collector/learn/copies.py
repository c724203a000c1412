"""Corr-RR: what fills an attribute copies the pivot's private code, or differs from it."""

from fractions import Fraction

from privtally.collector.estimate import History
from privtally.collector.estimate.current import current_frequencies, current_likelihoods
from privtally.collector.learn.robust import choose
from privtally.collector.learn.rules import copy_probabilities
from privtally.collector.learn.wanted import Found, Wanted
from privtally.mechanisms.fills import CopyFill, Places
from privtally.mechanisms.named import RandomizedResponse


def learn_copies(history: History, group: Places, budget: Fraction, wanted: Wanted) -> Found:
    """Copy probabilities by the rule."""
    if wanted.rule == "robust":
        labels = [history[-1][0].schema.attributes[own].labels for own in group]
        choice = choose(labels, budget, current_likelihoods(history, group), wanted.people, wanted.max_pivot_guess)
        fill = CopyFill(tuple(map(tuple, choice.copy_probability.tolist())))
        return Found(fill, wanted.rule, wanted.people, choice.pivot_guess)
    frequencies = current_frequencies(history)
    own_frequencies = [frequencies[own] for own in group]
    fill = CopyFill(copy_probabilities(own_frequencies, float(budget), wanted.people, wanted.rule))
    # The paper's rules are for randomized response, whatever the number of labels.
    return Found(fill, wanted.rule, wanted.people, channels=(RandomizedResponse(),) * len(group))
