"""Questions as people type them, and as a schema file holds them."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from privtally.bins import BinRange
from privtally.errors import SchemaError
from privtally.exact import wire
from privtally.schema import Attribute, Schema

_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_RANGE = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})\s+by\s+({_NUMBER})")
_NO_WIDTH = re.compile(rf"{_NUMBER}\s*\.\.\s*{_NUMBER}")
MOST_SHOWN = 12
HOW = "write it as 'sleeps badly: never, rarely, weekly, daily' or 'age: 0..120 by 10'"


def read_question(text: str, known: Sequence[str] | None = None) -> tuple[str, str]:
    """The name and the answers of a `--question`; a name that is known may itself have a colon in it."""
    starts = sorted((f"{name}:" for name in known or ()), key=len, reverse=True)
    text = wire.normal(text)
    start = next((start for start in starts if text.startswith(start)), None)
    name, colon, answers = (start[:-1], ":", text[len(start) :]) if start else text.partition(_colon(text))
    if not colon or not name.strip() or not answers.strip():
        raise SchemaError(f"--question {text!r} has no name, or no answers after a colon; {HOW}")
    return name if start else name.strip(), answers


def _colon(text: str) -> str:
    """What stands between a question and its answers, which may have colons in them as in 10:30."""
    found = ": " if ": " in text else ":"
    if text.count(found) > 1:
        raise SchemaError(f"--question {text!r} has several colons; write the question without one, {HOW}")
    return found


def attribute(name: str, answers: str, *, optional: bool = False) -> Attribute:
    """A question with the answers that were typed: between commas, or numbers as `0..120 by 10`."""
    numbers = _RANGE.fullmatch(answers.strip())
    if numbers:
        decimals = any("." in number for number in numbers.groups())
        start, to, width = ((float if decimals else int)(number) for number in numbers.groups())
        return Attribute(name, bins=BinRange(start, to, width), decimals=decimals, optional=optional)
    if _NO_WIDTH.fullmatch(answers.strip()):
        raise SchemaError(f"the numbers of '{name}' have no width; write them as 0..120 by 10")
    return Attribute(name, tuple(_between_commas(name, answers)), optional=optional)


def like(other: Attribute, name: str) -> Attribute:
    """A question with the answers of another one."""
    return Attribute(name, () if other.bins else other.choices, bins=other.bins, decimals=other.decimals)


def _between_commas(name: str, answers: str) -> Iterator[str]:
    """What stands between commas; quotation marks hold an answer together that has a comma in it."""
    try:
        cells = next(csv.reader([answers], skipinitialspace=True, strict=True), [])
    except csv.Error:
        raise SchemaError(f"the answers to '{name}' have a quotation mark that is not closed; close it") from None
    return (cell.strip() for cell in cells if cell.strip())


def as_toml(schema: Schema) -> str:
    """A schema as the text of a .toml file."""
    head = "# An attribute is a question, its labels are the answers: declared here, never read off the data.\n"
    return head + "".join(f"\n[[attributes]]\n{_lines(own)}" for own in schema.attributes)


def _lines(own: Attribute) -> str:
    lines = [f"name = {_toml(own.name)}"]
    if own.bins is None:
        lines.append(f"labels = {_toml(own.choices)}")
    else:
        lines.append(f"bins = {_toml(own.bins)}")
    lines += [f"{key} = true" for key in ("decimals", "optional") if getattr(own, key)]
    return "".join(f"{line}\n" for line in lines)


def _toml(value: Any) -> str:
    """A text, a number or a list in TOML, which writes them as JSON does."""
    return json.dumps(value, ensure_ascii=False)


def in_words(attributes: Iterable[Attribute]) -> Iterator[str]:
    """A line for each question: its name and what may be answered."""
    for own in attributes:
        answers = [f'"{label}"' if "," in label else label for label in own.choices[:MOST_SHOWN]]
        more = f" … ({len(own.choices):,} in all)" if len(own.choices) > MOST_SHOWN else ""
        yield f"  {own.name}: {', '.join(answers)}{more}{' (may be skipped)' if own.optional else ''}"
