"""A real Spark cluster on loopback: a master and workers, each a process of its own; and work that kills a worker."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privtally.errors import PrivtallyError
from privtally.tables.spark import Attempt, SparkReports, privatise_file

ROOT = Path(__file__).parents[2]
JAVA = shutil.which("java")
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
"""Compiling well and checking Spark's own classes cost more than they save in processes that live for seconds."""
_PATIENCE = 90


@dataclass
class Cluster:
    room: Path
    stack: ExitStack
    master: str = ""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start_worker(self) -> None:
        name = f"worker{len(self.workers)}"
        words = ["worker.Worker", "-c", "1", "-m", "2G", "--host", "127.0.0.1", "--webui-port", "0"]
        process, _ = self.start(name, [*words, "-d", str(self.room / name), self.master], "Successfully registered")
        self.workers.append(process)

    def deaths(self) -> int:
        """How many workers were killed."""
        return sum(worker.poll() == -signal.SIGKILL for worker in self.workers)

    def start(self, name: str, words: Sequence[str], until: str) -> tuple[subprocess.Popen[bytes], str]:
        """A process of the cluster, once its log has a line; that line."""
        import pyspark

        script = Path(pyspark.__file__).parent / "bin/spark-class"
        log, kind = self.room / f"{name}.log", f"org.apache.spark.deploy.{words[0]}"
        environment = os.environ | {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
            "SPARK_LAUNCHER_OPTS": QUICK_JAVA,
            "SPARK_DAEMON_MEMORY": "256m",
            "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
            "PYSPARK_PYTHON": sys.executable,
        }
        with log.open("wb") as file:
            process = subprocess.Popen([script, kind, *words[1:]], stdout=file, stderr=file, env=environment)
        self.stack.callback(_end, process)
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end and process.poll() is None:
            for line in log.read_text().splitlines():
                if until in line:
                    return process, line
            time.sleep(0.05)
        raise RuntimeError(f"{kind} did not start:\n{log.read_text()}")


@contextmanager
def cluster_in(room: Path) -> Iterator[Cluster]:
    """One master and two workers of a core each."""
    with ExitStack() as stack:
        cluster = Cluster(room, stack)
        words = ["master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        _, line = cluster.start("master", words, "Starting Spark master at")
        found = re.search(r"spark://\S+", line)
        assert found is not None
        cluster.master = found[0]
        for _ in range(2):
            cluster.start_worker()
        yield cluster


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def die_once(marker: Path) -> None:
    """In a task: kill -9 the worker that it runs on, its executor and itself; only the first to come here does."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return
    executor = _ancestor(os.getpid(), "CoarseGrainedExecutorBackend")
    worker = _ancestor(executor, "deploy.worker.Worker")
    for process in (worker, executor, os.getpid()):
        os.kill(process, signal.SIGKILL)


def _ancestor(process: int, kind: str) -> int:
    while process > 1:
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        if kind in Path(f"/proc/{process}/cmdline").read_text():
            return process
    raise RuntimeError(f"no {kind} above this process")


class DyingReports(SparkReports):
    """Reports that Spark reads, of which a worker dies meanwhile."""

    marker: Path

    def scan(self, paths: Sequence[Path]) -> Any:
        table, marker = super().scan(paths), self.marker

        def pass_on(batches: Iterator[Any]) -> Iterator[Any]:
            yield from batches
            die_once(marker)

        return table.mapInArrow(pass_on, table.schema)


@dataclass(frozen=True)
class DyingAttempt:
    """`privatise_file` on a worker that dies once the first file of reports is written, and before that is told."""

    marker: Path

    def __call__(self, plan: bytes, room: str, coded: bool, path: str) -> Attempt | PrivtallyError:
        done = privatise_file(plan, room, coded, path)
        die_once(self.marker)
        return done
