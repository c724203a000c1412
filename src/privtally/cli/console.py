"""What commands print with: answers on standard output, everything else on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

out = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def beside(output: Path | None) -> Console:
    """Where a command speaks: standard error if what it writes takes standard output."""
    from privtally.files import is_standard_output

    return err if is_standard_output(output) else out


def print_json(value: Any, console: Console = out) -> None:
    """Print a value as JSON."""
    import msgspec

    console.file.write((msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n").decode())


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error, if that is a terminal; call what it gives with how much is done."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(what, total=total or None)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def busy(what: str) -> Iterator[None]:
    """A spinner on standard error, if that is a terminal, for work that cannot say how far it is."""
    if not err.is_terminal:
        yield
        return
    with err.status(what):
        yield


def file_size(path: Path) -> int:
    """A file's size for a progress bar; 0 where there is none to tell."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
