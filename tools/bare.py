"""What `pip install privtally` alone can do: the main job, and one clear sentence where an extra is missing.

Run it as `python -m tools.bare BIN`: BIN is the `bin` directory of an environment that has privtally and no extra.
"""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tools import ROOT

AS_PARQUET = "import duckdb; duckdb.read_csv('examples/survey-2.csv').write_parquet('answers.parquet')"
"""Answers in Parquet, by what privtally brings itself."""

JOB = """
privtally run examples/survey-2.csv --schema examples/survey.toml --epsilon 3 -o from-csv
privtally run answers.parquet --schema examples/survey.toml --epsilon 3 -o from-parquet
privtally show from-parquet/estimate.json
privtally advise examples/survey.toml --people 4000 --epsilon 3
privtally design examples/survey.toml --epsilon 3 --mechanism corr-rr -o plan-1.json
privtally privatise --plan plan-1.json examples/survey-1.csv -o reports-1.parquet
privtally tally --plan plan-1.json reports-1.parquet -o counts-1.json
privtally learn --phase plan-1.json counts-1.json --people 3600 -o plan-2.json
privtally privatise --plan plan-2.json answers.parquet -o reports-2.csv.gz
privtally tally --plan plan-2.json reports-2.csv.gz -o counts-2.json
privtally estimate --phase plan-1.json counts-1.json --phase plan-2.json counts-2.json -o estimate.csv
privtally audit plan-2.json --certificate certificate.json
privtally verify plan-2.json certificate.json
privtally demo
"""
"""The main job, from answers in CSV and in Parquet to totals."""

NEEDING = {
    "plot": "privtally estimate --phase plan-1.json counts-1.json --plot estimate.png",
    "spark": "privtally privatise --plan plan-1.json examples/survey-1.csv -o more.parquet --engine spark",
    "serve": "privtally serve --store sqlite:///new.db",
    "lab": "privtally reproduce fig_11a --runs 1 -o reproduction",
}
"""A command for each extra that it needs."""


def main(place: Path) -> int:
    """Run all commands with the programs in a directory; the exit code is 1 at the first that does another thing."""
    with TemporaryDirectory() as directory:
        shutil.copytree(ROOT / "examples", Path(directory, "examples"))
        _run(directory, place / "python", "-c", AS_PARQUET)
        for line in JOB.strip().splitlines():
            code, said = _run(directory, *_command(place, line))
            print(f"{'done' if code == 0 else 'FAILED'}: {line}")
            if code:
                print(said)
                return 1
        for extra, line in NEEDING.items():
            code, said = _run(directory, *_command(place, line))
            fault = sentence_fault(extra, code, said)
            print(f"{line}\n    {said.strip()}")
            if fault:
                print(f"FAILED: {fault}")
                return 1
    return 0


def sentence_fault(extra: str, code: int, said: str) -> str | None:
    """What is wrong with the answer of a command whose extra is missing, if anything is."""
    if code != 2:
        return f"the exit code must be 2, is {code}"
    last = said.strip().rpartition("\n")[2]
    if "Traceback" in said or not last.startswith("privtally: "):
        return "the last line must be one sentence of privtally's own"
    if f"pip install 'privtally[{extra}]'" not in last:
        return f"the last line must say how to install the extra {extra}"
    return None


def _command(place: Path, line: str) -> list[str | Path]:
    program, *rest = shlex.split(line)
    return [place / program, *rest]


def _run(directory: str, *command: str | Path) -> tuple[int, str]:
    """The exit code of a command, and what it said of its faults; no setting of the caller reaches it."""
    clean = {"PATH": str(Path(command[0]).parent), "HOME": directory, "LANG": "C.UTF-8"}
    done = subprocess.run(command, cwd=directory, env=clean, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
