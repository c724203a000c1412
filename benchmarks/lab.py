"""One panel of the paper, exact simulation against a plain loop over users, in the same run.

`python -m benchmarks.lab [--loop-runs 2] [--json]`

The plain loop does what one would write first, and what the paper describes: for every user draw the record, randomise
it, count. Both compute Figure 3a's twenty points; the loop does a few runs, and the ratio is that of the time for one.
"""

import argparse
import json
import math
import random
import time
from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np

from privtally.collector.copies import published
from privtally.lab.paper.experiments import PAPER_METHODS, Setting, panels, run_errors
from privtally.lab.population import Synthetic

RUNS = 100


def grr(value: int, size: int, keep: float) -> int:
    """Randomized response as it stands in textbooks."""
    if random.random() < keep:
        return value
    other = random.randrange(size - 1)
    return other if other < value else other + 1


def keep_probability(epsilon: float, size: int) -> float:
    """GRR's p."""
    return math.exp(epsilon) / (math.exp(epsilon) + size - 1)


def draw_people(setting: Setting) -> list[list[int]]:
    """SynA, user by user."""
    population = setting.population
    assert isinstance(population, Synthetic)
    first = population.law().sum(axis=tuple(range(1, population.attributes))).tolist()
    people = []
    for _ in range(setting.people):
        x1 = random.choices(range(population.size), first)[0]
        row = [x1]
        for _ in range(population.attributes - 1):
            copied = random.random() < population.correlation
            row.append(x1 if copied else random.randrange(population.size))
        people.append(row)
    return people


def estimate(reports: Sequence[Sequence[int]], keep: float, size: int) -> list[list[float]]:
    """Count and debias every attribute."""
    q = (1 - keep) / (size - 1)
    found = []
    for own in range(len(reports[0])):
        counts = [0] * size
        for report in reports:
            counts[report[own]] += 1
        found.append([(count / len(reports) - q) / (keep - q) for count in counts])
    return found


def loop_run(setting: Setting) -> None:
    """One run of all four methods at one point."""
    population = setting.population
    assert isinstance(population, Synthetic)
    d, k = population.attributes, population.size
    people = draw_people(setting)
    split, whole = keep_probability(setting.epsilon / d, k), keep_probability(setting.epsilon, k)
    estimate([[grr(value, k, split) for value in row] for row in people], split, k)
    estimate([_pivot(row, k, whole, lambda _private, _own: random.randrange(k)) for row in people], whole, k)
    first, second = people[: setting.phases[0]], people[setting.phases[0] :]
    phase_1 = estimate([[grr(value, k, split) for value in row] for row in first], split, k)
    priors = [[max(value, 0) for value in row] for row in phase_1]
    estimate(
        [_pivot(row, k, whole, lambda _, own: random.choices(range(k), priors[own])[0]) for row in second],
        whole,
        k,
    )
    scale = whole - (1 - whole) / (k - 1)
    copies = {
        (one, two): float(published(np.array(phase_1[one]), np.array(phase_1[two]), scale, len(second)))
        for one, two in permutations(range(d), 2)
    }
    reports = []
    for row in second:
        pivot = random.randrange(d)
        private = grr(row[pivot], k, whole)
        reports.append([private if own == pivot else grr(private, k, copies[pivot, own]) for own in range(d)])
    estimate(reports, whole, k)


def _pivot(row: Sequence[int], size: int, keep: float, fill: Callable[[int, int], int]) -> list[int]:
    pivot = random.randrange(len(row))
    private = grr(row[pivot], size, keep)
    return [private if own == pivot else fill(private, own) for own in range(len(row))]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loop-runs", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    panel = next(panel for panel in panels("published") if panel.id == "fig_3a")
    settings = [panel.setting(x) for x in panel.x]
    run_errors(settings[0], PAPER_METHODS, 1, np.random.default_rng(1))
    start = time.perf_counter()
    for setting in settings:
        run_errors(setting, PAPER_METHODS, RUNS, np.random.default_rng(1))
    exact = (time.perf_counter() - start) / RUNS
    start = time.perf_counter()
    for setting in settings:
        for _ in range(options.loop_runs):
            loop_run(setting)
    loop = (time.perf_counter() - start) / options.loop_runs
    result = {"exact_seconds_a_run": exact, "loop_seconds_a_run": loop, "ratio": loop / exact}
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        print(f"Figure 3a, one run of its 20 points: loop {loop:.2f} s, exact {exact * 1e3:.2f} ms")
        print(f"ratio {loop / exact:.0f}")


if __name__ == "__main__":
    main()
