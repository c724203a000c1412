"""RS+RFD: what fills an attribute is drawn from its own estimated frequencies."""

from fractions import Fraction

import numpy as np

from privtally.collector.estimate import History
from privtally.collector.estimate.current import current_frequencies
from privtally.collector.learn.secrecy import Secrecy, keep_secret, least_telling
from privtally.collector.learn.wanted import Found, Wanted
from privtally.exact.probability import nearest_distribution
from privtally.mechanisms.fills import Places, RowFill
from privtally.mechanisms.named import best_channel


def learn_rows(history: History, group: Places, budget: Fraction, wanted: Wanted) -> Found:
    """Each attribute's frequencies, clipped at 0, with as much of the least telling rows as the bound needs."""
    sizes = history[-1][0].schema.sizes
    frequencies = current_frequencies(history)
    clipped = [np.clip(frequencies[own], 0, None) for own in group]
    learned = [own / own.sum() for own in clipped]
    share = budget / wanted.pivots
    channels = [best_channel(share, sizes[own]).channel(share, sizes[own]) for own in group]
    hiding = [least_telling(channel, own) for channel, own in zip(channels, wanted.known(group, sizes), strict=True)]

    def mixed(weight: float) -> RowFill:
        rows = ((1 - weight) * own + weight * least for own, least in zip(learned, hiding, strict=True))
        return RowFill(tuple(map(nearest_distribution, rows)))

    return keep_secret(Secrecy(group, sizes, budget, wanted), mixed)
