"""Spark as an engine: on this machine, or on a cluster whose machines see the files. Needs the extra `spark`."""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import nanoarrow as na
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession

from privtally.documents.plan import Plan, load_plan
from privtally.errors import DocumentError, EngineError, PrivtallyError
from privtally.exact.randomness import Stream
from privtally.files import STANDARD, Advance, draft_of, silently, write_whole_directory
from privtally.participant.respond import respond_many
from privtally.tables import database
from privtally.tables.answers import open_answers
from privtally.tables.database import every_file, rows_in_parquet
from privtally.tables.report_input import DuckReports, parquet_parts, parsed_text, unreadable_parquet
from privtally.tables.report_output import Gathered, write_reports

PATIENCE = 5.0, 60.0
"""How many seconds a master has for an answer, and for a first worker."""

MOST_GROUPS = 8_000_000
"""How many different reports are brought here at once, some 300 MB."""

SPARK_FAULTS = (PySparkException, Py4JError, ConnectionError)
_HERE = "local[*]"
_FAILED = "Spark gave the job up; its workers must run, and be able to read these files under the same paths"
_SETTINGS = {
    "spark.app.name": "privtally",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.speculation": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.log.level": "OFF",
}


class SparkReports(DuckReports):
    """Reports in files, as `tally_table` takes them. Spark reads Parquet itself; text is parsed by DuckDB first."""

    def __init__(
        self,
        session: SparkSession,
        connection: duckdb.DuckDBPyConnection,
        plan: Plan,
        paths: Sequence[Path],
        *,
        in_pieces: bool = True,
        advance: Advance = silently,
    ) -> None:
        super().__init__(connection, plan, paths, in_pieces=in_pieces, advance=advance)
        self._session, self._tables, self._room = session, dict[str, Any](), ""

    def pieces(self) -> Iterator[str]:
        with tempfile.TemporaryDirectory(prefix="privtally-") as self._room:
            yield from super().pieces()

    def _sources(self) -> tuple[list[str], int]:
        with self._readable():
            parts = parquet_parts(self._connection, self._plan, self._parquet)
            for source in parsed_text(self._connection, self._plan, self._text):
                parsed = Path(self._room, "parsed.parquet")
                self._connection.sql(source).write_parquet(str(parsed))
                parts.append(("*", [parsed]))
            rows = rows_in_parquet(self._connection, [path for _, paths in parts for path in paths])
            self._tables = {f"part{number}": self.scan(paths) for number, (_, paths) in enumerate(parts)}
        names = zip(self._tables, parts, strict=True)
        return [f"SELECT * FROM (SELECT {select} FROM {{{name}}})" for name, (select, _) in names], rows

    def _number(self, rows: int) -> int:
        """As many as what is brought here at once allows."""
        return -(-min(rows, prod(self._plan.mechanism.outputs)) // MOST_GROUPS)

    def scan(self, paths: Sequence[Path]) -> DataFrame:
        """The table in Parquet files of the same columns."""
        return self._session.read.parquet(*map(spark_path, paths))

    def read(self, query: str) -> Iterator[list[na.Array]]:
        """Batches of what was computed."""
        with self._readable():
            computed = self._session.sql(query, **self._tables).toArrow()
        return database.batches(computed)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        with super()._readable():
            try:
                yield
            except SPARK_FAULTS:
                raise unreadable_parquet(self._connection, self._parquet, _FAILED) from None


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
    await_master(master)
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


def await_master(master: str) -> None:
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


# Answers in files become private reports on Spark's workers, where the files are. Needs the extra `spark`.


class Privatised(NamedTuple):
    """What was written, and the columns that were not read."""

    files: int
    reports: int
    ignored: list[str]


class Attempt(NamedTuple):
    """A file that one attempt wrote."""

    name: str
    reports: int
    ignored: list[str]


def privatise_files(
    plan: Plan, paths: Sequence[Path], output: Path, *, master: str | None = None, coded: bool = False
) -> Privatised:
    """Privatise files of answers into a directory of as many Parquet files, which appears whole or not at all."""
    files = every_file(paths)
    if STANDARD in files:
        raise DocumentError("Spark's workers cannot read standard input; name files")
    with write_whole_directory(output) as draft, _room_for_attempts(output) as room:
        attempt = partial(privatise_file, plan.dump(), str(room.absolute()), coded)
        with spark_session(master) as session:
            done = _one_each(session, attempt, [str(path.absolute()) for path in files])
        publish(room, draft, sorted(one.name for one in done))
    ignored = dict.fromkeys(column for one in done for column in one.ignored)
    return Privatised(len(done), sum(one.reports for one in done), [*ignored])


def privatise_file(plan: bytes, room: str, coded: bool, path: str) -> Attempt | PrivtallyError:  # noqa: FBT001  # Spark passes arguments by place
    """One attempt at one file, on a worker. A refusal is given back: trying again would not help."""
    name = f"{secrets.token_hex(16)}.parquet"
    try:
        the_plan, source = load_plan(plan), Stream.from_system()
        with open_answers([Path(path)], the_plan.schema, coded=coded) as answers, Gathered(the_plan) as gathered:
            for records in answers.batches():
                gathered.add(respond_many(the_plan, records, source))
            write_reports(Path(room, name), the_plan, gathered)
    except PrivtallyError as refusal:
        return refusal
    return Attempt(name, gathered.reports, [*answers.ignored])


def _one_each(session: SparkSession, attempt: "partial[Attempt | PrivtallyError]", files: list[str]) -> list[Attempt]:
    """The attempt that Spark takes for each file."""
    try:
        results = session.sparkContext.parallelize(files, len(files)).map(attempt).collect()
    except SPARK_FAULTS:  # its message may hold anything
        raise EngineError(
            "Spark gave the job up; its workers need privtally and must be able to read and write these directories"
        ) from None
    done: list[Attempt] = []
    for result in results:
        if isinstance(result, PrivtallyError):
            raise result
        done.append(result)
    return done


@contextmanager
def _room_for_attempts(output: Path) -> Iterator[Path]:
    """A hidden directory beside the output. A late attempt may still write into it, but never into the output."""
    room = draft_of(output)
    room.mkdir()
    try:
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)


def publish(room: Path, draft: Path, names: Sequence[str]) -> None:
    """Move the named files; their times become equal, since they would say which was finished first."""
    now = draft.stat().st_mtime_ns
    for name in names:
        (room / name).replace(draft / name)
        os.utime(draft / name, ns=(now, now))
