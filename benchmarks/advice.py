"""How far behind the best campaign each can be if only the schema, the number of people and the budget are known.

`python -m benchmarks.advice [--runs 16] [--seed 11] [--guide docs/guide]`

Without pilot data the same campaign must serve every population. Each campaign that hides the pivot is compared with
the best one in each population of `advise`'s prior, with the same noise for all. The least of their worst ratios is
what any advice has to live with.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.accuracy import rewrite, schema_of
from privtally.lab.advise import HIDDEN, worst_ratios
from privtally.lab.expectation import LOOKED_AT, Expectation, Question
from privtally.lab.prior import populations
from privtally.names import MAX_PIVOT_GUESS

SETTINGS = (
    (2, 2, 2_000, 0.5),
    (2, 4, 20_000, 0.5),
    (4, 2, 200, 0.3),
    (4, 2, 200, 0.5),
    (4, 2, 2_000, 0.1),
    (4, 4, 2_000, 0.3),
    (6, 4, 200, 2.0),
    (6, 8, 2_000, 0.3),
    (6, 8, 200_000, 0.1),
)
"""Attributes, labels, people, budget: where the study found advice furthest behind, and others."""


def behind(setting: tuple[int, int, int, float], runs: int, seed: int, workers: int) -> dict[str, Any]:
    """The worst ratio of each mechanism, at the share of Phase I where that is least."""
    attributes, size, people, epsilon = setting
    question = Question(people, epsilon, MAX_PIVOT_GUESS, runs, seed)
    drawn = populations(schema_of(attributes, size), seed)
    rows = Expectation(drawn, question, mechanisms=HIDDEN, methods=[LOOKED_AT]).rows(workers)
    worst: dict[str, float] = {}
    for row, ratio in zip(rows, worst_ratios(rows), strict=True):
        worst[row.mechanism] = min(ratio, worst.get(row.mechanism, ratio))
    return {"setting": setting, "populations": len(drawn), "worst": worst}


def page(rows: list[dict[str, Any]]) -> str:
    """The table of docs/guide/accuracy.md."""
    lines = [
        f"| questions, labels, people, ε | {' | '.join(HIDDEN)} | least |",
        "|---" * (len(HIDDEN) + 2) + "|",
    ]
    for row in rows:
        attributes, size, people, epsilon = row["setting"]
        ratios = [row["worst"][mechanism] for mechanism in HIDDEN]
        each = " | ".join(f"{ratio:.2f}" for ratio in (*ratios, min(ratios)))
        lines.append(f"| {attributes}, {size}, {people:,}, {epsilon:g} | {each} |")
    return "\n".join(lines)


def main() -> int:
    """Look at every setting and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--guide", type=Path, help="docs/guide: rewrite the table of accuracy.md there")
    options = parser.parse_args()
    rows = []
    for done, setting in enumerate(SETTINGS, start=1):
        rows.append(behind(setting, options.runs, options.seed, options.workers))
        print(f"\r{done} of {len(SETTINGS)} settings", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    table = page(rows)
    print(table)
    if options.output is not None:
        options.output.write_text(json.dumps(rows, indent=1) + "\n")
    if options.guide is not None:
        rewrite(options.guide / "accuracy.md", "benchmarks/advice.py", table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
