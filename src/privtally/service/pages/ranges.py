"""A range of numbers as it is typed into the form, and what is wrong with it in the form's words."""

import re
from decimal import Decimal
from math import isfinite

from privtally.bins import BinRange
from privtally.exact import wire
from privtally.schema import MAX_LABELS
from privtally.service.pages.refusals import PageRefusalError

LEAST_STEPS = 2
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}([.,][0-9]{3})+")
"""Either thousands set apart, or three decimals: nobody can know which."""


def read_range(name: str, start: str, end: str, width: str) -> tuple[BinRange, bool]:
    """The bins of the question `name`, and whether it asks for decimals."""
    numbers = [_number(name, text) for text in (start, end, width)]
    _check(name, *(Decimal(repr(number)) for number in numbers))
    return BinRange(*numbers), any(isinstance(number, float) for number in numbers)


def _number(name: str, text: str) -> int | float:
    """The number of a text, with a decimal point or a decimal comma."""
    if _THOUSANDS.fullmatch(text):
        raise PageRefusalError("draft.thousands", name=name)
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        raise PageRefusalError("draft.range", name=name) from None
    if not isfinite(number):
        raise PageRefusalError("draft.range", name=name)
    return number


def _check(name: str, start: Decimal, end: Decimal, width: Decimal) -> None:
    """Refuse a range that does not divide into steps, with the nearest end below that does."""
    if max(map(abs, (start, end, width))) > wire.MAX_INTEGER:
        raise PageRefusalError("draft.range.large", name=name)
    if start >= end or width <= 0:
        raise PageRefusalError("draft.order", name=name)
    steps = (end - start) / width
    if steps > MAX_LABELS:
        raise PageRefusalError("draft.steps", name=name, most=MAX_LABELS)
    if steps != int(steps) or steps < LEAST_STEPS:
        better = start + max(int(steps), LEAST_STEPS) * width
        typed = {"start": start, "end": end, "width": width, "better": better}
        raise PageRefusalError("draft.divide", name=name, **{key: _short(own) for key, own in typed.items()})


def _short(number: Decimal) -> int | float:
    return int(number) if number == int(number) else float(number)
