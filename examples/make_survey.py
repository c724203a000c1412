"""Write the example tables, all of simulated people. `python examples/make_survey.py DIRECTORY`."""

import csv
import sys
from pathlib import Path

from privtally.exact.randomness import Source
from privtally.lab.population import SCHEMA, seeded, simulate

PEOPLE = {"survey-1.csv": 400, "survey-2.csv": 3_600}
NEXT_YEAR = {"survey-3.csv": 400, "survey-4.csv": 3_600}
LONELIER = 0.5
"""The probability that somebody feels lonely one step more often a year later."""
VISITORS = RESIDENTS = 4_000
TOWNS, WAYS = 60, ("walk", "bicycle", "bus", "car")


def main(directory: Path) -> None:
    """Write the files."""
    source = seeded(2026)
    for name, people in PEOPLE.items():
        write_survey(directory / name, simulate(people, source).codes.tolist())
    with (directory / "visits.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["age", "smokes", "hours of sleep"])
        writer.writerows(visitor(source) for _ in range(VISITORS))
    with (directory / "towns.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["town", "travels"])
        writer.writerows(resident(source) for _ in range(RESIDENTS))
    lonely = SCHEMA.names.index("feels lonely")
    for name, people in NEXT_YEAR.items():
        codes = simulate(people, source).codes
        more = (source.words(people) >> 40) < LONELIER * 2**24
        codes[more, lonely] = (codes[more, lonely] + 1).clip(max=SCHEMA.attributes[lonely].size - 1)
        write_survey(directory / name, codes.tolist())


def write_survey(path: Path, rows: list[list[int]]) -> None:
    """Write the answers of a survey, and a column that nobody asked for."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["postcode area", *SCHEMA.names])
        for row in rows:
            labels = [attribute.labels[code] for attribute, code in zip(SCHEMA.attributes, row, strict=True)]
            writer.writerow(["12", *labels])


def visitor(source: Source) -> tuple[int, str, str]:
    """One simulated visitor: the older smoke and sleep less, and one in seven skips a question."""
    one, two, three, smoking, sleeping, skipping = (int(word >> 40) / 2**24 for word in source.words(6).tolist())
    age = int(100 * (one + two + three) / 3)
    smokes = "" if skipping < 0.15 else ("yes" if smoking < 0.1 + age / 300 else "no")
    return age, smokes, "" if skipping > 0.9 else f"{8.5 - age / 40 + 3 * (sleeping - 0.5):.1f}"


def resident(source: Source) -> tuple[str, str]:
    """One simulated resident: few towns have most of the people, and those in large towns drive less."""
    living, travelling = (int(word >> 40) / 2**24 for word in source.words(2).tolist())
    rank = int(TOWNS * living**4)
    way = WAYS[min(int(len(WAYS) * travelling ** (0.5 if rank > 2 else 1.0)), len(WAYS) - 1)]
    return f"town {1 + 7 * (rank + 3) % TOWNS:02d}", way


if __name__ == "__main__":
    main(Path(sys.argv[1]))
