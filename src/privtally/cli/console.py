"""How commands parse, complete, refuse and print: answers on standard output, everything else on standard error."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import cleandoc
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer
from rich.console import Console
from typer.core import TyperCommand, TyperGroup

from privtally.errors import DocumentError, meant
from privtally.names import plain_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from privtally.schema import Records, Schema


def _without_types(parameters: Sequence[Any]) -> list[Any]:
    """Parameters that do not show a type in the help: flags, and arguments, whose names say what they are."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        elif parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: None  # noqa: ARG005  # typer's name for it
    return list(parameters)


def reflowed(text: str | None) -> str:
    """A docstring with each paragraph in one line, for the terminal to wrap."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in cleandoc(text or "").split("\n\n"))


class Command(TyperCommand):
    """A command that reads `--phase PLAN COUNTS` as `--phase PLAN --phase COUNTS`, as typer's options take one file,
    and a mechanism's name as people write it: RS+FD, Corr_RR.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Its arguments and options."""
        return _without_types(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What stands behind the command's name in its usage."""
        pieces = [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]
        return [piece.replace("…...", "…") for piece in pieces]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What typer makes of the words."""
        spread: list[str] = []
        rest = iter([] if ctx.resilient_parsing else args)
        for word in rest:
            option, equals, file = word.partition("=")
            if option in ("--mechanism", "-m"):
                spread += [option, *map(plain_name, [file] if equals else islice(rest, 1))]
                continue
            if option != "--phase":
                spread.append(word)
                continue
            files = [*filter(None, [file]), *islice(rest, 1 if file else 2)]
            if len(files) < 2 or any(path.startswith("-") and path != "-" for path in files):
                raise DocumentError("--phase needs two files: --phase PLAN COUNTS")
            spread += ["--phase", files[0], "--phase", files[1]]
        return super().parse_args(ctx, args if ctx.resilient_parsing else spread)


class Group(TyperGroup):
    """A group of commands, which takes `help COMMAND` for `COMMAND --help`, and `version` for `--version`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What typer makes of the words."""
        match args:
            case ["help", *words]:
                args = [*words, "--help"]
            case ["version"]:
                args = ["--version"]
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        """Its arguments and options."""
        return _without_types(super().get_params(ctx))


def complete_list(known: Sequence[str]) -> Any:
    """Completes the last of several names between commas."""

    def complete(incomplete: str) -> list[str]:
        before, comma, start = incomplete.rpartition(",")
        given = before.split(",")
        return [f"{before}{comma}{name}" for name in known if name.startswith(start) and name not in given]

    return complete


UsageError: Any = typer.BadParameter.__mro__[1]
"""What typer raises for words that it cannot parse."""

_ALSO_TYPED = {"open": "privtally serve prints the address to open in a browser"}
"""Commands that people look for under another name."""
_KINDS = {"number": "a number", "float": "a number", "integer": "a whole number", "int": "a whole number"}
"""What an option wants, by the word that the parser has for it."""


def not_among(option: str, word: str, known: Sequence[str]) -> str:
    """A sentence about a name that an option does not know."""
    return f"{option} must be one of {', '.join(known)}, got '{word}'; {meant(word, known, 'name one of them')}"


def sentence(mistake: Any) -> str:
    """What is wrong with the words that were typed."""
    command = mistake.ctx.command_path if mistake.ctx else "privtally"
    listed, name = f"{command} --help lists all", command.removeprefix("privtally").strip()
    if isinstance(mistake, typer.BadParameter):
        return _about_value(mistake, command)
    if hasattr(mistake, "possibilities"):
        option = mistake.option_name
        return f"{name or command} has no option {option}; {meant(option, mistake.possibilities or (), listed)}"
    if unknown := re.match(r"No such command '([^']*)'", mistake.message):
        known = mistake.ctx.command.list_commands(mistake.ctx)
        listed = _ALSO_TYPED.get(unknown[1], listed)
        return f"there is no command {f'{name} {unknown[1]}'.strip()}; {meant(unknown[1], known, listed)}"
    message = mistake.message.rstrip(".")
    return f"{message[0].lower()}{message[1:]}; {command} --help says what it takes"


def _about_value(mistake: Any, command: str) -> str:
    """What is wrong with the value of an option or an argument, or that it is missing."""
    parameter = mistake.param
    option = parameter.opts[0] if parameter.param_type_name == "option" else parameter.metavar
    value = f"{parameter.opts[0]} {parameter.metavar}" if parameter.param_type_name == "option" else parameter.metavar
    if not mistake.message:
        return f"{command.removeprefix('privtally ')} needs {value}; {command} --help says what that is"
    source = mistake.ctx.get_parameter_source(parameter.name)
    if source is not None and source.name == "ENVIRONMENT":
        option += f" (from {parameter.envvar})"
    if named := re.search(r"'(.*)' is not one of (.*)", mistake.message):
        return not_among(option, named[1], re.findall(r"'([^']*)'", named[2]))
    kind = next((kind for word, kind in _KINDS.items() if f"valid {word}" in mistake.message), "of another kind")
    given = next((f", got '{fault['input']}'" for fault in getattr(mistake.__cause__, "errors", list)()), "")
    return f"{option} must be {kind}{given}; {command} --help says more"


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


def say(facts: Any, line: str, console: Console = out, *, json: bool) -> None:
    """Print the facts for programs, or a line for people."""
    if json:
        print_json(facts, console)
    else:
        console.print(line)


def announce(output: Path, facts: dict[str, Any], line: str, *, json: bool) -> None:
    """Say what was written to an output: the facts for programs, or a line for people."""
    say({"output": str(output), **facts}, line, beside(output), json=json)


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
    from privtally.tables.answers import open_answers

    with open_answers([path], schema, notice=err.print) as answers, progress("Reading", answers.rows) as advance:
        return answers.read_all(advance)


def write_picture(figure: "Figure", path: Path) -> None:
    """Write a figure and say so."""
    from privtally.plots.estimate import written

    written(figure, path)
    err.print(f"Written: {path}")
