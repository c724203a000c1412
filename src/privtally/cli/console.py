"""What commands print with: answers on standard output, everything else on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from privtally.schema import Records, Schema


class WrappingConsole(Console):
    """Wraps sentences between words on a terminal; elsewhere a sentence is one line, as it is around a longer path."""

    def __init__(self, *, file: IO[str] | None = None, stderr: bool = False) -> None:
        super().__init__(file=file, stderr=stderr, highlight=False, markup=False, emoji=False)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as the console of rich does."""
        words = [word for text in objects if isinstance(text, str) for word in text.split()]
        whole = not self.file.isatty() or any(len(word) > self.width for word in words)
        super().print(*objects, **{"soft_wrap": whole, **options})


out = WrappingConsole()
err = WrappingConsole(stderr=True)


def beside(output: Path | None) -> Console:
    """Where a command speaks: standard error if what it writes takes standard output."""
    from privtally.files import standard_descriptor

    return out if output is None or standard_descriptor(output) != 1 else err


def announce(output: Path, facts: dict[str, Any], line: str, *, json: bool) -> None:
    """Say what was written to an output: the facts for programs, or a line for people."""
    if json:
        print_json({"output": str(output), **facts}, beside(output))
    else:
        beside(output).print(line)


def print_json(value: Any, console: Console = out) -> None:
    """Print a value as JSON."""
    console.file.write(json_bytes(value).decode())


def json_bytes(value: Any) -> bytes:
    """A value as JSON, laid out for reading."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error, if that is a terminal; call what it gives with how much is done."""
    from rich.progress import Progress

    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(what, total=total or None)
        yield lambda done: bar.update(task, completed=done)


def read_answers(path: Path, schema: "Schema") -> "Records":
    """All records of a table; says which of its columns are ignored."""
    from privtally.tables.answer_files import open_answers

    with open_answers([path], schema, notice=err.print) as answers, progress("Reading", answers.rows) as advance:
        return answers.read_all(advance)


def write_picture(figure: "Figure", path: Path) -> None:
    """Write a figure and say so."""
    from privtally.files import write_bytes
    from privtally.plots.estimate import render

    write_bytes(path, render(figure, path))
    err.print(f"Written: {path}")
