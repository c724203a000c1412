"""Write docs/guide/reproduction.md: `python -m benchmarks.reproduction [--runs 200] [--data-dir D] [-o FILE]`."""

import argparse
import os
import sys
from pathlib import Path

from benchmarks.reproduction_page import make_report
from privtally.files import write_bytes
from privtally.lab.paper.datasets import DIRECTORY_VARIABLE, data_directory

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "reproduction.md"
RUNS, SEED = 200, 1


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    options = parser.parse_args()
    directory = data_directory(options.data_dir)
    if directory is None:
        sys.exit(f"name the directory with the UCI files by --data-dir or {DIRECTORY_VARIABLE}")
    page = make_report(options.runs, SEED, directory, os.cpu_count() or 1)
    write_bytes(options.output, page.encode())
    print(f"Written: {options.output}")


if __name__ == "__main__":
    main()
