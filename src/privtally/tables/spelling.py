"""How answers are spelled in a table: as labels, or as the labels' codes."""

from collections.abc import Mapping
from typing import Any

from privtally.errors import RecordError
from privtally.schema import Attribute

Spelling = Mapping[Any, int]
"""The code of a value; a value that is none of the answers is refused when it is met."""


def spelling(attribute: Attribute, *, coded: bool = False) -> Spelling:
    """The codes of an attribute's answers; with `coded` they are spelled 0, 1, 2 … in the labels' order."""
    return _Stated(attribute) if coded else attribute.code_of


class _Stated(dict[Any, int]):
    def __init__(self, attribute: Attribute) -> None:
        super().__init__((str(code), code) for code in range(attribute.size))
        if attribute.optional:
            self.update(dict.fromkeys(("", None), attribute.size - 1))
        self.attribute = attribute

    def __missing__(self, value: Any) -> int:
        raise RecordError(f"question '{self.attribute.name}' needs a code from 0 to {self.attribute.size - 1}")
