"""What `advise` states and recommends without pilot data, next to simulated campaigns.

`python -m benchmarks.advice [--runs 16] [--draws 3] [--seed 11] [--guide docs/guide]`

People are drawn from each kind of population that the prior names, and from exactly uniform ones. Every campaign that
is offered is run on them as `compare` runs it. Two ratios come of that: the error that is stated over the simulated one
in the prior's populations, and the mean squared error of the recommended campaign over that of the best one.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import rewrite, runs_for, schema_of
from privtally.lab.advise import Adviser, recommend
from privtally.lab.compare import Study, study_variant
from privtally.lab.expectation import SIMILAR, prior_populations
from privtally.lab.offers import Question, offers
from privtally.lab.parallel import run_jobs
from privtally.lab.variants import variants
from privtally.names import MechanismName
from privtally.schema import Records

Floats = NDArray[np.float64]
Setting = tuple[int, int, int, float]

SETTINGS: tuple[Setting, ...] = (
    (2, 2, 2_000, 0.5),
    (2, 4, 20_000, 0.5),
    (4, 2, 200, 0.5),
    (4, 2, 2_000, 0.1),
    (4, 4, 2_000, 0.3),
    (4, 4, 20_000, 3.0),
    (6, 4, 200, 2.0),
    (6, 8, 2_000, 0.3),
    (6, 8, 20_000, 1.0),
    (8, 2, 20_000, 2.0),
)
"""Attributes, labels, people, budget."""
SHOWN: tuple[MechanismName, ...] = ("spl", "rs-fd", "corr-rr", "smp")
PEOPLE = 20_000
"""So many people are drawn from a population, and those who are asked from them."""
USUAL_SHARE = 0.1

LAWS: Mapping[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "uniform": lambda shared, _: np.full(len(shared), 1 / len(shared)),
    "alike": lambda shared, _: shared,
    "similar": lambda shared, generator: generator.dirichlet(SIMILAR * shared + 1e-3),
    "unlike": lambda shared, generator: generator.dirichlet(np.ones(len(shared))),
}
"""An attribute's frequencies in each kind of population, from a draw that all attributes share."""


def draw(kind: str, attributes: int, size: int, generator: np.random.Generator) -> Records:
    """People of a kind of population, their answers independent."""
    shared = generator.dirichlet(np.ones(size))
    laws = [LAWS[kind](shared, generator) for _ in range(attributes)]
    codes = np.column_stack([generator.choice(size, PEOPLE, p=law) for law in laws]).astype(np.uint8)
    return Records(schema_of(attributes, size), codes)


def run(setting: Setting, kind: str, place: int, runs: int, seed: int) -> dict[str, Any]:
    """The simulated error of every campaign in one population."""
    attributes, size, users, epsilon = setting
    records = draw(kind, attributes, size, np.random.default_rng([seed, place, list(LAWS).index(kind)]))
    errors = {}
    for offer in offers(records.schema, Question(users, epsilon)):
        often = runs_for(attributes, size, runs)
        study = Study(records, offer.phase1_share or USUAL_SHARE, often, seed + place, users)
        found = study_variant(study, variants([offer.mechanism])[0], epsilon, ["pooled"])[0]
        errors[offer.mechanism, offer.phase1_share] = found.mse
    return {"setting": setting, "kind": kind, "errors": errors}


def page(rows: list[dict[str, Any]]) -> str:
    """The table of docs/guide/accuracy.md."""
    lines = [
        "| questions, labels, people, ε | advised | "
        + " | ".join(f"stated / simulated: {mechanism}" for mechanism in SHOWN)
        + " | advised / best | where it is most behind |",
        "|---" * (len(SHOWN) + 4) + "|",
    ]
    settings = dict.fromkeys(row["setting"] for row in rows)
    lines += [_line(setting, [row for row in rows if row["setting"] == setting]) for setting in settings]
    return "\n".join(lines)


def _line(setting: Setting, rows: list[dict[str, Any]]) -> str:
    attributes, size, users, epsilon = setting
    schema, question = schema_of(attributes, size), Question(users, epsilon)
    prior = prior_populations(schema)
    expected = Adviser(schema, list(prior.values())).expect(question)
    chosen = recommend(expected, question.max_pivot_guess)
    cells = []
    for mechanism in SHOWN:
        stated = next(row for row in expected if row.mechanism == mechanism)
        simulated = _mean([row["errors"][mechanism, stated.phase1_share] for row in rows if row["kind"] in prior])
        cells.append(f"{stated.error / simulated**0.5:.2f}")
    allowed = [(row.mechanism, row.phase1_share) for row in expected if row.pivot_guess <= question.max_pivot_guess]
    by_kind = {}
    for kind in LAWS:
        mine = [row["errors"] for row in rows if row["kind"] == kind]
        best = min(_mean([errors[campaign] for errors in mine]) for campaign in allowed)
        by_kind[kind] = _mean([errors[chosen.mechanism, chosen.phase1_share] for errors in mine]) / best
    worst = max(by_kind, key=lambda kind: by_kind[kind])
    share = "" if chosen.phase1_share is None else f", {chosen.phase1_share:.0%}"
    cells += [f"{_mean(list(by_kind.values())):.2f}", f"{worst}: {by_kind[worst]:.2f}"]
    asked = f"{attributes}, {size}, {users:,}, {epsilon:g}"
    return f"| {asked} | {chosen.mechanism}{share} | {' | '.join(cells)} |"


def _mean(values: list[float]) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def main() -> int:
    """Simulate every setting and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=16, help="how often each is run with 48 labels; more with fewer")
    parser.add_argument("--draws", type=int, default=3, help="how many populations of each kind are drawn")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--guide", type=Path, help="docs/guide: rewrite the table of accuracy.md there")
    options = parser.parse_args()
    jobs = [
        (setting, kind, place, options.runs, options.seed)
        for setting in SETTINGS
        for kind in LAWS
        for place in range(options.draws)
    ]

    def advance(done: int) -> None:
        print(f"\r{done} of {len(jobs)} populations", end="", file=sys.stderr, flush=True)

    rows: list[dict[str, Any]] = run_jobs(run, jobs, options.workers, advance)
    print(file=sys.stderr)
    table = page(rows)
    print(table)
    if options.guide is not None:
        rewrite(options.guide / "accuracy.md", "benchmarks/advice.py", table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
