"""Adult with its real labels: which campaign is best at which budget.

`PRIVTALLY_DATA_DIR=… python -m benchmarks.adult [--runs 10] [--seed 1] [--write docs/notes/adult.md]`

All 48,842 people of the UCI dataset answer seven questions of 2 to 42 labels, from a CSV file, through what `privtally
run` does: the same table, the same campaign, the default estimate. What is blank in the file is "no answer". Another
way to ask is one more line in `WAYS`.
"""

import argparse
import csv
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from pathlib import Path

import msgspec
import numpy as np

import privtally
from benchmarks.accuracy import rewrite
from privtally.collector.estimate import estimate
from privtally.collector.tally import count
from privtally.documents.campaign import Asking
from privtally.documents.estimate import Estimate
from privtally.documents.plan import design
from privtally.errors import PrivtallyError
from privtally.exact.randomness import Source, SystemSource
from privtally.exact.types import Floats
from privtally.lab.advise import layout, recommend
from privtally.lab.compare import POINTS, chosen_groups
from privtally.lab.paper.data import data_directory, read_lines
from privtally.lab.population import seeded
from privtally.mechanisms.channels import Asked, randomized_response
from privtally.mechanisms.named import NAMED, RandomizedResponse, best_channel
from privtally.names import MechanismChoice, MechanismName
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema
from privtally.tables.answers import joined, open_table

SCHEMA = Path(__file__).with_name("adult.toml").read_text()
COLUMNS = {"age": 0, "workclass": 1, "education": 3, "marital-status": 5, "relationship": 7, "sex": 9}
COLUMNS["native-country"] = 13
BUDGETS = (0.5, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True)
class Way:
    """A way to ask: the options of `privtally run`; `plain` is randomized response for every question."""

    mechanism: MechanismChoice
    groups: bool = False
    pivots: int = 1
    plain: bool = False

    @property
    def name(self) -> str:
        words = [self.mechanism, "groups auto" * self.groups, f"{self.pivots} pivots" * (self.pivots > 1)]
        return ", ".join(filter(None, [*words, "randomized response alone" * self.plain]))

    @property
    def says_which(self) -> bool:
        """Whether a report says which question was used."""
        return self.mechanism == "smp"


WAYS = (
    Way("auto"),
    Way("spl"),
    Way("smp"),
    Way("smp", plain=True),
    Way("smp", groups=True),
    Way("smp", pivots=2),
    Way("rs-fd"),
    Way("rs-fd", groups=True),
    Way("rs-fd", pivots=2),
    Way("rs-rfd"),
    Way("rs-rfd", groups=True),
    Way("corr-rr"),
    Way("corr-rr", groups=True),
    Way("cond-rr"),
    Way("cond-rr", groups=True),
)


def write_people(path: Path, directory: Path | None) -> None:
    """All people of the published files as a CSV file; what is not known is blank."""
    lines = [*read_lines("adult/adult.data", directory), *read_lines("adult/adult.test", directory)[1:]]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for fields in (line.split(", ") for line in lines):
            writer.writerow(["" if fields[place] == "?" else fields[place] for place in COLUMNS.values()])


def run(way: Way, records: Records, epsilon: float, source: Source) -> Estimate:
    """What `privtally run` would estimate."""
    schema, mechanism = records.schema, way.mechanism
    if mechanism == "auto":
        return privtally.run(records, schema, epsilon, source=source).estimate
    if way.plain:
        plan = design(schema, epsilon, mechanism, source=source)
        plain = (msgspec.structs.replace(p, channels=(RandomizedResponse(),) * len(p.channels)) for p in plan.parts)
        plan = msgspec.structs.replace(plan, parts=tuple(plain))
        return estimate([(plan, count(plan, respond_many(plan, records, source).codes))], "likelihood")
    after_phase1 = way.groups and NAMED[mechanism].learns
    groups = _groups(schema, epsilon, mechanism) if way.groups and not after_phase1 else None
    asking = Asking.of(mechanism, groups=groups, later_groups="auto" if after_phase1 else None, pivots=way.pivots)
    result: privtally.Result = privtally.run(records, schema, epsilon, source=source, **asking.keywords)
    return result.estimate


def _groups(schema: Schema, epsilon: float, mechanism: MechanismName) -> Sequence[Sequence[str]]:
    groups = chosen_groups(schema, epsilon, mechanism)
    if groups is None:
        raise PrivtallyError("one group is chosen")
    return groups


def points(found: Estimate, records: Records) -> float:
    """Half the width of a 95 % interval as measured, on average over questions and labels."""
    squares = [
        float(np.mean((np.array(found.attributes[name].frequencies) - own) ** 2))
        for name, own in records.frequencies().items()
    ]
    return POINTS * sqrt(sum(squares) / len(squares))


