"""The commands of the program, as its own help has them."""

from collections.abc import Iterator
from typing import Any

import typer

from privtally.cli.app import app


def commands_page() -> str:
    """A section for each command: what it does, how it is called, its arguments and options."""
    program: Any = typer.main.get_command(app)
    return "\n".join(_sections(program, program.make_context("privtally", [], resilient_parsing=True)))


def _sections(group: Any, context: Any) -> Iterator[str]:
    for name, command in group.commands.items():
        if command.hidden:
            continue
        own = type(context)(command, info_name=name, parent=context)
        if hasattr(command, "commands"):
            yield from _sections(command, own)
        else:
            yield _section(command, own)


def _section(command: Any, context: Any) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    lines = [f"## {context.command_path}", "", command.help, "", "```text", usage, "```", ""]
    records = [record for parameter in command.params if (record := parameter.get_help_record(context))]
    return "\n".join([*lines, *(f"`{names}`\n: {text}\n" for names, text in records)])
