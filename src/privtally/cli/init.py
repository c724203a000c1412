"""init: a schema, asked for question by question."""

import csv
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from privtally.cli.console import err, out
from privtally.errors import DocumentError, PrivtallyError, SchemaError

if TYPE_CHECKING:
    from privtally.schema import Attribute, Schema


_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_RANGE = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})\s+by\s+({_NUMBER})")
_NO_WIDTH = re.compile(rf"{_NUMBER}\s*\.\.\s*{_NUMBER}")
MOST_SHOWN = 12
_POINTS = re.compile(rf"{_NUMBER}(?:\s*\.\.\s*{_NUMBER}){{2,}}")
_STEPS = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})\s+in\s+([0-9]{{1,6}})\s+steps?")
HOW = "write it as 'sleeps badly: never, rarely, weekly, daily', 'age: 0..120 by 10' or 'age: 0..18..45..120'"


def read_question(text: str, known: Sequence[str] | None = None) -> tuple[str, str]:
    """The name and the answers of a `--question`; a name that is known may itself have a colon in it."""
    from privtally.exact.canonical import normal

    starts = sorted((f"{name}:" for name in known or ()), key=len, reverse=True)
    text = normal(text)
    start = next((start for start in starts if text.startswith(start)), None)
    name, colon, answers = (start[:-1], ":", text[len(start) :]) if start else text.partition(_colon(text))
    if not colon or not name.strip() or not answers.strip():
        raise SchemaError(f"--question {text!r} has no name, or no answers after a colon; {HOW}")
    return name if start else name.strip(), answers


def _colon(text: str) -> str:
    """What stands between a question and its answers, which may have colons in them as in 10:30."""
    colon = ": " if ": " in text else ":"
    if text.count(colon) > 1:
        raise SchemaError(f"--question {text!r} has several colons; write the question without one, {HOW}")
    return colon


def attribute(name: str, answers: str, *, optional: bool = False) -> "Attribute":
    """A question with the answers that were typed: between commas, numbers in bins as `0..120 by 10`, or numbers on a
    grid as `0..18..45..120` or `0..120 in 5 steps`.
    """
    from privtally.scales import BinRange, GridRange
    from privtally.schema import Attribute

    answers = answers.strip()
    if numbers := _RANGE.fullmatch(answers):
        start, to, width = _numbers(numbers.groups())
        return Attribute(name, bins=BinRange(start, to, width), decimals=type(width) is float, optional=optional)
    if numbers := _STEPS.fullmatch(answers):
        start, to = _numbers(numbers.groups()[:2])
        grid = GridRange(start, to, int(numbers[3]))
        return Attribute(name, grid=grid, decimals=type(to) is float, optional=optional)
    if _POINTS.fullmatch(answers):
        points = _numbers(re.findall(_NUMBER, answers))
        return Attribute(name, grid=tuple(points), decimals=type(points[0]) is float, optional=optional)
    if _NO_WIDTH.fullmatch(answers):
        raise SchemaError(f"the numbers of '{name}' have no width; write them as 0..120 by 10, or 0..120 in 5 steps")
    return Attribute(name, tuple(_between_commas(name, answers)), optional=optional)


def _numbers(texts: Sequence[str]) -> list[int | float]:
    """Whole numbers, or all of them with decimals if one has any."""
    kind = float if any("." in text for text in texts) else int
    return [kind(text) for text in texts]


def _between_commas(name: str, answers: str) -> Iterator[str]:
    """What stands between commas; quotation marks hold an answer together that has a comma in it."""
    try:
        cells = next(csv.reader([answers], skipinitialspace=True, strict=True), [])
    except csv.Error:
        raise SchemaError(f"the answers to '{name}' have a quotation mark that is not closed; close it") from None
    return (cell.strip() for cell in cells if cell.strip())


def as_toml(schema: "Schema") -> str:
    """A schema as the text of a .toml file."""
    head = "# An attribute is a question, its labels are the answers: declared here, never read off the data.\n"
    return head + "".join(f"\n[[attributes]]\n{_lines(attribute)}" for attribute in schema.attributes)


def _lines(attribute: "Attribute") -> str:
    key = "bins" if attribute.bins else "grid" if attribute.grid else "labels"
    choices = f"{key} = {_toml(getattr(attribute, key) if attribute.numbers else attribute.choices)}"
    flags = [f"{key} = true" for key in ("decimals", "optional") if getattr(attribute, key)]
    return "".join(f"{line}\n" for line in (f"name = {_toml(attribute.name)}", choices, *flags))


