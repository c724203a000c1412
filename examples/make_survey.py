"""Write survey-1.csv and survey-2.csv: simulated people for the tour. `python examples/make_survey.py DIRECTORY`."""

import csv
import sys
from pathlib import Path

from privtally.lab.seed import seeded
from privtally.lab.survey import SCHEMA, simulate

PEOPLE = {"survey-1.csv": 400, "survey-2.csv": 3_600}


def main(directory: Path) -> None:
    """Write both files."""
    source = seeded(2026)
    for name, people in PEOPLE.items():
        with (directory / name).open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["postcode area", *SCHEMA.names])
            for row in simulate(people, source).codes.tolist():
                labels = [attribute.labels[code] for attribute, code in zip(SCHEMA.attributes, row, strict=True)]
                writer.writerow(["12", *labels])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
