"""Rounds: how well a campaign follows answers that change, and what that costs if they do not.

`python -m benchmarks.rounds [--runs 40] [--notes docs/notes]`

People are new in every round, or the same in all of them. Frequencies are softmax of a random walk whose steps have the
stated standard deviation; answers of one person depend on each other. Counts are sampled exactly (lab/simulate.py). All
estimates of a cell see the same campaigns. The error is that of the last round's frequencies, in percentage points.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from benchmarks.accuracy import rewrite
from privtally.collector.estimate import IN_ROUNDS
from privtally.collector.learn import learn
from privtally.collector.rounds import in_rounds
from privtally.collector.summaries import Found
from privtally.collector.tally import count_times
from privtally.documents.campaign import History, refresh
from privtally.documents.counts import distinct
from privtally.documents.estimate import NORMAL_95
from privtally.documents.plan import Plan, design
from privtally.exact.types import Floats, Integers
from privtally.lab.simulate import simulate
from privtally.mechanisms.named import NAMED
from privtally.names import MechanismName
from privtally.schema import Schema

DEPENDENCE = 0.5
"""The share of people who have the same rank in all attributes; the answers of the others are independent."""
PHASE_1 = 0.2
"""The share of a round's people who answer its refresh, where mechanisms learn."""


@dataclass(frozen=True)
class Case:
    """A campaign to simulate, and how much the answers change between its rounds."""

    mechanism: MechanismName
    attributes: int
    size: int
    epsilon: float
    people: int
    rounds: int
    step: float
    returning: bool = False


def drifting(case: Case, generator: Generator) -> list[Floats]:
    """The frequencies (attribute, label) of every round."""
    steps = generator.normal(0, case.step, (case.rounds, case.attributes, case.size))
    steps[0] = generator.normal(0, 0.7, steps[0].shape)
    weights = np.exp(steps.cumsum(axis=0))
    return list(weights / weights.sum(axis=-1, keepdims=True))


def ranks(case: Case, people: int, generator: Generator) -> Floats:
    """Each person's place in the order of answers, for each attribute; fixed for life."""
    own = generator.random((people, case.attributes))
    shared = generator.random(people) < DEPENDENCE
    own[shared] = generator.random((int(shared.sum()), 1))
    return own


def answers(places: Floats, frequencies: Floats) -> Integers:
    """Answers with these frequencies of people with these ranks."""
    ends = frequencies.cumsum(axis=1)[:, :-1]
    codes: Integers = (places[:, :, None] > ends).sum(axis=2)
    return codes


def collect(plan: Plan, codes: Integers, generator: Generator) -> tuple[Plan, Any]:
    """A phase of people with these answers."""
    people = distinct(plan.schema.sizes, codes, np.ones(len(codes), dtype=np.int64))
    reports = simulate(plan.mechanism, people, generator)
    return plan, count_times(plan, reports.codes, reports.times)


def campaign(case: Case, laws: Sequence[Floats], generator: Generator, *, refreshed: bool = True) -> list[Any]:
    """The history of a campaign; if not `refreshed`, everybody after the first phase answers the second plan."""
    schema = Schema.of({f"q{own}": list("abcdefgh"[: case.size]) for own in range(case.attributes)})
    learns = NAMED[case.mechanism].learns
    phases = case.rounds * (2 if learns else 1)
    plan = design(schema, case.epsilon, case.mechanism, answers=phases if case.returning else 1)
    first = round(PHASE_1 * case.people) if learns else case.people
    same = ranks(case, case.people, generator)
    history: list[Any] = []
    for number, law in enumerate(laws):
        people = answers(same if case.returning else ranks(case, case.people, generator), law)
        if refreshed or not number:
            plan = refresh([plan for plan, _ in history]) if number else plan
            history.append(collect(plan, people[:first], generator))
            if not learns:
                continue
            history.append(collect(learn(history, people=case.people - first), people[first:], generator))
        else:
            plan, counts = history[-1]
            history[-1] = (plan, counts + collect(plan, people, generator)[1])
    return history


def _track(history: History) -> Found:
    rounds = in_rounds(history)
    return IN_ROUNDS["likelihood"](rounds, [len(rounds) - 1], [])[0]


