"""Spark as an engine: on this machine, or on a cluster whose machines see the files. Needs the extra `spark`."""

import os
import shutil
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import octet_length

from privtally.errors import EngineError

PATIENCE = 5.0, 60.0
"""How many seconds a master has for an answer, and for a first worker."""

MOST_GROUPS = 8_000_000
"""How many different reports are brought here at once, some 300 MB."""

SPARK_FAULTS = (PySparkException, Py4JError, ConnectionError)
_HERE = "local[*]"
_SETTINGS = {
    "spark.app.name": "privtally",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.speculation": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.log.level": "OFF",
}


class SparkLibrary:
    """See `library`."""

    faults: tuple[type[Exception], ...] = SPARK_FAULTS
    failed = "Spark gave the job up; its workers must run, and be able to read these files under the same paths"

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def scan(self, paths: Sequence[Path]) -> DataFrame:
        table = self._session.read.parquet(*map(spark_path, paths))
        return table.withColumn("bytes", octet_length("id"))

    def collect(self, table: DataFrame) -> Any:
        return table.toArrow()

    def pieces(self, rows: int, groups: int) -> int:  # noqa: ARG002  # Spark itself puts on disk what is too much
        return max(1, -(-groups // MOST_GROUPS))


@contextmanager
def spark_session(master: str | None) -> Iterator[SparkSession]:
    """The session that the program has already, or one of our own for as long as it is needed."""
    active = SparkSession.getActiveSession()
    if active is not None:
        if master not in (None, active.sparkContext.master):
            raise EngineError(f"this program has a Spark session with another master; stop it, or leave {master} out")
        yield active
        return
    session = _start(master or _HERE)
    try:
        _await_worker(session, master or _HERE)
        yield session
    finally:
        with suppress(*SPARK_FAULTS):  # it may be gone already
            session.stop()


def spark_path(path: Path) -> str:
    """A file as Spark names it: from the root, and no pattern."""
    if path.name.startswith((".", "_")):
        raise EngineError(f"Spark does not read files whose name begins with . or _; rename {path}")
    escaped = "".join(f"\\{letter}" if letter in "\\*?[]{}" else letter for letter in str(path.absolute()))
    return f"file://{escaped}"


def _start(master: str) -> SparkSession:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise EngineError("Spark needs Java 17: install it (Debian: openjdk-17-jre-headless) or set JAVA_HOME")
    _await_master(master)
    if master.startswith("local") or _hosts(master) <= {"127.0.0.1", "localhost"}:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")  # we use none of it
    conf = SparkConf().setMaster(master).setAll(list(_SETTINGS.items()))
    try:
        if SparkContext._gateway is None:  # noqa: SLF001  # as it starts Java itself, that prints on our standard error
            silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            gateway = launch_gateway(conf, silent)  # type: ignore[no-untyped-call]  # pyspark leaves it untyped
            SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001  # the only way to choose where its noise goes
        return SparkSession(SparkContext.getOrCreate(conf))
    except (*SPARK_FAULTS, OSError):
        raise EngineError(f"Spark cannot start with the master {master}; is it one, of the same version?") from None


def _hosts(master: str) -> set[str]:
    return {address.rpartition(":")[0] for address in master.removeprefix("spark://").split(",")}


def _await_master(master: str) -> None:
    """Refuse a cluster that nothing answers for; Spark itself would try for minutes."""
    if not master.startswith("spark://"):
        return
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host, int(port)), timeout=PATIENCE[0]):
                return
        except (OSError, ValueError, OverflowError):
            continue
    raise EngineError(f"the Spark master {master} does not answer; is it running, and is this its address?")


def _await_worker(session: SparkSession, master: str) -> None:
    """Refuse a cluster that gives us no worker; Spark itself would wait for ever."""
    if not master.startswith("spark://"):
        return
    status, end = session.sparkContext._jsc.sc(), time.monotonic() + PATIENCE[1]  # noqa: SLF001  # pyspark has no public way to ask
    while status.getExecutorMemoryStatus().size() < 2:  # the first is this program
        if time.monotonic() > end:
            raise EngineError(f"the Spark master {master} has no free worker; start one, or try again later")
        time.sleep(0.1)
