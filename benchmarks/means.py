"""How near a private mean comes to the true one: numbers rounded at random to a grid, beside the same numbers in bins.

`python -m benchmarks.means [--runs 1000] [--people 1333] [--epsilon 2]`

Ages are drawn from a gamma distribution of shape 6 and scale 7, cut off at 119, and one question is asked. Only the
counts are drawn: how many of the people have each label once their ages are rounded, and what they then report.
`holds` is the share of runs whose 95 % interval has the mean of the distribution in it. Exits with 1 if on the grid of
six points half the interval is above 3.5 years on average, or holds in less than 92 % of the runs.
"""

import argparse
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import stats

from privtally.collector.estimate import estimate
from privtally.collector.tally import count_times
from privtally.documents.counts import SubReports
from privtally.documents.estimate import Located
from privtally.documents.plan import design
from privtally.exact.types import Floats
from privtally.lab.population import seeded
from privtally.lab.simulate import simulate
from privtally.names import MechanismName
from privtally.schema import Attribute, Schema

RUNS, PEOPLE, EPSILON = 1_000, 1_333, 2.0
BAR, LEAST = 3.5, 0.92
POINTS = (0, 18, 30, 45, 65, 120)
QUESTIONS = {
    "grid of 6 points": Attribute("age", grid=POINTS),
    "grid of 2 points": Attribute("age", grid=(0, 120)),
    "5 bins": Attribute("age", bins=POINTS),
}
MECHANISMS: tuple[MechanismName, ...] = ("smp", "spl")


def ages() -> Floats:
    """The share of every age from 0 to 119."""
    below = stats.gamma.cdf(np.arange(121), 6, scale=7)
    law: Floats = np.diff(below)
    law[-1] += 1 - below[-1]
    return law


def labels_of(question: Attribute, law: Floats) -> Floats:
    """The share of every label, once ages are rounded to a grid or put into bins."""
    found = np.zeros(question.size)
    for age, share in enumerate(law.tolist()):
        place = Fraction(question.place_of[age])
        found[int(place)] += share * float(1 - place % 1)
        if place % 1:
            found[int(place) + 1] += share * float(place % 1)
    return found


@dataclass(frozen=True)
class Found:
    """Over all runs: half of the interval, the error of the mean, and how often the interval holds."""

    half: float
    error: float
    offset: float
    holds: float


def measure(question: Attribute, mechanism: MechanismName, epsilon: float, people: int, runs: int, seed: int) -> Found:
    """So many surveys of this one question."""
    plan = design(Schema((question,)), epsilon, mechanism, source=seeded(1))
    generator, law = np.random.default_rng(seed), ages()
    truth, shares = float(law @ np.arange(len(law))), labels_of(question, law)
    codes = np.arange(question.size)[:, None]
    halves, errors, holds = [], [], 0
    for _ in range(runs):
        given = SubReports(codes, generator.multinomial(people, shares / shares.sum()))
        reports = simulate(plan.mechanism, given, generator)
        mean = estimate([(plan, count_times(plan, reports.codes, reports.times))]).attributes["age"].mean
        assert isinstance(mean, Located)
        halves.append((mean.high - mean.low) / 2)
        errors.append(mean.value - truth)
        holds += mean.low <= truth <= mean.high
    return Found(float(np.mean(halves)), float(np.std(errors)), float(np.mean(errors)), holds / runs)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--epsilon", type=float, default=EPSILON)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    law = ages()
    print(f"mean of the ages: {float(law @ np.arange(len(law))):.2f}\n")
    print("| question | mechanism | half the interval | standard deviation | mean error | holds |")
    print("|---|---|---|---|---|---|")
    good = True
    for name, question in QUESTIONS.items():
        for mechanism in MECHANISMS:
            found = measure(question, mechanism, options.epsilon, options.people, options.runs, options.seed)
            row = f"| {name} | {mechanism} | ± {found.half:.2f} | {found.error:.2f} | {found.offset:+.2f} |"
            print(f"{row} {100 * found.holds:.1f} % |")
            good &= question is not QUESTIONS["grid of 6 points"] or (found.half <= BAR and found.holds >= LEAST)
    sys.exit(not good)


if __name__ == "__main__":
    main()
