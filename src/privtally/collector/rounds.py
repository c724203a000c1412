"""Rounds of a campaign: what other rounds say about one, whether the answers changed, and people who come again.

Each round's reports alone give frequencies with a covariance V_r. Between rounds the frequencies take a random step
with the covariance τ² (diag(f) − f fᵀ): rare answers change by little. One τ² for all attributes is found on a short
grid by its likelihood, all rounds and attributes taken together; `most` is the largest that a likelihood ratio test at
5 % does not reject. A round is estimated from its own reports and those of other rounds, each discounted as far as the
best τ² says; its interval is that of the smoother with `most`, so that other rounds narrow it only as far as they can.

People who answer several rounds are a sample only once. If m people answered two rounds of n₁ and n₂ reports, the two
estimates have the covariance m/(n₁ n₂) times that of one person's answers. Nobody knows m; a plan says how many phases
one person may answer. By the inequality of Cauchy and Schwarz the error of any combination of rounds is at most that of
independent rounds, each with the sampling part of its variance as many times as one person may answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import erfc, exp, lgamma, log, sqrt

import numpy as np

from privtally.collector.inverse import project_to_simplex, zero_sum_basis
from privtally.documents.campaign import History, Phase, check_one_campaign
from privtally.documents.counts import check_counts
from privtally.documents.estimate import Change
from privtally.errors import EstimateError
from privtally.exact.types import Floats


def in_order(history: History) -> list[Phase]:
    """The phases in order, refused if they do not belong together or are empty."""
    if not history:
        raise EstimateError("an estimate needs the plan and counts of at least one phase")
    for plan, counts in history:
        check_counts(plan, counts)
        if not counts.reports:
            raise EstimateError(f"phase {plan.phase} has no reports; collect some or leave the phase out")
    check_one_campaign([plan for plan, _ in history], EstimateError)
    return sorted(history, key=lambda phase: phase[0].phase)


def in_rounds(history: History) -> list[History]:
    """The phases of a history in order, round by round."""
    return [list(phases) for _, phases in groupby(history, key=lambda phase: phase[0].round)]


# The chi-square distribution, central and not: tail probabilities, and the shift that a test sees often enough.


def tails(value: float, degrees: int, more: int = 0) -> Floats:
    """The probabilities that chi-square variables with so many degrees of freedom, and with 2, 4, … 2 · `more` more of
    them, exceed a value. Every two degrees add a term of the series of the incomplete gamma function.
    """
    if value <= 0:
        return np.ones(1 + more)
    half, before = value / 2, (degrees - 1) // 2
    least = erfc(sqrt(half)) if degrees % 2 else exp(-half)
    terms = _poisson(np.arange(before + more, dtype=np.float64) + (0.5 if degrees % 2 else 1.0), half)
    return np.minimum(least + np.append(0.0, terms.cumsum()), 1.0)[before:]


def _poisson(numbers: Floats, mean: float) -> Floats:
    """The probabilities of these numbers of events, and what the formula gives between whole numbers."""
    logs: Floats = numbers * log(mean) - mean - np.array([lgamma(number + 1) for number in numbers.tolist()])
    return np.exp(logs)


@lru_cache(maxsize=64)
def seen_shift(level: float, degrees: int, power: float) -> float:
    """The non-centrality that a test at this level sees with this probability."""
    bound = _crossing(lambda value: level - float(tails(value, degrees)[0]), degrees + 10.0)
    return _crossing(lambda shift: _shifted_tail(bound, degrees, shift) - power, 10.0)


def _shifted_tail(value: float, degrees: int, shift: float) -> float:
    """The probability that a chi-square variable with a non-centrality exceeds a value: a mixture over Poisson."""
    numbers = np.arange(shift / 2 + 10 * sqrt(shift / 2) + 20)
    return float(_poisson(numbers, shift / 2) @ tails(value, degrees, len(numbers) - 1))


def _crossing(rising: Callable[[float], float], start: float) -> float:
    """Where a rising function that starts below 0 reaches it."""
    low, high = 0.0, start
    while rising(high) < 0:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) >= 0 else (middle, high)
    return high


LEVEL, POWER = 0.05, 0.8
"""The chance of a false alarm over all attributes, and the probability with which a change is to be seen."""
CHI_SQUARE_95 = 3.841
"""Twice the log-likelihood falls by less than this for 95 % of the values that are true."""
STEPS = np.concatenate([[0.0], 10.0 ** np.linspace(-6, 0, 25)])
"""The values of τ² that are tried."""
MOST_NAMES = 4


def repeats(history: History) -> int:
    """In how many more of these phases a person who answered one of them may be: a round is answered once."""
    return min(history[0][0].answers, len({plan.round for plan, _ in history})) - 1


def sampling_covariance(frequencies: Floats) -> Floats:
    """The covariance of one person's answer, which has these frequencies up to their errors."""
    proper = project_to_simplex(frequencies)
    covariance: Floats = np.diag(proper) - np.outer(proper, proper)
    return covariance


