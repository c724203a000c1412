"""What a campaign's history says about the people of its last round: what the next phase is learned from.

Within one round all counts are used as they are. Counts of earlier rounds fade as far as the answers seem to have
changed since, by the model of `local_level`.
"""

import numpy as np

from privtally.collector.estimate.history import History, in_rounds
from privtally.collector.estimate.likelihood import Likelihood
from privtally.collector.estimate.local_level import Rounds
from privtally.collector.estimate.methods import IN_ROUNDS, unbiased
from privtally.collector.estimate.stacked import PhaseLikelihood
from privtally.exact.arrays import Floats
from privtally.mechanisms.fills import Places


def current_frequencies(history: History) -> list[Floats]:
    """The frequencies of the last round: unbiased ones from one round, the pooled estimate from several."""
    rounds = in_rounds(history)
    if len(rounds) == 1:
        return unbiased(history, []).frequencies
    return IN_ROUNDS["pooled"](rounds, [len(rounds) - 1], [])[0].frequencies


def current_likelihoods(history: History, group: Places) -> list[Likelihood]:
    """Likelihoods of a group's frequencies in the last round; earlier rounds count as far as the most plausible change
    lets them.
    """
    rounds = [[PhaseLikelihood(plan, counts, group) for plan, counts in phases] for phases in in_rounds(history)]
    if len(rounds) == 1:
        return list(rounds[0])
    attributes = history[0][0].schema.attributes
    found = Rounds(rounds, [attributes[own].labels for own in group])
    return found.about(len(rounds) - 1, float(found.changes[np.argmax(found.weights)]))
