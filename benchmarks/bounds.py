"""What no estimator can do: the least error of Corr-RR with two yes-or-no questions and a hidden pivot.

`python -m benchmarks.bounds [--runs 8000] [--outcomes 600] [--seed 1] [--workers 2] [--notes docs/notes]`

Frequencies are drawn from Dirichlet(1), and a tenth of the people are in Phase I. What Phase I says is drawn, the copy
probability is taken that is best given that, and the estimate is the Bayes estimate for exactly that law, from both
phases' whole reports: no rule and no estimate have a smaller mean squared error. It is put next to RS+FD, to RS+RFD,
which does not hide the pivot, and to Corr-RR as `privtally` learns and estimates it. All are scored on the population's
frequencies.
"""

import argparse
import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import PHASE1_SHARE, UNLIKE, Campaign, Cell, phases_of, rewrite, schema_of, score
from privtally.lab.paper.experiment import copy_matrix
from privtally.lab.parallel import run_jobs
from privtally.lab.seed import seeded
from privtally.mechanisms.channel import randomized_response
from privtally.names import Method
from privtally.schema import Records

Floats = NDArray[np.float64]

POINTS = ((200, 2.0), (2_000, 1.0), (2_000, 2.0), (20_000, 0.5), (20_000, 1.0), (200_000, 0.1), (200_000, 0.5))
COPIES = (0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65)
STEPS = 120
"""The law of the frequencies is the middle of so many steps for each of the two, all alike."""
DRAWS = 32
"""How often Phase II is drawn after what Phase I said."""
MEASURED: dict[str, tuple[Campaign, Method]] = {
    "RS+FD": (("rs-fd", None), "unbiased"),
    "RS+RFD": (("rs-rfd", None), "paper"),
    "Corr-RR, ours": (("corr-rr", "robust"), "pooled"),
}
LIMIT = 1.05
"""What Corr-RR is wanted to stay within, next to the better of RS+FD and RS+RFD."""


@dataclass(frozen=True)
class Error:
    """A mean squared error, and the relative standard error with which it is known."""

    mean: float
    uncertainty: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Error":
        """The mean of these."""
        mean = float(np.mean(values))
        return cls(mean, float(np.std(values)) / len(values) ** 0.5 / mean)

    def over(self, other: "Error") -> tuple[float, float]:
        """The ratio to another, and its standard error."""
        ratio = self.mean / other.mean
        return ratio, ratio * float(np.hypot(self.uncertainty, other.uncertainty))


def least_error(people: int, epsilon: float, outcomes: int, seed: int) -> Error:
    """The Bayes estimate's, with the copy probability that is best given Phase I.

    The expected square of a Bayes estimate's error is the expected variance of the posterior, which varies less.
    """
    generator = _generator("least", people, epsilon, seed)
    asked = round(PHASE1_SHARE * people)
    split, whole = (float(randomized_response(Fraction(budget), 2).scale) for budget in (epsilon / 2, epsilon))
    places = (np.arange(STEPS) + 0.5) / STEPS
    points = np.array([(x, y) for x in places for y in places])
    answered = split * points + (1 - split) / 2
    reports = [_reports(whole * points + (1 - whole) / 2, p) for p in COPIES]
    found = []
    for _ in range(outcomes):
        said = generator.binomial(asked, answered[generator.integers(len(points))])
        known = np.log(answered) @ said + np.log(1 - answered) @ (asked - said)
        after = np.exp(known - known.max())
        drawn = generator.choice(len(points), DRAWS, p=after / after.sum())
        variances = []
        for law in reports:
            counts = generator.multinomial(people - asked, law[drawn])
            fit = known + counts @ np.log(law).T
            weights = np.exp(fit - fit.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            variances.append(float(np.mean(weights @ points**2 - (weights @ points) ** 2)))
        found.append(min(variances))
    return Error.of(found)


def _reports(private: Floats, copy_probability: float) -> Floats:
    """The probability of each of the four reports, where the private codes are 0 with these probabilities."""
    both = np.stack([private, 1 - private], axis=2)
    copies = copy_matrix(np.array(copy_probability), 2)
    pairs = (both[:, 0, :, None] + both[:, 1, None, :]) / 2 * copies
    return pairs.reshape(len(private), 4)


def measured_error(people: int, epsilon: float, name: str, runs: int, seed: int) -> Error:
    """A campaign's, projected, on people of the same law: the same people for every campaign."""
    cell = Cell("independent", UNLIKE, 2, 2, 0.0, people, epsilon)
    campaign, method = MEASURED[name]
    generator, source = _generator("measured", people, epsilon, seed), seeded(seed)
    errors = []
    for _ in range(runs):
        codes, law = cell.draw(generator)
        phases = phases_of(campaign, Records(schema_of(2, 2), codes), epsilon, source)
        errors.append(score(phases, method, law, law, []))
    return Error.of(errors)


def _generator(*names: object) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(repr(names).encode()).digest()))


def page(least: Sequence[Error], others: Sequence[Sequence[Error]]) -> str:
    """The table of docs/notes/bounds.md."""
    lines = [
        f"| people | ε | {' | '.join(MEASURED)} | least, pivot hidden | least / better of RS+FD and RS+RFD "
        "| ours / better | ours / least |",
        "|---" * (len(MEASURED) + 6) + "|",
    ]
    beyond = 0
    for (people, epsilon), lowest, (*theirs, ours) in zip(POINTS, least, others, strict=True):
        better = min(theirs, key=lambda error: error.mean)
        ratios = [lowest.over(better), ours.over(better), ours.over(lowest)]
        beyond += ratios[0][0] - 2 * ratios[0][1] > LIMIT
        errors = " | ".join(f"{error.mean:.2e}" for error in (*theirs, ours, lowest))
        shown = " | ".join(f"{ratio:.2f} ± {error:.2f}" for ratio, error in ratios)
        lines.append(f"| {people:,} | {epsilon:g} | {errors} | {shown} |")
    counted = (
        f"The least error is above {LIMIT:g} times the better one by two standard errors in {beyond} of {len(POINTS)}"
    )
    return "\n".join([*lines, "", f"{counted} settings. After ± stands one standard error."])


def _run(what: str, work: Callable[..., Error], jobs: Sequence[tuple[Any, ...]], workers: int) -> list[Error]:
    def advance(done: int) -> None:
        print(f"\r{done} of {len(jobs)} {what}", end="", file=sys.stderr, flush=True)

    found: list[Error] = run_jobs(work, jobs, workers, advance)
    print(file=sys.stderr)
    return found


def main() -> int:
    """Compute the bounds and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=8000, help="how often each campaign is run")
    parser.add_argument("--outcomes", type=int, default=600, help="how often Phase I is drawn for the least error")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--notes", type=Path, help="docs/notes: rewrite the table of bounds.md there")
    options = parser.parse_args()
    jobs = [(*point, options.outcomes, options.seed) for point in POINTS]
    least = _run("bounds", least_error, jobs, options.workers)
    each = [(*point, name, options.runs, options.seed) for point in POINTS for name in MEASURED]
    others = _run("campaigns", measured_error, each, options.workers)
    rows = [others[start : start + len(MEASURED)] for start in range(0, len(others), len(MEASURED))]
    table = page(least, rows)
    print(table)
    if options.notes is not None:
        rewrite(options.notes / "bounds.md", "benchmarks/bounds.py", table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