@dataclass(frozen=True)
class Track:
    """One attribute over the rounds: what each round's reports alone say, as differences that sum to 0.

    `points` and `covariances` are in orthonormal coordinates of these differences; `step` is the covariance of a change
    for τ² = 1.
    """

    basis: Floats
    points: Sequence[Floats]
    covariances: Sequence[Floats]
    step: Floats

    @classmethod
    def of(cls, points: Sequence[Floats], covariances: Sequence[Floats]) -> "Track":
        """From frequencies and covariances of every round."""
        basis = zero_sum_basis([len(points[0])])
        size = len(points[0])
        middle = 0.98 * project_to_simplex(np.mean(points, axis=0)) + 0.02 / size
        step = np.diag(middle) - np.outer(middle, middle)
        return cls(
            basis,
            [basis.T @ (point - 1 / size) for point in points],
            [basis.T @ own @ basis for own in covariances],
            basis.T @ step @ basis,
        )

    def log_likelihood(self, change: float) -> float:
        """How likely the differences between rounds are, for a τ²."""
        mean, spread, total = self.points[0], self.covariances[0], 0.0
        for point, own in zip(self.points[1:], self.covariances[1:], strict=True):
            before = spread + change * self.step
            both = before + own
            off = np.linalg.solve(both, point - mean)
            total -= 0.5 * float((point - mean) @ off) + 0.5 * float(np.linalg.slogdet(both)[1])
            mean, spread = mean + before @ off, before - before @ np.linalg.solve(both, before)
        return total

    def smoothed(self, number: int, change: float) -> tuple[Floats, Floats]:
        """Frequencies of a round and their covariance, from all rounds, for a τ²."""
        precision, weighted = np.zeros_like(self.step), np.zeros(len(self.step))
        for side in (range(number), range(len(self.points) - 1, number, -1)):
            known, mean = np.zeros_like(self.step), np.zeros(len(self.step))
            for place in side:  # what the rounds on one side say, the furthest first
                own = np.linalg.inv(self.covariances[place])
                known, mean = known + own, mean + own @ self.points[place]
                faded = np.linalg.inv(np.eye(len(known)) + change * known @ self.step)
                known, mean = faded @ known, faded @ mean
            precision, weighted = precision + known, weighted + mean
        own = np.linalg.inv(self.covariances[number])
        covariance = np.linalg.inv(precision + own)
        point = covariance @ (weighted + own @ self.points[number])
        size = len(self.basis)
        return 1 / size + self.basis @ point, self.basis @ covariance @ self.basis.T

    def discount(self, one: int, two: int, change: float) -> float:
        """How much the reports of another round count for one, on average over directions."""
        noise = float(np.trace(self.covariances[two]))
        return noise / (noise + abs(one - two) * change * float(np.trace(self.step)))


@dataclass(frozen=True)
class Drift:
    """The changes between rounds: the likeliest τ², and the largest that is not rejected."""

    best: float
    most: float