def _toml(value: Any) -> str:
    """A text, a number or a list in TOML, which writes them as JSON does."""
    return json.dumps(value, ensure_ascii=False)


def in_words(attributes: Iterable["Attribute"]) -> Iterator[str]:
    """A line for each question: its name and what may be answered."""
    for attribute in attributes:
        answers = [f'"{label}"' if "," in label else label for label in attribute.choices[:MOST_SHOWN]]
        more = f" … ({len(attribute.choices):,} in all)" if len(attribute.choices) > MOST_SHOWN else ""
        how = "rounded at random to " if attribute.grid else ""
        skip = " (may be skipped)" if attribute.optional else ""
        yield f"  {attribute.name}: {how}{', '.join(answers)}{more}{skip}"


USUAL_SCHEMA = Path("schema.toml")
WHY_DECLARED = (
    "Declare which answers each question allows: the data is not looked at, because an answer that was read off it "
    "would say that somebody gave it."
)
HOW_TO_ANSWER = (
    "Type answers with commas between them, numbers as 0..120 by 10, numbers of which you want the mean as "
    "0..120 in 5 steps, or = for the answers before. "
    'An answer that has a comma in it stands in quotation marks: "a, b", c.'
)


def init(
    file: Annotated[
        Path | None,
        Argument(metavar="FILE.toml", help="Where the schema goes: schema.toml, or DATA.toml of DATA.csv."),
    ] = None,
    from_csv: Annotated[
        Path | None,
        Option(metavar="DATA.csv", help="Take the names of the questions from this file's header, and nothing else."),
    ] = None,
    question: Annotated[
        list[str] | None,
        Option(
            metavar="TEXT",
            help="A question with its answers, as 'smokes: no, yes', 'age: 0..120 by 10' for ranges or "
            "'age: 0..120 in 5 steps' for a mean; repeatable.",
        ),
    ] = None,
    optional: Annotated[
        list[str] | None, Option(metavar="NAME", help="A question of --question that may be skipped; repeatable.")
    ] = None,
    drop: Annotated[
        list[str] | None, Option(metavar="COLUMN", help="A column of --from-csv that is no question; repeatable.")
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace FILE.toml if it is there already.")] = False,
) -> None:
    """Write a schema: which questions are asked, and which answers each of them allows.

    It asks on the terminal, question by question; --question answers beforehand, and for columns that --from-csv names.
    Answers are declared, never read off the data.
    """
    from privtally.exact.canonical import normal
    from privtally.files import STANDARD, check_new, write_bytes
    from privtally.schema import Schema

    if from_csv is not None and from_csv.is_dir():
        raise DocumentError(f"cannot read {from_csv}: it is a directory; name a file")
    beside = None if from_csv is None or from_csv == STANDARD else from_csv.with_suffix(".toml")
    path = file or beside or USUAL_SCHEMA
    if path.suffix.lower() != ".toml":
        of_data = f", or say --from-csv {path}" if path.suffix.lower() == ".csv" else ""
        raise DocumentError(f"{path}: init writes TOML; give the schema a name that ends in .toml{of_data}")
    check_new(path, force=force)
    if not path.parent.is_dir():
        raise DocumentError(f"cannot write {path}: there is no directory {path.parent}; make it first")
    columns = None if from_csv is None else _columns(from_csv, drop or ())
    if drop and columns is None:
        raise SchemaError("--drop leaves out columns of --from-csv; name that file too, or leave --drop out")
    given = dict(read_question(text, columns) for text in question or ())
    if len(given) < len(question or ()):
        raise SchemaError("--question names the same question twice; every question must have another name")
    skippable, dropped = set(map(normal, optional or ())), set(map(normal, drop or ()))
    for name in skippable - set(given):
        raise SchemaError(f"--optional '{name}' names no --question; say --question '{name}: …' too")
    for name in given:
        if name in dropped:
            raise SchemaError(f"'{name}' is named by --question and by --drop; leave one of them out")
        if columns is not None and name not in columns:
            raise SchemaError(f"{from_csv} has no column '{name}' for --question; its header must name it")
    attributes = {name: attribute(name, answers, optional=name in skippable) for name, answers in given.items()}
    if columns is None:
        schema = Schema(tuple(attributes.values()) or tuple(_asked_for()))
    else:
        _check_answers([name for name in columns if name not in given], from_csv)
        schema = Schema(tuple(_completed(columns, attributes)))
    write_bytes(path, as_toml(schema).encode())
    count = len(schema.attributes)
    out.print(f"{path}: {'1 question' if count == 1 else f'{count:,} questions'}")
    for line in in_words(schema.attributes):
        out.print(line)
    _say_next(path, from_csv)


def _columns(path: Path, drop: Sequence[str]) -> list[str]:
    """The columns of a file that may be questions."""
    from privtally.exact.canonical import normal
    from privtally.tables.answers import column_names
    from privtally.tables.database import Format, format_of

    if (format_of(path) or Format("csv")).kind != "csv":
        raise SchemaError(
            f"{path} is not a CSV file, whose header --from-csv reads; leave --from-csv out and type the questions"
        )
    names, left_out = column_names(path), set(map(normal, drop))
    for name in left_out - set(names):
        raise SchemaError(f"{path} has no column '{name}' to --drop; its header must name it")
    return [name for name in names if name.strip() and name not in left_out]


def _check_answers(missing: Sequence[str], path: Path | None) -> None:
    """Refuse to ask where nobody can answer."""
    from privtally.tables.database import quoted

    if missing and not sys.stdin.isatty():
        raise SchemaError(
            f"{path} has columns without answers, and there is no terminal to ask on: {quoted(missing)}; "
            f"add --question '{missing[0]}: …' or --drop '{missing[0]}'"
        )
    if missing:
        err.print(WHY_DECLARED)
        err.print("An empty line leaves a column out.")
        err.print(HOW_TO_ANSWER)


def _completed(columns: Sequence[str], given: Mapping[str, "Attribute"]) -> Iterator["Attribute"]:
    """The columns as questions: those that were given, and those that get answers now."""
    before = None
    for name in columns:
        before = given.get(name) or _answers_to(name, before) or before
        if before is not None and before.name == name:
            yield before


def _asked_for() -> Iterator["Attribute"]:
    """Questions until an empty one."""
    if not sys.stdin.isatty():
        raise SchemaError("there is no terminal to ask on; add --question 'NAME: ANSWER, ANSWER' for each question")
    err.print("Type one question after the other; an empty line ends the list.")
    err.print(HOW_TO_ANSWER)
    names: set[str] = set()
    before = None
    while name := _ask(f"Question {len(names) + 1}: "):
        if name in names:
            err.print("This question is there already; give the next one another name.")
        elif question := _answers_to(name, before):
            names.add(name)
            before = question
            yield question
    if not names:
        raise SchemaError("no question was typed, so nothing was written; a schema needs at least one")


def _answers_to(name: str, before: "Attribute | None") -> "Attribute | None":
    """A question with answers, asked for until they can be used; None where there are none."""
    from msgspec.structs import replace

    while answers := _ask(f"  Answers to '{name}': "):
        try:
            if answers == "=" and before:
                question = replace(before, name=name, labels=before.choices, optional=False)
            else:
                question = attribute(name, answers)
        except PrivtallyError as refusal:
            err.print(f"  {refusal}.")
            continue
        return replace(question, optional=_yes("  May it be skipped or blank? [y/N] "))
    return None


def _yes(prompt: str) -> bool:
    """Whether somebody says yes; an empty line is no, and what is neither is asked again."""
    while (word := _ask(prompt).lower()) not in ("", "n", "no", "y", "yes"):
        err.print(f"  '{word}' is neither yes nor no; type y or n.")
    return word in ("y", "yes")


def _ask(prompt: str) -> str:
    with suppress(ImportError):
        import readline  # noqa: F401  # lets people edit what they type

    try:
        return input(prompt).strip()
    except EOFError:
        raise SchemaError("the input ended before the schema was complete; nothing was written") from None


def _say_next(path: Path, data: Path | None) -> None:
    """What to do with a schema, and where more kinds of questions are explained."""
    out.print(
        "Ranges of any width and answers with an order can be added to the file: 'What may be asked' in the guide."
    )
    shown = quote(str(path))
    if data is None:
        out.print(f"Next: privtally advise {shown} says how to ask, privtally campaign create {shown} starts a survey,")
        out.print(f"and privtally run DATA.csv --schema {shown} is for answers at hand.")
    else:
        schema = "" if path == data.with_suffix(".toml") else f" --schema {shown}"
        out.print(f"Next: privtally run {quote(str(data))}{schema}")
