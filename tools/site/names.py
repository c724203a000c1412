"""The public names of the package, for autodoc to describe."""

import inspect

import privtally

ROOMS = {
    "schema": "What may be asked",
    "documents": "Documents",
    "participant": "The participant's side",
    "collector": "The collector's side",
    "campaign": "A whole campaign",
    "tables": "Frames",
    "privacy": "Audit",
    "lab": "Advice and simulation",
    "files": "Files",
    "exact": "Randomness",
    "errors": "Refusals",
}
"""Rooms of the package in the order of the data's path, and what a reader looks for there."""


def names_page() -> str:
    """Autodoc's directives for every public name, by room."""
    names = [name for name in privtally.__all__ if name != "__version__"]
    rooms = {name: getattr(privtally, name).__module__.split(".")[1] for name in names}
    order = [*ROOMS, *sorted(set(rooms.values()) - set(ROOMS))]
    return "\n".join(_section(room, [name for name in names if rooms[name] == room]) for room in order)


def _section(room: str, names: list[str]) -> str:
    directives = [line for name in names for line in _directive(name)]
    return "\n".join([f"## {ROOMS.get(room, room)}", "", "```{eval-rst}", *directives, "```", ""])


def _directive(name: str) -> list[str]:
    if inspect.isclass(getattr(privtally, name)):
        return [f".. autoclass:: privtally.{name}", "   :members:", ""]
    return [f".. autofunction:: privtally.{name}", ""]
