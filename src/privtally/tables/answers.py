"""Participants' answers in a table of any kind: labels or codes in, records out. Raw data; nothing is echoed.

The engine finds the codes of all answers that are spelled as the schema spells them. Every other value is looked into
here, so that what counts as an answer is decided in one place: `spelling`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import duckdb
import nanoarrow as na
import numpy as np

from privtally.errors import RecordError
from privtally.exact.arrays import Codes
from privtally.exact.wire import normal
from privtally.files import Advance, silently
from privtally.schema import Attribute, Records, Schema, code_type
from privtally.tables import arrow
from privtally.tables.database import name, text
from privtally.tables.faults import Faults, quoted
from privtally.tables.spelling import Spelling, spelling

_MOST_REMEMBERED = 1 << 16
"""How many different values of a column are kept with their codes."""


@dataclass(frozen=True)
class Answers:
    """A table of answers in the engine. `where` names it in refusals.

    With `coded` the values are codes 0, 1, 2 … in the labels' order. `names` are the columns' names where the engine
    has others for them.
    """

    where: str
    schema: Schema
    table: duckdb.DuckDBPyRelation
    coded: bool = False
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        missing = [own for own in self.schema.names if own not in self._names]
        if missing:
            raise RecordError(f"{self.where} has no column {quoted(missing)}; every question needs one")
        twice = [own for own in self.schema.names if self._names.count(own) > 1]
        if twice:
            raise RecordError(f"{self.where} has the column {twice[0]!r} twice; give every column another name")

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return self.names or tuple(map(normal, self.table.columns))

    @property
    def ignored(self) -> tuple[str, ...]:
        """The columns that the schema does not name."""
        return tuple(column for column in self._names if column not in self.schema.names)

    def batches(self, advance: Advance = silently) -> Iterator[Records]:
        """The records, some hundred thousand at a time; `advance` hears how many there were.

        After a row that does not fit no more records come, but every row is checked before the table is refused.
        """
        columns = [self._column(attribute) for attribute in self.schema.attributes]
        faults, rows = Faults(self.where), 0
        for batch in arrow.batches(self.table.project(", ".join(column.sql for column in columns))):
            codes: Codes = np.empty((len(batch[0]), len(columns)), dtype=code_type(self.schema.sizes), order="F")
            bad: dict[int, RecordError] = {}
            for own, column in enumerate(columns):
                codes[:, own] = column.codes(batch[2 * own], batch[2 * own + 1], bad)
            for row in sorted(bad):
                faults.add(f"row {rows + row + 1:,}", bad[row])
            rows += len(codes)
            if not faults.many:
                yield Records(self.schema, codes)
            advance(rows)
        if not rows:
            raise RecordError(f"{self.where} has no rows; it needs one for each person")
        faults.refuse()

    def read_all(self, advance: Advance = silently) -> Records:
        """All records at once."""
        return Records(self.schema, np.concatenate([records.codes for records in self.batches(advance)]))

    def _column(self, attribute: Attribute) -> "_Column":
        place = self._names.index(attribute.name)
        column, kind = name(self.table.columns[place]), str(self.table.types[place])
        value = f"CAST({column} AS VARCHAR)"
        if kind == "BLOB":  # text that is not marked as text; what is none matches no label
            value = f"coalesce(TRY(decode({column})), {value})"
        if kind in ("FLOAT", "DOUBLE"):  # a number is spelled as a person would: 3, not 3.0
            whole = (
                f"{column} = trunc({column}) AND abs({column}) < 9e15 THEN CAST(CAST({column} AS BIGINT) AS VARCHAR)"
            )
            value = f"CASE WHEN isnan({column}) THEN NULL WHEN {whole} ELSE {value} END"
        return _Column(spelling(attribute, coded=self.coded), value, attribute.size)


class _Column:
    """One attribute's column: what the engine computes of it, and what is made of that.

    The engine finds the place of a value among the answers that are spelled in a known way, or else gives its text.
    """

    def __init__(self, code_of: Spelling, value: str, size: int) -> None:
        answers = [answer for answer in code_of if isinstance(answer, str)]
        self._code_of, self._unknown, self._remembered = code_of, len(answers), dict[str | None, int]()
        self._codes = np.array([*(code_of[answer] for answer in answers), 0], dtype=code_type((size,)))
        known = f"enum_code(TRY_CAST({value} AS ENUM({', '.join(map(text, answers))})))" if answers else "NULL"
        self.sql = f"coalesce({known}, {self._unknown})::UINTEGER, CASE WHEN {known} IS NULL THEN {value} END"

    def codes(self, known: na.Array, other: na.Array, bad: dict[int, RecordError]) -> Codes:
        """The codes of a batch; rows that do not fit are added to `bad`."""
        places = arrow.numbers(known)
        codes: Codes = self._codes[places]
        unknown = np.flatnonzero(places == self._unknown)
        if unknown.size:
            values = arrow.texts(other)
            for row in unknown.tolist():
                try:
                    codes[row] = self._look_up(values[row])
                except RecordError as fault:
                    bad.setdefault(row, fault)
        return codes

    def _look_up(self, value: str | None) -> int:
        if value not in self._remembered:
            if len(self._remembered) == _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[value] = self._code_of[value]
        return self._remembered[value]
