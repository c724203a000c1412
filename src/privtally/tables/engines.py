"""What computes over files of reports: DuckDB inside this process, Polars, or a Spark cluster."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from privtally.documents.plan import Plan
from privtally.errors import EngineError
from privtally.files import Advance, silently
from privtally.names import EngineName
from privtally.tables.database import engine
from privtally.tables.library import LibraryReports
from privtally.tables.paths import every_file
from privtally.tables.report_input import DuckReports
from privtally.tables.tallying import Engine


@dataclass(frozen=True)
class EngineChoice:
    """An engine, and for Spark the URL of the cluster's master; without one Spark runs on this machine."""

    name: EngineName = "duckdb"
    master: str | None = None

    def __post_init__(self) -> None:
        if self.master is not None and self.name != "spark":
            raise EngineError("--master has no effect without --engine spark; leave it out")
        package = _PACKAGES[self.name]
        if find_spec(package) is None:
            raise EngineError(
                f"--engine {self.name} needs {package}; install it with: pip install 'privtally[{self.name}]'"
            )


@contextmanager
def open_reports(
    choice: EngineChoice, plan: Plan, paths: Sequence[Path], *, in_pieces: bool = True, advance: Advance = silently
) -> Iterator[Engine]:
    """The reports in files, in directories and in files that patterns match."""
    with engine() as connection:
        files = every_file(paths)
        if choice.name == "polars":
            from privtally.tables.polars_library import PolarsLibrary

            yield LibraryReports(PolarsLibrary(), connection, plan, files, in_pieces=in_pieces, advance=advance)
        elif choice.name == "spark":
            from privtally.tables.spark import SparkLibrary, spark_session

            with spark_session(choice.master) as session:
                library = SparkLibrary(session)
                yield LibraryReports(library, connection, plan, files, in_pieces=in_pieces, advance=advance)
        else:
            yield DuckReports(connection, plan, files, in_pieces=in_pieces, advance=advance)


_PACKAGES = {"duckdb": "duckdb", "polars": "polars", "spark": "pyspark"}
