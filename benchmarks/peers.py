"""privtally side by side with its peers: the same job, the same population, the same ε.

`python -m benchmarks.peers [--json FILE] [--picture FILE] [--docs docs]`

The job is to privatise, tally and estimate for n people with d = 4 attributes of k = 4 labels at ε = 1.
multi-freq-ldpy, pure-ldp, OpenDP and diffprivlib come from the package index, each into an environment of its own below
build/peers that this program makes. Everybody runs in a process of its own, in turns. Figures are medians over the
turns, in CPU time of one core, and a ratio is taken within a turn. Faster ones get more people, so that a turn takes
everybody about as long.

Then accuracy at the same ε, and how privtally's own cost grows. Exit code 1: a bar was missed.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks.accuracy import rewrite
from benchmarks.side_by_side import accuracy, scaling, speed, words
from benchmarks.side_by_side.environments import PEERS
from privtally.version import SOFTWARE

PARTS = {"speed": "explanation/peers.md", "accuracy": "explanation/peers.md", "scaling": "notes/scaling.md"}
"""What is measured, and the page in `docs/` that has its tables."""


def arguments() -> argparse.Namespace:
    """What the program was told."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, action="append", help="one part, or several by repeating this")
    parser.add_argument("--turns", type=int, default=7, help="repetitions for speed, in turns")
    parser.add_argument("--runs", type=int, default=25, help="collections for accuracy; a fifth for 1,024 labels")
    parser.add_argument("--json", type=Path, help="write the figures of speed there")
    parser.add_argument("--picture", type=Path, help="draw how cost grows there (needs matplotlib)")
    parser.add_argument("--docs", type=Path, help="rewrite the tables of the pages in this folder")
    return parser.parse_args()


def main() -> int:
    """Measure, print, write what was asked for; 1 if a bar was missed."""
    options = arguments()
    only = options.only or PARTS
    versions = ", ".join(f"{peer.name} {peer.version}" for peer in PEERS)
    print(f"{SOFTWARE}; {versions}\n")
    missed: list[str] = []
    if "speed" in only:
        rows = speed.rows(speed.measure(options.turns))
        missed += speed.missed(rows)
        tell("speed", words.speed(rows), options.docs, words.reasons(rows))
        if options.json is not None:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if "accuracy" in only:
        found = accuracy.measure(options.runs)
        tell("accuracy", words.accuracy(found), options.docs, words.reasons(found))
    if "scaling" in only:
        costs = scaling.measure(3)
        tables = [words.scaling(scaling.steps(own, what), what) for what, own in costs.items()]
        tables.append(words.by_attributes(scaling.by_attributes(costs["attributes"])))
        tell("scaling", "\n\n".join(tables), options.docs, [])
        missed += scaling.too_steep(costs["people"])
        if options.picture is not None:
            from benchmarks.side_by_side.picture import save

            save(costs, options.picture)
    if missed:
        print(f"missed: {'; '.join(missed)}", file=sys.stderr)
    return int(bool(missed))


def tell(part: str, text: str, docs: Path | None, reasons: list[str]) -> None:
    """Print a part's tables, and why figures are missing; put the tables into the part's page."""
    print(f"{text}\n")
    for reason in reasons:
        print(f"missing: {reason}")
    if docs is not None:
        rewrite(docs / PARTS[part], f"benchmarks/peers.py, {part}", text)


if __name__ == "__main__":
    sys.exit(main())
