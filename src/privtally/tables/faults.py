"""What is said about rows and columns that do not fit: where they stand, how many there are, and nothing they hold."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from privtally.errors import RecordError

MOST_NAMED, MOST_LETTERS = 10, 40
"""How many bad rows or columns a message names, and how much of a column's name it quotes."""


@dataclass
class Faults:
    """The rows of a table that do not fit; the first ones are named under what is wrong, the others counted."""

    where: str
    many: int = 0
    first: dict[str, list[str]] = field(default_factory=dict)
    """Where the first rows stand, by their fault."""

    def add(self, place: str, fault: RecordError) -> None:
        """Note a row that does not fit."""
        self.many += 1
        if self.many <= MOST_NAMED:
            self.first.setdefault(str(fault), []).append(place)

    def refuse(self) -> None:
        """Refuse the table if there was one."""
        if self.many:
            named = "; ".join(f"{', '.join(places)}: {fault}" for fault, places in self.first.items())
            more = f"; and {self.many - MOST_NAMED:,} more" if self.many > MOST_NAMED else ""
            said = "1 row does" if self.many == 1 else f"{self.many:,} rows do"
            raise RecordError(f"{self.where}, {named}{more} ({said} not fit the schema)")


def say_ignored(columns: Sequence[str]) -> str:
    """A sentence about columns that are not read."""
    what, them = ("column", "it") if len(columns) == 1 else ("columns", "them")
    return f"Ignored {what} {quoted(columns)}: the schema does not name {them}."


def unlike_header(cells: int, columns: int) -> str:
    """What is wrong with a row that has another number of cells than the header."""
    if cells < columns:
        return "fewer cells than the header; write a comma for every column"
    return "more cells than the header; put an answer that has a comma in it in quotation marks"


def quoted(names: Sequence[str]) -> str:
    """Columns' names for a message, which a table of thousands must not flood.

    A name ends with its line: where a quotation mark in a header is not closed, the answers of the next lines follow.
    """
    shown = [repr(_short(name)) for name in names[:MOST_NAMED]]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")


def _short(name: str) -> str:
    first = name.partition("\n")[0][:MOST_LETTERS].rstrip("\r")
    return first if first == name else f"{first}…"
