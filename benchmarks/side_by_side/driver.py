"""What every driver shares: a population from a file, orders from standard input, and figures in answer.

Drivers run in a peer's environment, so this module needs nothing but the standard library. An order is a line of JSON,
`{"job", "people", "epsilon"}`; its answer has the CPU seconds of the work, the largest resident size of the process so
far, and the estimated frequencies.
"""

import json
import sys
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

Frequencies = Sequence[Sequence[float]]
"""The estimated frequencies of each attribute."""
Work = Callable[[], Frequencies]
"""Privatise, tally and estimate: what is timed."""


@dataclass(frozen=True)
class Population:
    """Everybody's codes, row by row, for attributes that all have the same number of labels."""

    codes: "array[int]"
    attributes: int
    size: int

    @property
    def people(self) -> int:
        """How many people there are."""
        return len(self.codes) // self.attributes

    def rows(self) -> list[list[int]]:
        """Each person's codes."""
        step = self.attributes
        return [self.codes[start : start + step].tolist() for start in range(0, len(self.codes), step)]

    def columns(self) -> list[list[int]]:
        """Each attribute's codes."""
        return [self.codes[own :: self.attributes].tolist() for own in range(self.attributes)]


Job = Callable[[Population, float], Work]
"""Population and epsilon -> the work; making it is not timed."""


def write_population(path: Path, codes: Sequence[int]) -> None:
    """The codes as 16-bit numbers in this machine's order."""
    path.write_bytes(array("H", codes).tobytes())


def read_population(path: Path, people: int, attributes: int, size: int) -> Population:
    """The first people of a file."""
    codes = array("H")
    with path.open("rb") as file:
        codes.fromfile(file, people * attributes)
    return Population(codes, attributes, size)


def peak_mb() -> float:
    """The largest resident size of this process so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def obey(jobs: Mapping[str, Job], orders: IO[str], answers: IO[str], path: Path, attributes: int, size: int) -> None:
    """Do each order and answer it, until there are no more."""
    for line in orders:
        order = json.loads(line)
        work = jobs[order["job"]](read_population(path, order["people"], attributes, size), order["epsilon"])
        start = time.process_time()
        found = work()
        seconds = time.process_time() - start
        frequencies = [list(map(float, own)) for own in found]
        print(json.dumps({"cpu": seconds, "peak_mb": peak_mb(), "frequencies": frequencies}), file=answers, flush=True)


def main(jobs: Mapping[str, Job]) -> None:
    """Obey the orders on standard input; the arguments name the population's file, its attributes and their size."""
    path, attributes, size = sys.argv[1:]
    obey(jobs, sys.stdin, sys.stdout, Path(path), int(attributes), int(size))
