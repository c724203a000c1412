"""The commands of the program, as its own help has them."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from privtally.cli.app import EXAMPLES, PATTERNS, app

_CODE = re.compile(r"(?<!\w)'[^']+'(?!\w)|(?<![\w`])--[a-z][a-z0-9-]*|sqlite:///[\w.]*\w|postgresql://[\w@/]+")

READ_ON = {
    "init": "[What may be asked](../guide/questions.md)",
    "advise": "[Which campaign to run](../guide/choosing.md)",
    "run": "[Which campaign to run](../guide/choosing.md), [DataFrames](../guide/dataframes.md)",
    "design": "[Groups](../guide/groups.md), [alignments](../guide/alignments.md)",
    "privatise": "[Files of answers](formats.md#files-of-answers), [engines](../guide/engines.md)",
    "tally": "[Counting day by day](../guide/day-by-day.md), [engines](../guide/engines.md)",
    "merge": "[Counting day by day](../guide/day-by-day.md)",
    "learn": "[Which question was used](../explanation/secrecy.md), [groups](../guide/groups.md)",
    "refresh": "[Rounds](../guide/rounds.md)",
    "estimate": "[Two-way tables](../guide/together.md), [many answers](../guide/large-domains.md), "
    "[rounds](../guide/rounds.md), [the JSON](formats.md#what-commands-print-as-json)",
    "audit": "[Audit what a report gives away](../guide/audit.md)",
    "compare": "[How accurate it is](../notes/accuracy.md), [the JSON](formats.md#what-commands-print-as-json)",
    "reproduce": "[The paper's experiments](../notes/reproduction.md)",
    "serve": "[Run a survey](../guide/run-a-survey.md), [the HTTP interface](http.md), "
    "[a server of your own](../project/deploy.md)",
    "submit": "[What is promised](../explanation/privacy-promise.md)",
    "campaign create": "[Run a survey](../guide/run-a-survey.md)",
}
"""Pages of the guide, by command."""


def commands_page() -> str:
    """A section for each command: what it does, examples, its arguments and options."""
    program: Any = typer.main.get_command(app)
    context = program.make_context("privtally", [], resilient_parsing=True)
    panels: dict[str, list[str]] = {}
    for name, command in program.commands.items():
        panels.setdefault(command.rich_help_panel, []).extend(_sections(name, command, context))
    return "\n".join(f"## {panel}\n\n{''.join(sections)}" for panel, sections in panels.items())


def _sections(name: str, command: Any, parent: Any) -> Iterator[str]:
    context = type(parent)(command, info_name=name, parent=parent)
    if hasattr(command, "commands"):
        for own, inner in command.commands.items():
            yield from _sections(own, inner, context)
    else:
        yield _section(command, context)


def _section(command: Any, context: Any) -> str:
    name = context.command_path.removeprefix("privtally ")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    lines = [
        f"### {context.command_path}",
        "",
        _marked(command.help),
        "",
        *_examples(name),
        "```sh",
        usage,
        "```",
        "",
    ]
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    lines += [f"`{names}`\n: {_marked(text)}\n" for names, text in filter(None, records) if "--help" not in names]
    if name in READ_ON:
        lines += [f"Read on: {READ_ON[name]}.", ""]
    return "\n".join([*lines, ""])


def _marked(text: str) -> str:
    """Text with options and quotations as code, which keeps dashes and quotation marks as they are typed."""
    return _CODE.sub(r"`\g<0>`", text)


def _examples(name: str) -> list[str]:
    if name in EXAMPLES:
        return ["```console", *(f"$ {line}" for line in EXAMPLES[name]), "```", ""]
    return ["```sh", *PATTERNS[name], "```", ""]
