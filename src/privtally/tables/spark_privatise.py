"""Answers in files become private reports on Spark's workers, where the files are. Needs the extra `spark`.

A worker privatises a whole file under a key of its own from its operating system, and writes the reports to a file with
a random name beside the output. Spark may try a file several times: a worker dies, or a result is lost on its way. Each
attempt draws anew, and two published reports of one record would be two answers of one person. So an attempt only names
the file that it wrote, the driver takes one name for each file of answers, once the whole job has succeeded, and moves
exactly those files to the output. All others are deleted. There is one job and nothing is left to compute later.
"""

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from privtally.documents.plan import Plan, load_plan
from privtally.errors import DocumentError, EngineError, PrivtallyError
from privtally.exact.source import Stream
from privtally.files import STANDARD, draft_of, write_whole_directory
from privtally.participant.respond import respond_many
from privtally.tables.answer_files import open_answers
from privtally.tables.gathering import Gathered
from privtally.tables.paths import every_file
from privtally.tables.report_output import write_reports
from privtally.tables.spark import SPARK_FAULTS, spark_session


class Privatised(NamedTuple):
    """What was written, and the columns that were not read."""

    files: int
    reports: int
    ignored: list[str]


class _Attempt(NamedTuple):
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
        _publish(room, draft, sorted(one.name for one in done))
    ignored = dict.fromkeys(column for one in done for column in one.ignored)
    return Privatised(len(done), sum(one.reports for one in done), [*ignored])


def privatise_file(plan: bytes, room: str, coded: bool, path: str) -> _Attempt | PrivtallyError:  # noqa: FBT001  # Spark passes arguments by place
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
    return _Attempt(name, gathered.reports, [*answers.ignored])


def _one_each(session: SparkSession, attempt: "partial[_Attempt | PrivtallyError]", files: list[str]) -> list[_Attempt]:
    """The attempt that Spark takes for each file."""
    try:
        results = session.sparkContext.parallelize(files, len(files)).map(attempt).collect()
    except SPARK_FAULTS:  # its message may hold anything
        raise EngineError(
            "Spark gave the job up; its workers need privtally and must be able to read and write these directories"
        ) from None
    done: list[_Attempt] = []
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


def _publish(room: Path, draft: Path, names: Sequence[str]) -> None:
    """Move the named files; their times become equal, since they would say which was finished first."""
    now = draft.stat().st_mtime_ns
    for name in names:
        (room / name).replace(draft / name)
        os.utime(draft / name, ns=(now, now))
