"""DuckDB inside this process: the engine that reads and writes files, within a stated memory."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

MEMORY = "512MB"
"""What the engine may hold; what is larger goes to temporary files."""


@contextmanager
def engine(threads: int = 0) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory, on so many cores or on all; its temporary files stand where TMPDIR says and go with it."""
    with tempfile.TemporaryDirectory(prefix="privtally-") as spill:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": MEMORY,
            "temp_directory": spill,
            "autoinstall_known_extensions": False,  # nothing is fetched from anywhere
            "autoload_known_extensions": False,
        }
        if threads:
            config["threads"] = threads
        with duckdb.connect(":memory:", config=config) as connection:
            with suppress(
                duckdb.InvalidInputException
            ):  # a notebook without ipywidgets has none, and no setting for it
                connection.execute("SET enable_progress_bar = false")
            yield connection


def text(value: str | Path) -> str:
    """A text as SQL writes it."""
    quoted = str(value).replace("'", "''")
    return f"'{quoted}'"


def literal(path: Path) -> str:
    """A path as the engine names it, which would otherwise take `~` for a home directory."""
    return f"./{path}" if str(path).startswith("~") else str(path)


def file(path: Path) -> str:
    """A file's name as SQL writes it where a pattern may stand: it matches this file and no other."""
    return text("".join(f"[{letter}]" if letter in "*?[" else letter for letter in literal(path)))


def files(paths: Sequence[Path]) -> str:
    """A list of them."""
    return f"[{', '.join(map(file, paths))}]"


def name(value: str) -> str:
    """A column's name as SQL writes it."""
    quoted = value.replace('"', '""')
    return f'"{quoted}"'
