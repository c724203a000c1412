"""Many labels of one attribute, most of them rare: each frequency is pulled to 1/k as far as it looks like noise.

The differences from 1/k have a mixture of normal distributions with mean 0 as their prior; how much of each variance
there is, is learned from all labels together (Stephens, "False discovery rates: a new deal", Biostatistics 2017). One
normal distribution for all labels would pull the few frequent ones as far as the many rare ones.
"""

import numpy as np

from privtally.exact.types import Floats

STEP = 2.0
"""Each variance of the mixture is this many times the one before."""
MOST_ROUNDS, CLOSE_ENOUGH = 500, 1e-6
"""The mixture is fitted until no weight moves by more than this."""
RARE = 10.0
"""The least variance counts as this many labels more than were seen: where nothing stands out, nothing should."""


MOST_FITTED = 1 << 10
"""So many of the largest differences are fitted one by one; of the others a sample of as many stands for all."""


def shrink(frequencies: Floats, variance: float) -> tuple[Floats, Floats]:
    """Mean and variance of every frequency, from unbiased ones with this variance."""
    difference = frequencies - 1 / len(frequencies)
    largest = max(float(np.max(difference**2)), variance)
    steps = int(np.ceil(np.log(16 * largest / variance) / np.log(STEP)))
    # Nobody knows beforehand that a label is given by exactly 1/k: shares of k labels differ by about 1/k anyway.
    prior = np.concatenate([[len(frequencies) ** -2.0], variance / 16 * STEP ** np.arange(steps + 1)])
    density = _densities(difference, prior + variance) * _mixture(difference, prior + variance)
    member = density / density.sum(axis=1, keepdims=True)
    kept = prior / (prior + variance)
    mean = (member @ kept) * difference
    square = member @ (kept * variance) + (member @ kept**2) * difference**2
    return 1 / len(frequencies) + mean, square - mean**2


def _mixture(difference: Floats, total: Floats) -> Floats:
    """How much of each variance there is, by the largest likelihood of all differences."""
    falling = np.sort(np.abs(difference))[::-1]
    step = max(1, (len(falling) - MOST_FITTED) // MOST_FITTED)
    fitted = np.concatenate([falling[:MOST_FITTED], falling[MOST_FITTED::step]])
    times = np.concatenate([np.ones(len(falling[:MOST_FITTED])), np.full(len(falling[MOST_FITTED::step]), step)])
    weights = np.full(len(total), 1 / len(total))
    extra = np.zeros(len(total))
    extra[0] = RARE
    densities = _densities(fitted, total)
    for _ in range(MOST_ROUNDS):
        moved = (times / (densities @ weights)) @ densities * weights + extra
        moved /= moved.sum()
        weights, change = moved, np.abs(moved - weights).max()
        if change < CLOSE_ENOUGH:
            break
    return weights


def _densities(difference: Floats, total: Floats) -> Floats:
    """How likely each variance makes each difference, the likeliest taken as 1."""
    log_density = -0.5 * (difference[:, None] ** 2 / total + np.log(total))
    densities: Floats = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    return densities
