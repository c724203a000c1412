"""What no estimator can do: the least error of Corr-RR with two yes-or-no questions and a hidden pivot.

`python -m benchmarks.bounds [--runs 4000] [--seed 1] [--workers 2] [--guide docs/guide]`

Frequencies are drawn from Dirichlet(1) in every run, and the estimate is the Bayes estimate for exactly that law, from
both phases' whole reports, a tenth of the people being in Phase I. No other has a smaller mean squared error. It is put
next to RS+FD and to RS+RFD, which does not hide the pivot, and to Corr-RR as `privtally` learns and estimates it, on
people of the same law.
"""

import argparse
import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import PHASE1_SHARE, UNLIKE, Campaign, Cell, phases_of, rewrite, schema_of, score
from privtally.channel import randomized_response
from privtally.lab.parallel import run_jobs
from privtally.lab.population import marginals
from privtally.lab.seed import seeded
from privtally.lab.simulate import copy_matrix, pivot_whole, private_pivots, spl_one_way
from privtally.names import Method
from privtally.schema import Records

Floats = NDArray[np.float64]

POINTS = ((200, 2.0), (2_000, 1.0), (2_000, 2.0), (20_000, 0.5), (20_000, 1.0), (200_000, 0.1), (200_000, 0.5))
COPIES = (0.4, 0.45, 0.5, 0.55, 0.6)
STEPS = 120
"""The law of the frequencies is summed over so many places for each of the two."""
MEASURED: dict[str, tuple[Campaign, Method]] = {
    "RS+FD": (("rs-fd", None), "unbiased"),
    "RS+RFD": (("rs-rfd", None), "paper"),
    "Corr-RR, ours": (("corr-rr", "robust"), "pooled"),
}


def least_error(people: int, epsilon: float, copy_probability: float, runs: int, seed: int) -> float:
    """The Bayes estimate's mean squared error with this copy probability in Phase II."""
    generator = _generator("least", people, epsilon, copy_probability, seed)
    frequencies = generator.random((runs, 2))
    law = np.stack([frequencies, 1 - frequencies], axis=2)
    records = (law[:, 0, :, None] * law[:, 1, None, :]).reshape(runs, 4)
    asked = round(PHASE1_SHARE * people)
    one, two = (generator.multinomial(many, records).reshape(runs, 2, 2) for many in (asked, people - asked))
    split, whole = (float(randomized_response(Fraction(budget), 2).scale) for budget in (epsilon / 2, epsilon))
    first = np.stack([counts[:, 0] for counts in spl_one_way(one, [split] * 2, generator)], axis=1)
    copies = copy_matrix(np.array(copy_probability), 2)
    private = private_pivots(two, [whole] * 2, generator)
    second = pivot_whole(private, [[None, copies], [copies, None]], generator).reshape(runs, 4)
    places = (np.arange(STEPS) + 0.5) / STEPS
    points = np.array([(x, y) for x in places for y in places])
    answered = split * points + (1 - split) / 2
    by_report = np.log(_reports(whole * points + (1 - whole) / 2, copy_probability))
    truth = np.stack([margin[:, 0] / people for margin in marginals(one + two)], axis=1)
    errors = []
    for counts_1, counts_2, true in zip(first, second, truth, strict=True):
        fit = by_report @ counts_2 + np.log(answered) @ counts_1 + np.log(1 - answered) @ (asked - counts_1)
        weights = np.exp(fit - fit.max())
        errors.append(np.mean((weights @ points / weights.sum() - true) ** 2))
    return float(np.mean(errors))


def _reports(private: Floats, copy_probability: float) -> Floats:
    """The probability of each of the four reports, where the private codes are 0 with these probabilities."""
    both = np.stack([private, 1 - private], axis=2)
    copies = copy_matrix(np.array(copy_probability), 2)
    pairs = (both[:, 0, :, None] + both[:, 1, None, :]) / 2 * copies
    return pairs.reshape(len(private), 4)


def measured_error(people: int, epsilon: float, name: str, runs: int, seed: int) -> float:
    """The mean squared error of a campaign, projected, on people of the same law."""
    cell = Cell("independent", UNLIKE, 2, 2, 0.0, people, epsilon)
    campaign, method = MEASURED[name]
    generator, source = _generator("measured", people, epsilon, seed), seeded(seed)
    errors = []
    for _ in range(runs):
        codes, law = cell.draw(generator)
        truth = [np.bincount(codes[:, own], minlength=2) / people for own in range(2)]
        phases = phases_of(campaign, Records(schema_of(2, 2), codes), epsilon, source)
        errors.append(score(phases, method, truth, law, []))
    return float(np.mean(errors))


def _generator(*names: object) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(repr(names).encode()).digest()))


def _run(what: str, work: Callable[..., float], jobs: Sequence[tuple[Any, ...]], workers: int) -> list[float]:
    def advance(done: int) -> None:
        print(f"\r{done} of {len(jobs)} {what}", end="", file=sys.stderr, flush=True)

    found: list[float] = run_jobs(work, jobs, workers, advance)
    print(file=sys.stderr)
    return found


def main() -> int:
    """Compute the bounds and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--guide", type=Path, help="docs/guide: rewrite the table of accuracy.md there")
    options = parser.parse_args()
    rest = (options.runs, options.seed)
    least = _run("bounds", least_error, [(*point, p, *rest) for point in POINTS for p in COPIES], options.workers)
    others = _run(
        "campaigns", measured_error, [(*point, name, *rest) for point in POINTS for name in MEASURED], options.workers
    )
    lines = [
        f"{options.runs:,} runs a number; the relative standard error of each is about {1 / options.runs**0.5:.1%}.",
        "",
        f"| people | ε | {' | '.join(MEASURED)} | least error, pivot hidden | at p = "
        "| least / better of RS+FD and RS+RFD | ours / better of RS+FD and RS+RFD |",
        "|---" * (len(MEASURED) + 6) + "|",
    ]
    for place, (people, epsilon) in enumerate(POINTS):
        errors = least[place * len(COPIES) : (place + 1) * len(COPIES)]
        best = int(np.argmin(errors))
        *theirs, ours = others[place * len(MEASURED) : (place + 1) * len(MEASURED)]
        lines.append(
            f"| {people:,} | {epsilon:g} | {' | '.join(f'{error:.2e}' for error in (*theirs, ours))} "
            f"| {errors[best]:.2e} | {COPIES[best]:g} | {errors[best] / min(theirs):.2f} | {ours / min(theirs):.2f} |"
        )
    print("\n".join(lines))
    if options.guide is not None:
        rewrite(options.guide / "accuracy.md", "benchmarks/bounds.py", "\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