def changed(track: Track) -> bool:
    """Whether an attribute changed between rounds, by the test of this attribute alone: it may take no other rounds."""
    return _compare(track)[0] < LEVEL


def drift_of(tracks: Sequence[Track]) -> Drift:
    """How much the answers change from round to round."""
    likelihoods = np.array([sum(track.log_likelihood(change) for track in tracks) for change in STEPS.tolist()])
    allowed = np.flatnonzero(2 * (likelihoods.max() - likelihoods) < CHI_SQUARE_95)
    return Drift(float(STEPS[np.argmax(likelihoods)]), float(STEPS[allowed[-1]]))


def changes_of(tracks: dict[str, Track]) -> dict[str, Change]:
    """For each attribute the corrected p-value of a change, and the change that would be seen.

    The rounds' frequencies are compared with their best common value. The sum of the squared differences, in units of
    their covariances, is chi-square with (rounds − 1)(labels − 1) degrees of freedom if nothing changed. p-values are
    corrected by Holm's method: the chance of naming any attribute without cause is 5 % in all. People who come again
    make differences smaller than the test expects, so that it errs on the safe side.
    """
    compared = {name: _compare(track) for name, track in tracks.items()}
    corrected = _holm({name: p for name, (p, _, _) in compared.items()})
    return {
        name: Change(corrected[name], _visible(spread, degrees, LEVEL / len(compared)))
        for name, (_, spread, degrees) in compared.items()
    }


def _compare(track: Track) -> tuple[float, Floats, int]:
    """The p-value of a change, the covariance of the last round's difference from all earlier ones, and the degrees
    of freedom.
    """
    precisions = [np.linalg.inv(own) for own in track.covariances]
    weighted = sum((own @ point for own, point in zip(precisions, track.points, strict=True)), np.zeros(()))
    common = np.linalg.solve(sum(precisions, np.zeros(())), weighted)
    off = [point - common for point in track.points]
    statistic = sum(float(each @ own @ each) for own, each in zip(precisions, off, strict=True))
    degrees = (len(track.points) - 1) * track.basis.shape[1]
    before = np.linalg.inv(sum(precisions[:-1], np.zeros(())))
    spread = track.basis @ (before + track.covariances[-1]) @ track.basis.T
    return float(tails(statistic, degrees)[0]), spread, degrees


def _visible(spread: Floats, degrees: int, level: float) -> float:
    """The change of one label in the last round, the others giving way evenly, that is seen with probability POWER,
    whichever label it is.
    """
    size = len(spread)
    direction = (np.eye(size) * size - 1) / (size - 1)
    noted = np.einsum("ij,jk,ik->i", direction, np.linalg.pinv(spread, rcond=1e-9, hermitian=True), direction)
    return float(np.sqrt(seen_shift(level, degrees, POWER) / noted.min()))


def _holm(p_values: dict[str, float]) -> dict[str, float]:
    """p-values corrected for their number."""
    corrected, largest = {}, 0.0
    for place, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, p_values[name] * (len(p_values) - place)))
        corrected[name] = largest
    return corrected


def about_changes(found: dict[str, Change]) -> list[str]:
    """What the test says, in words."""
    seen = sorted((change.p_value, name) for name, change in found.items() if change.p_value < LEVEL)
    notes = [f"The answers to '{name}' changed between the rounds (p = {p:.2g})." for p, name in seen[:MOST_NAMES]]
    if len(seen) > MOST_NAMES:
        notes.append(f"So did those to {len(seen) - MOST_NAMES} more questions.")
    if not seen:
        notes.append(f"No change between the rounds shows (p = {min(own.p_value for own in found.values()):.2g}).")
    low, high = (100 * bound(own.visible for own in found.values()) for bound in (min, max))
    points = f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f} to {high:.1f}"
    notes.append(
        f"A change of an answer by {points} percentage points in the last round is seen {POWER:.0%} of the time."
    )
    return notes
