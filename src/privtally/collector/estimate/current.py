"""What a campaign's history says about the people of its last round: what the next phase is learned from.

Within one round all counts are used as they are. Counts of earlier rounds fade as far as the answers seem to have
changed since, by the model of `rounds`.
"""

from privtally.collector.estimate.history import History, in_rounds
from privtally.collector.estimate.methods import IN_ROUNDS, unbiased
from privtally.exact.arrays import Floats


def current_frequencies(history: History) -> list[Floats]:
    """The frequencies of the last round: unbiased ones from one round, the default estimate from several."""
    rounds = in_rounds(history)
    if len(rounds) == 1:
        return unbiased(history, []).frequencies
    return IN_ROUNDS["likelihood"](rounds, [len(rounds) - 1], [])[0].frequencies