def _together(history: History) -> Found:
    return IN_ROUNDS["likelihood"]([history], [0], [])[0]


ESTIMATES: Mapping[str, Callable[[History], Found]] = {
    "rounds": _track,
    "all alike": _together,
    "last alone": lambda history: _together(in_rounds(history)[-1]),
    "first alone": lambda history: _together(in_rounds(history)[0]),
}
"""Estimates of the last round: with this model, as if nothing changed, without memory, and from the first round."""


def measure(case: Case, runs: int, seed: int = 1) -> dict[str, float]:
    """Root mean squared errors in percentage points, and how often the model's 95 % intervals hold."""
    squares: dict[str, list[float]] = {}
    for run in range(runs):
        generator = np.random.default_rng([seed, run])
        laws = drifting(case, generator)
        history = campaign(case, laws, generator)
        found = {name: method(history) for name, method in ESTIMATES.items()}
        if NAMED[case.mechanism].learns:
            found["one plan"] = _together(campaign(case, laws, generator, refreshed=False))
        for name, estimate in found.items():
            off = np.array(estimate.frequencies) - laws[-1]
            squares.setdefault(name, []).append(float(np.mean(off**2)))
            if name == "rounds":
                inside = np.abs(off) <= NORMAL_95 * np.sqrt(np.array(estimate.variances))
                squares.setdefault("held", []).append(float(inside.mean()) ** 2)
        steps = [np.mean((one - two) ** 2) for one, two in pairwise(laws)]
        squares.setdefault("change", []).append(float(np.mean(steps)))
    held = float(np.mean(np.sqrt(squares.pop("held"))))
    return {name: 100 * float(np.sqrt(np.mean(own))) for name, own in squares.items()} | {"held": held}


MANY = Case("smp", 12, 4, 2.0, 4_000, 5, 0.0)
LEARNED = Case("corr-rr", 6, 4, 4.0, 4_000, 5, 0.0)
ALONE = Case("spl", 1, 4, 1.0, 4_000, 5, 0.0)
CASES = (
    *(replace(MANY, rounds=rounds) for rounds in (2, 3)),
    *(replace(MANY, step=step) for step in (0.0, 0.05, 0.1, 0.2, 0.5)),
    *(replace(LEARNED, step=step) for step in (0.0, 0.1, 0.3)),
    *(replace(ALONE, step=step) for step in (0.0, 0.1, 0.3)),
    replace(MANY, epsilon=8.0, people=1_000, returning=True),
    replace(MANY, epsilon=8.0, people=1_000, returning=True, step=0.1),
)
COLUMNS = ("rounds", "all alike", "last alone", "first alone", "one plan")


def table(found: Sequence[tuple[Case, dict[str, float]]]) -> str:
    """The table of docs/notes/rounds.md."""
    titles = ["campaign", "rounds", "change a round", *COLUMNS, "95 % intervals hold"]
    lines = [" | ".join(titles), " | ".join(["---"] * len(titles))]
    for case, errors in found:
        name = f"{case.mechanism}, {case.attributes} × {case.size} labels, ε = {case.epsilon:g}"
        name += f", {case.people:,} a round" + (", the same people" if case.returning else "")
        best = min(errors[column] for column in COLUMNS if column in errors)
        cells = [f"{errors[column]:.2f}" if column in errors else "" for column in COLUMNS]
        cells = [f"**{cell}**" if cell == f"{best:.2f}" else cell for cell in cells]
        lines.append(" | ".join([name, str(case.rounds), f"{errors['change']:.1f}", *cells, f"{errors['held']:.1%}"]))
    return "\n".join(f"| {line} |" for line in lines)


def main() -> None:
    """Simulate every case and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--notes", type=Path, help="docs/notes: rewrite the table of rounds.md there")
    options = parser.parse_args()
    found = []
    for case in CASES:
        # A single question says little in one campaign, and takes little time.
        runs = options.runs if case.attributes > 1 else 5 * options.runs
        found.append((case, measure(case, runs)))
        print(table(found[-1:]).splitlines()[-1], flush=True)
    if options.notes is not None:
        rewrite(options.notes / "rounds.md", "benchmarks/rounds.py", table(found))


if __name__ == "__main__":
    main()
