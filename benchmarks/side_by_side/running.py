"""Drivers as running processes: one for every job and subject, which repeat their job in turn."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from benchmarks.side_by_side.driver import write_population
from benchmarks.side_by_side.environments import ROOT, MissingError, Peer, last_line, python_of

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Data:
    """A population in a file: its attributes all have `size` labels."""

    path: Path
    attributes: int
    size: int


@contextmanager
def population_file(codes: Any, size: int) -> Iterator[Data]:
    """An array of codes (person, attribute) in a file for all drivers."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "codes"
        write_population(path, codes.ravel().tolist())
        yield Data(path, codes.shape[1], size)


class Running:
    """A driver at work. `peer` is None for privtally itself."""

    def __init__(self, peer: Peer | None, job: str, data: Data) -> None:
        self.job = job
        environment = dict(os.environ) | dict.fromkeys(ONE_THREAD, "1")
        if peer is not None:
            environment.pop("PYTHONPATH", None)
        python = sys.executable if peer is None else str(python_of(peer))
        module = "drive_privtally" if peer is None else peer.module
        command = [python, "-m", f"benchmarks.side_by_side.{module}"]
        self._process = subprocess.Popen(
            [*command, str(data.path), str(data.attributes), str(data.size)],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, people: int, epsilon: float) -> dict[str, Any]:
        """Do the job once."""
        assert self._process.stdout is not None
        try:
            print(json.dumps({"job": self.job, "people": people, "epsilon": epsilon}), file=self._orders, flush=True)
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            _, said = self._process.communicate()
            raise MissingError(last_line(said))
        found: dict[str, Any] = json.loads(answer)
        return found

    @property
    def _orders(self) -> IO[str]:
        assert self._process.stdin is not None
        return self._process.stdin

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
