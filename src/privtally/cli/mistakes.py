"""What was typed wrongly, in one sentence: what, where, and what to type instead."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import typer

UsageError: Any = typer.BadParameter.__mro__[1]
"""What typer raises for words that it cannot parse."""

_KINDS = {"number": "a number", "float": "a number", "integer": "a whole number", "int": "a whole number"}
"""What an option wants, by the word that the parser has for it."""


def meant(word: str, known: Sequence[str], otherwise: str) -> str:
    """A question after the known name that is most like a word; otherwise what else to do."""
    alike = get_close_matches(word, known, n=1)
    return f"did you mean {alike[0]}?" if alike else otherwise


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
        return f"there is no command {f'{name} {unknown[1]}'.strip()}; {meant(unknown[1], known, listed)}"
    said = mistake.message.rstrip(".")
    return f"{said[0].lower()}{said[1:]}; {command} --help says what it takes"


def _about_value(mistake: Any, command: str) -> str:
    """What is wrong with the value of an option or an argument, or that it is missing."""
    own = mistake.param
    option = own.opts[0] if own.param_type_name == "option" else own.metavar
    value = f"{own.opts[0]} {own.metavar}" if own.param_type_name == "option" else own.metavar
    if not mistake.message:
        return f"{command.removeprefix('privtally ')} needs {value}; {command} --help says what that is"
    source = mistake.ctx.get_parameter_source(own.name)
    if source is not None and source.name == "ENVIRONMENT":
        option += f" (from {own.envvar})"
    if named := re.search(r"'(.*)' is not one of (.*)", mistake.message):
        return not_among(option, named[1], re.findall(r"'([^']*)'", named[2]))
    kind = next((kind for word, kind in _KINDS.items() if f"valid {word}" in mistake.message), "of another kind")
    given = next((f", got '{fault['input']}'" for fault in getattr(mistake.__cause__, "errors", list)()), "")
    return f"{option} must be {kind}{given}; {command} --help says more"
