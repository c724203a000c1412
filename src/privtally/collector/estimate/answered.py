"""What follows from an attribute's frequencies: shares among those who answered, mean and quantiles of numbers.

Shares and means are ratios with the share of people who answered below the line. Their intervals are Fieller's: all
values that the estimates of numerator and denominator do not contradict. What binning leaves open is part of a
mean's or quantile's interval: it begins with the least and ends with the largest number of each bin.
"""

import numpy as np

from privtally.bins import Bins
from privtally.collector.estimate.spread import Spread
from privtally.collector.simplex import project_to_simplex
from privtally.documents.estimate import NORMAL_95, Frequencies, Located, Quantile
from privtally.exact.arrays import Floats

SHARES = (0.25, 0.5, 0.75)


def can_divide(frequencies: Floats, spread: Spread) -> bool:
    """Whether the share of people who answered is certainly above 0; else nothing can be said about them alone."""
    return bool(frequencies.sum() > NORMAL_95 * np.sqrt(max(spread.total, 0)))


def among_answered(
    labels: tuple[str, ...], said: Floats, frequencies: Floats, spread: Spread, *, intervals: bool
) -> Frequencies:
    """The frequencies `said` among those who answered, with standard errors by the delta method.

    Intervals are those of the frequencies that the spread belongs to, and reach as far as what is said.
    """
    total = frequencies.sum()
    shares, shown = frequencies / total, said / said.sum()
    variances, beside = spread.shares(shares)
    parts = (labels, tuple(shown.tolist()), tuple((np.sqrt(variances) / total).tolist()))
    if not intervals:
        return Frequencies(*parts)
    down, up = _reach(total, variances, beside, spread.total)
    low = np.clip(shares - down, 0, 1)
    high = np.where(shares + up > 0, np.clip(shares + up, 0, 1), np.minimum((down + up) / 2, 1))
    low, high = np.minimum(shown, low), np.maximum(shown, high)
    return Frequencies(*parts, tuple(low.tolist()), tuple(high.tolist()))


def mean(bins: Bins, frequencies: Floats, spread: Spread) -> Located:
    """The mean of the numbers; its value takes every number for the middle of its bin."""
    total = frequencies.sum()
    shares = frequencies / total
    least, largest = (np.array(numbers, dtype=float) for numbers in (bins.lowest, bins.highest))
    below, above = float(shares @ least), float(shares @ largest)
    variance, beside = spread.weighted(least - below)
    down, _ = _reach(total, variance, beside, spread.total)
    variance, beside = spread.weighted(largest - above)
    _, up = _reach(total, variance, beside, spread.total)
    return _located(bins, (below + above) / 2, below - float(down), above + float(up))


def quantiles(bins: Bins, frequencies: Floats, spread: Spread) -> tuple[Quantile, ...]:
    """The numbers below which a quarter, half and three quarters of the people lie."""
    total = frequencies.sum()
    likely = np.concatenate([[0.0], project_to_simplex(frequencies / total).cumsum()])
    found = []
    for share in SHARES:
        beyond = frequencies.cumsum() - share * total
        reach = NORMAL_95 * spread.cumulative(share)
        # The bin of the quantile is the first whose cumulative frequency reaches the share.
        first = int(np.argmax(np.append((beyond + reach)[:-1] >= 0, True)))
        last = int(np.flatnonzero(np.append(True, (beyond - reach)[:-1] <= 0))[-1])
        code = min(int(np.searchsorted(likely[1:], share)), len(frequencies) - 1)
        inside = (share - likely[code]) / max(likely[code + 1] - likely[code], 1e-300)
        value = bins.lowest[code] + float(np.clip(inside, 0, 1)) * (bins.highest[code] - bins.lowest[code])
        at = _located(bins, value, bins.lowest[first], bins.highest[max(first, last)])
        found.append(Quantile(at.value, at.low, at.high, share))
    return tuple(found)


def _reach(total: float, variance: Floats, beside: Floats | None, total_variance: float) -> tuple[Floats, Floats]:
    """How far the 95 % interval of a ratio reaches down and up, from the variance of numerator − ratio · denominator.

    Without its covariance with the denominator the two errors are taken to agree perfectly.
    """
    if beside is None:
        both: Floats = NORMAL_95 * np.sqrt(variance) / (total - NORMAL_95 * np.sqrt(total_variance))
        return both, both
    square = NORMAL_95**2
    leading = total**2 - square * total_variance
    root = np.sqrt(square**2 * beside**2 + leading * square * variance)
    down, up = (square * beside + root) / leading, (root - square * beside) / leading
    return down, up


def _located(bins: Bins, value: float, low: float, high: float) -> Located:
    """A value and its interval, none of them outside the bins."""
    start, end = bins.edges[0], bins.edges[-1]
    low, high = (float(np.clip(bound, start, end)) for bound in (min(low, high), max(low, high)))
    return Located(float(np.clip(value, low, high)), low, high)
