"""RS+RFD: what fills an attribute is drawn from its own estimated frequencies."""

from fractions import Fraction

import numpy as np

from privtally.collector.estimate import History
from privtally.collector.estimate.current import current_frequencies
from privtally.collector.learn.wanted import Found, Wanted
from privtally.exact.probability import nearest_distribution
from privtally.mechanisms.fills import Places, RowFill


def learn_rows(history: History, group: Places, _budget: Fraction, _wanted: Wanted) -> Found:
    """Each attribute's frequencies, clipped at 0."""
    frequencies = current_frequencies(history)
    return Found(RowFill(tuple(nearest_distribution(np.clip(frequencies[own], 0, None)) for own in group)))
