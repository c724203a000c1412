"""How far behind advice can be: one campaign must serve whatever population there turns out to be.

`python -m benchmarks.advice [--runs 20] [--seed 1] [--workers 2] [--output advice.json] [--guide docs/guide]`

For some settings of the study grid, every population of it, and every campaign that hides the pivot. In each population
some campaign is best; each campaign has a population in which it is furthest behind the best. The population that is
worst for a campaign is picked by one half of the runs, and how bad it is there is taken from the other half, so that
the worst is not merely the unluckiest.
"""

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import (
    MOST_LABELS,
    Cell,
    ask,
    campaign_of,
    cells,
    name_of,
    phases_of,
    rewrite,
    runs_for,
    runs_of,
    score,
)
from privtally.lab.advise import HIDDEN
from privtally.lab.parallel import run_jobs

SETTINGS = (
    (2, 2, 2_000, 0.5),
    (2, 4, 2_000, 0.5),
    (2, 8, 2_000, 0.3),
    (4, 2, 200, 0.5),
    (4, 4, 20_000, 0.1),
    (6, 8, 2_000, 0.3),
)
CAMPAIGNS = tuple(map(campaign_of, HIDDEN))


def measure(cell: Cell, runs: int, seed: int) -> dict[str, list[float]]:
    """The squared errors of every campaign, pooled, run by run."""
    errors: dict[str, list[float]] = {name_of(campaign, "pooled"): [] for campaign in CAMPAIGNS}
    for people, truth, law, source in runs_of(cell, runs, seed):
        for campaign in CAMPAIGNS:
            phases = phases_of(campaign, people, cell.epsilon, source)
            errors[name_of(campaign, "pooled")].append(score(phases, "pooled", truth, law, []))
    return errors


def worst(found: list[dict[str, list[float]]], campaign: str) -> tuple[float, int]:
    """How far behind the best a campaign is where that is most, and in which population."""
    first, second = (
        [{name: float(np.mean(errors[half::2])) for name, errors in row.items()} for row in found] for half in (0, 1)
    )
    ratios = [row[campaign] / min(row.values()) for row in first]
    place = int(np.argmax(ratios))
    best = min(first[place], key=lambda name: first[place][name])
    return second[place][campaign] / second[place][best], place


def settle(setting: tuple[int, int, int, float], runs: int, seed: int, workers: int) -> dict[str, Any]:
    """One setting: what is advised, and how far behind the best each campaign can be."""
    here = [cell for cell in cells() if (cell.attributes, cell.size, cell.people, cell.epsilon) == setting]
    many = runs_for(setting[0], setting[1], runs)
    found = run_jobs(measure, [(cell, many, seed) for cell in here], workers, lambda _: None)
    advised = ask(*setting, seed)["advised"].mechanism
    behind = {}
    for campaign in CAMPAIGNS:
        ratio, place = worst(found, name_of(campaign, "pooled"))
        behind[campaign[0]] = {"ratio": ratio, "population": asdict(here[place])}
    return {"setting": setting, "populations": len(here), "advised": advised, "behind": behind}


def page(rows: list[dict[str, Any]], runs: int, seed: int) -> str:
    """The table of docs/guide/accuracy.md."""
    lines = [
        f"{rows[0]['populations']} populations, {runs} runs each with {MOST_LABELS} labels in all, more with fewer; "
        f"seed {seed}.",
        "",
        "| questions, labels, people, ε | advised | its worst ratio | worst ratios of SPL, RS+FD, Corr-RR |",
        "|---|---|---|---|",
    ]
    for row in rows:
        attributes, size, people, epsilon = row["setting"]
        ratios = {name: each["ratio"] for name, each in row["behind"].items()}
        each = ", ".join(f"{ratio:.2f}" for ratio in ratios.values())
        lines.append(
            f"| {attributes}, {size}, {people:,}, {epsilon:g} | {row['advised']} | {ratios[row['advised']]:.2f} "
            f"| {each} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Measure every setting and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--guide", type=Path, help="docs/guide: rewrite the table of accuracy.md there")
    options = parser.parse_args()
    rows = []
    for done, setting in enumerate(SETTINGS, start=1):
        rows.append(settle(setting, options.runs, options.seed, options.workers))
        print(f"\r{done} of {len(SETTINGS)} settings", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    table = page(rows, options.runs, options.seed)
    print(table)
    if options.output is not None:
        options.output.write_text(json.dumps(rows, indent=1) + "\n")
    if options.guide is not None:
        rewrite(options.guide / "accuracy.md", "benchmarks/advice.py", table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
