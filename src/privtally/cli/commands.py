"""How commands parse and show themselves."""

from collections.abc import Sequence
from inspect import cleandoc
from itertools import islice
from typing import Any

from typer.core import TyperCommand, TyperGroup

from privtally.errors import DocumentError


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
    """A command that reads `--phase PLAN COUNTS` as `--phase PLAN --phase COUNTS`, as typer's options take one file."""

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
            option, _, file = word.partition("=")
            if option != "--phase":
                spread.append(word)
                continue
            files = [*filter(None, [file]), *islice(rest, 1 if file else 2)]
            if len(files) < 2 or any(path.startswith("-") and path != "-" for path in files):
                raise DocumentError("--phase needs two files: --phase PLAN COUNTS")
            spread += ["--phase", files[0], "--phase", files[1]]
        return super().parse_args(ctx, args if ctx.resilient_parsing else spread)


class Group(TyperGroup):
    """A group of commands."""

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
