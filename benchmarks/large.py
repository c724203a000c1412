"""The default estimate of a large survey: seconds and memory of `privtally estimate`, from documents to frequencies.

`python -m benchmarks.large [--reports 1000000] [--attributes 50] [--size 10] [--labels 65536] [--json]`

The estimate runs in a process of its own, which measures what a user would see. Reports are made beforehand, in parts.
The ratio is to `--method unbiased` in the same run. Then one attribute with very many labels (`--labels`) goes through
every command, from a CSV file to its twenty most frequent labels.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privtally.collector.learn import learn
from privtally.collector.tally import count
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan, design, load_plan
from privtally.exact.randomness import Stream
from privtally.files import write_bytes
from privtally.mechanisms.named import NAMED
from privtally.names import MechanismName, Method
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema

PART = 100_000
PHASE1_PARTS = 1
"""Corr-RR's Phase I: with a million reports the first of ten parts."""
MOST_SECONDS, MOST_MEMORY = 10, 1e9
LEAST_DRAWN = 200_000


def tallied(plan: Plan, laws: list[NDArray[np.float64]], parts: range, reports: int, source: Stream) -> Counts:
    """The counts of these parts of all reports."""
    total = None
    for part in parts:
        generator = np.random.default_rng(part)
        people = min(PART, reports - part * PART)
        codes = np.column_stack([generator.choice(len(law), people, p=law) for law in laws]).astype(np.uint8)
        counts = count(plan, respond_many(plan, Records(plan.schema, codes), source).codes)
        total = counts if total is None else total + counts
    assert total is not None
    return total


def prepare(mechanism: MechanismName, schema: Schema, reports: int, directory: Path) -> list[str]:
    """The phases' documents, as words for the command."""
    generator, source = np.random.default_rng(1), Stream.from_system()
    laws = list(generator.dirichlet(np.ones(schema.sizes[0]), len(schema.sizes)))
    parts = -(-reports // PART)
    plan = design(schema, 1.0, mechanism)
    phases = []
    if NAMED[mechanism].learns:
        phases.append((plan, tallied(plan, laws, range(PHASE1_PARTS), reports, source)))
        plan = learn(phases, people=reports - PHASE1_PARTS * PART)
    phases.append((plan, tallied(plan, laws, range(PHASE1_PARTS if phases else 0, parts), reports, source)))
    words = []
    for plan, counts in phases:
        paths = [directory / f"{mechanism}-{plan.phase}-{kind}.json" for kind in ("plan", "counts")]
        write_bytes(paths[0], plan.dump())
        write_bytes(paths[1], counts.dump())
        words += ["--phase", *map(str, paths)]
    return words


def measure(words: list[str], method: Method) -> tuple[float, float]:
    """Seconds and bytes at most of one estimate; memory is the most of all children so far."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "privtally", "estimate", *words, "--method", method, "--json"]
    subprocess.run(command, check=True, capture_output=True)
    seconds = time.perf_counter() - start
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def end_to_end(labels: int, people: int, directory: Path) -> dict[str, dict[str, float]]:
    """Seconds and memory of each command, and how many of the twenty most frequent labels are found."""
    names = [f"label {code}" for code in range(labels)]
    law = 1 / np.arange(1, labels + 1)
    answers = np.random.default_rng(1).choice(labels, people, p=law / law.sum())
    paths = {name: str(directory / name) for name in ("s.json", "a.csv", "p.json", "r.ndjson", "c.json")}
    schema = {"attributes": [{"name": "q", "labels": names}]}
    (directory / "s.json").write_text(json.dumps(schema))
    (directory / "a.csv").write_text("q\n" + "\n".join(names[code] for code in answers) + "\n")
    commands = {
        "design": ["design", paths["s.json"], "-e", "1", "-m", "spl", "-o", paths["p.json"]],
        "privatise": ["privatise", paths["a.csv"], "-p", paths["p.json"], "-o", paths["r.ndjson"]],
        "tally": ["tally", paths["r.ndjson"], "-p", paths["p.json"], "-o", paths["c.json"]],
        "estimate": ["estimate", "--phase", paths["p.json"], paths["c.json"], "--top", "20", "--json"],
    }
    found = {}
    for name, words in commands.items():
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "privtally", *words], check=True, capture_output=True)
        seconds = time.perf_counter() - start
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        found[name] = {"seconds": seconds, "bytes": memory}
    found["privatise"]["per_second"] = people / found["privatise"]["seconds"]
    shown = json.loads(done.stdout)["attributes"]["q"]["labels"]
    found["estimate"]["found_of_top_20"] = len(set(shown) & set(names[:20]))
    channel = load_plan((directory / "p.json").read_bytes()).mechanism.parts[0].asked[0]
    start = time.perf_counter()
    channel.draw(answers.astype(np.uint16), Stream.from_system())
    found["draw"] = {"seconds": time.perf_counter() - start}
    found["draw"]["per_second"] = people / found["draw"]["seconds"]
    return found


def main() -> None:
    """Measure, print, and exit with 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=1_000_000)
    parser.add_argument("--attributes", type=int, default=50)
    parser.add_argument("--size", type=int, default=10)
    parser.add_argument("--labels", type=int, default=65_536)
    parser.add_argument("--people", type=int, default=1_000_000, help="how many give one of very many labels")
    parser.add_argument("--only-labels", action="store_true", help="leave out the survey of many questions")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    schema = Schema.of({f"q{own}": [str(code) for code in range(options.size)] for own in range(options.attributes)})
    found: dict[str, dict[str, Any]] = {}
    for mechanism in () if options.only_labels else ("rs-fd", "corr-rr"):
        with tempfile.TemporaryDirectory() as directory:
            words = prepare(mechanism, schema, options.reports, Path(directory))
            plain, _ = measure(words, "unbiased")
            seconds, memory = measure(words, "likelihood")
        found[mechanism] = {"seconds": seconds, "bytes": memory, "ratio_to_unbiased": seconds / plain}
    with tempfile.TemporaryDirectory() as directory:
        commands = end_to_end(options.labels, options.people, Path(directory))
    if options.json:
        print(json.dumps(found | {f"{options.labels} labels": commands}, indent=2))
    else:
        for mechanism, row in found.items():
            print(
                f"{mechanism:8} {row['seconds']:5.1f} s, {row['ratio_to_unbiased']:.1f} times unbiased, "
                f"at most {row['bytes'] / 1e9:.2f} GB"
            )
        print(f"one question with {options.labels:,} labels, {options.people:,} people:")
        for name, row in commands.items():
            print(f"  {name:9}", ", ".join(f"{what} {value:,.1f}" for what, value in row.items()))
    missed = any(row.get("bytes", 0) > MOST_MEMORY for row in commands.values())
    missed |= commands["draw"]["per_second"] < LEAST_DRAWN or commands["estimate"]["seconds"] > MOST_SECONDS
    if missed:
        sys.exit(f"missed: {LEAST_DRAWN:,} draws a second, {MOST_SECONDS} s or {MOST_MEMORY / 1e9:g} GB")
    if any(row["seconds"] > MOST_SECONDS or row["bytes"] > MOST_MEMORY for row in found.values()):
        sys.exit(f"missed: {MOST_SECONDS} s or {MOST_MEMORY / 1e9:g} GB")


if __name__ == "__main__":
    main()