Measured = Mapping[Way, Mapping[float, float | str]]


def measure(records: Records, runs: int, seed: int) -> Measured:
    """± of every way at every budget, or why it cannot be run."""
    found: dict[Way, dict[float, float | str]] = {}
    for way in WAYS:
        for epsilon in BUDGETS:
            try:
                values = [points(run(way, records, epsilon, seeded(seed + each)), records) for each in range(runs)]
                result: float | str = sqrt(sum(value**2 for value in values) / runs)
            except PrivtallyError as refusal:
                result = str(refusal)
            found.setdefault(way, {})[epsilon] = result
            print(f"{way.name}, ε = {epsilon:g}: {result}", file=sys.stderr, flush=True)
    return found


def page(found: Measured, records: Records) -> str:
    """The tables of docs/notes/adult.md."""
    lines = ["| way to ask | " + " | ".join(f"ε = {epsilon:g}" for epsilon in BUDGETS) + " |"]
    lines += ["|---" * (len(BUDGETS) + 1) + "|"]
    reasons = {}
    best = {epsilon: [_best(found, epsilon, says_which=which) for which in (True, False)] for epsilon in BUDGETS}
    for way, values in found.items():
        if not any(isinstance(value, float) for value in values.values()):
            reasons[way] = next(value for value in values.values() if isinstance(value, str))
            continue
        cells = []
        for epsilon, value in values.items():
            number = f"{value:.2g}" if isinstance(value, float) else "–"
            cells.append(f"**{number}**" if way in best[epsilon] else number)
        lines.append(f"| {way.name} | {' | '.join(cells)} |")
    lines += ["", "– where the best number of groups is one."]
    lines += ["", "| ε | best if the question may be known | best if not | auto takes |", "|---|---|---|---|"]
    for epsilon, ways in best.items():
        names = [f"{way.name}: ± {found[way][epsilon]:.2g}" for way in ways]
        auto = layout(recommend(records.schema, epsilon, len(records)).design)
        lines.append(f"| {epsilon:g} | {' | '.join(names)} | {auto} |")
    lines += ["", *(f"Not run: {way.name}. {reason[0].upper()}{reason[1:]}." for way, reason in reasons.items())]
    lines += ["", *_channels(records)]
    return "\n".join(lines)


def _best(found: Measured, epsilon: float, *, says_which: bool) -> Way:
    """The way with the least error, of all or of those that do not give away which question was used."""
    allowed = [way for way in found if (says_which or not way.says_which) and isinstance(found[way][epsilon], float)]
    return min((way for way in allowed if way.mechanism != "auto"), key=lambda way: found[way][epsilon])


def _channels(records: Records) -> list[str]:
    """What the chosen channels are worth: the exact variance of unbiased frequencies from one smp report at ε = 1."""
    lines = ["| question | labels | randomized response alone | chosen channel | ratio |", "|---|---|---|---|---|"]
    budget, many = Fraction(1), len(records.schema.attributes)
    for attribute in records.schema.attributes:
        true = np.array(records.frequencies()[attribute.name])
        channels = randomized_response(budget, attribute.size), best_channel(budget, attribute.size)
        plain = many * _variance(channels[0], true)
        chosen = many * _variance(channels[1].channel(budget, attribute.size), true)
        cells = f"{plain:.3g} | {chosen:.3g} | {plain / chosen:.2f}"
        lines.append(f"| {attribute.name} | {attribute.size} | {cells} |")
    return lines


def _variance(channel: Asked, true: Floats) -> float:
    """The variance of the unbiased estimate from one report, on average over labels."""
    reported = channel.push(true)
    # A code belongs to the sets of `held` labels; the estimate moves every label by the same so that their sum is 1.
    held = channel.holder_counts()
    squares = float(reported @ (held - held**2 / channel.inputs))
    observed = channel.support(reported)
    return (squares - float(np.sum((observed - observed.mean()) ** 2))) / (channel.inputs * float(channel.scale) ** 2)


def main() -> int:
    """Measure every way at every budget and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="docs/notes/adult.md: rewrite its tables")
    options = parser.parse_args()
    schema = Schema.from_toml(SCHEMA)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "adult.csv"
        write_people(path, data_directory(None))
        with open_table(path, schema, SystemSource()) as table:
            records = joined(table.batches())
    tables = page(measure(records, options.runs, options.seed), records)
    print(tables)
    if options.write is not None:
        rewrite(options.write, "benchmarks/adult.py", tables)
    return 0


if __name__ == "__main__":
    sys.exit(main())
