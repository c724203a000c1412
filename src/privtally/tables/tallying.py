"""Reports in a table become counts: one query, which DuckDB and Spark both run.

A table of reports has the columns

    id       16 bytes
    state    whether its form is sound: an id, integers or nulls, under the plan's digest
    q1 …     the code of each attribute, null where it was not asked

Reports whose codes the plan cannot give are set aside, and so are all reports with an id that others have with other
codes: no honest participant sends those, and which of them came first is not known. Of equal reports with the same id
one counts. Codes are compared packed into few integers, which are equal only if all codes are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import Protocol

import nanoarrow as na
import numpy as np
from numpy.typing import NDArray

from privtally.collector.tally import count_times, nothing
from privtally.documents.counts import SUB_REPORT_LIMIT, Counts
from privtally.documents.plan import Plan
from privtally.exact.types import Integers
from privtally.names import SetAside
from privtally.tables import database

SOUND, WRONG_PLAN, INVALID = range(3)
"""What is known of a row: a report of the plan's form, a report to another plan, or none."""

_WORD = 1 << 62


def code_columns(plan: Plan) -> list[str]:
    """The names of the columns of codes."""
    return [f"q{number}" for number in range(1, plan.mechanism.width + 1)]


class Engine(Protocol):
    """What computes over tables."""

    def pieces(self) -> Iterator[str]:
        """Queries for the reports, no two of which give the same id."""

    def read(self, query: str) -> Iterator[list[na.Array]]:
        """The columns of what a query gives, batch by batch."""


@dataclass(frozen=True)
class Packing:
    """Codes of reports to a plan, packed into integers: attributes in turn, as many in each as it holds."""

    plan: Plan

    @cached_property
    def words(self) -> list[range]:
        """The attributes of each integer."""
        sizes, words, start = self.plan.mechanism.outputs, [], 0
        for end in range(1, len(sizes) + 1):
            if end == len(sizes) or prod(sizes[start : end + 1]) >= _WORD:
                words.append(range(start, end))
                start = end
        return words

    @property
    def columns(self) -> list[str]:
        """The columns of codes."""
        return code_columns(self.plan)

    @property
    def names(self) -> list[str]:
        """The columns of integers."""
        return [f"word{number}" for number in range(len(self.words))]

    def packed(self) -> list[str]:
        """The integers of a row."""
        sizes, codes = self.plan.mechanism.outputs, self._codes()
        return [
            reduce(lambda total, own: f"({total} * {sizes[own]} + {codes[own]})", word[1:], codes[word[0]])
            for word in self.words
        ]

    def unpacked(self, words: Sequence[Integers]) -> Integers:
        """The codes (report, attribute) of packed reports."""
        codes = np.empty((len(words[0]), self.plan.mechanism.width), dtype=np.int64)
        for word, own in zip(words, self.words, strict=True):
            rest = word
            for attribute in reversed(own):
                rest, codes[:, attribute] = np.divmod(rest, self.plan.mechanism.outputs[attribute])
        return codes

    def possible(self) -> str:
        """Whether the plan can give a row's codes."""
        mechanism = self.plan.mechanism
        within = []
        for column, output, silence in zip(self.columns, mechanism.outputs, mechanism.silences, strict=True):
            stated = f"{column} >= 0 AND {column} < {output if silence is None else silence}"
            within.append(f"coalesce({stated}, {silence is not None})")  # what null means here
        for part in mechanism.parts:
            if part.silent:
                shown = (f"CASE WHEN {self.columns[own]} IS NULL THEN 0 ELSE 1 END" for own in part.attributes)
                within.append(f"{' + '.join(shown)} = {part.shown}")
        return " AND ".join(within)

    def _codes(self) -> list[str]:
        codes = [f"CAST({column} AS BIGINT)" for column in self.columns]
        pairs = zip(codes, self.plan.mechanism.silences, strict=True)
        return [code if silence is None else f"coalesce({code}, {silence})" for code, silence in pairs]


def tally_table(plan: Plan, engine: Engine, *, trust_ids: bool = False, limit: int = SUB_REPORT_LIMIT) -> Counts:
    """The counts of an engine's reports; with `trust_ids` ids are not compared, and every report counts."""
    packing, total, repeated = Packing(plan), nothing(plan, limit), 0
    aside: dict[SetAside, int] = {}
    counted = _trusting if trust_ids else _once_each
    for piece in engine.pieces():
        for batch in engine.read(counted(packing, piece)):
            state, conflicts, ids, reports, *words = (database.numbers(column) for column in batch)
            sound = (state == SOUND) & (conflicts == 0)
            codes = packing.unpacked([word[sound] for word in words])
            total += count_times(plan, codes, ids[sound], limit)
            repeated += int((reports - ids)[sound].sum())
            for reason, own in _reasons(state, conflicts):
                if own.any():
                    aside[reason] = aside.get(reason, 0) + int(reports[own].sum())
    return total.leaving_out(repeated, aside)


def set_aside(plan: Plan, engine: Engine, *, trust_ids: bool = False) -> Iterator[tuple[bytes | None, SetAside]]:
    """The id of every report that is not sound, and unless ids are trusted every id with several reports."""
    packing = Packing(plan)
    for piece in engine.pieces():
        rows = _judged(packing, piece, "id")
        for batch in engine.read(f"SELECT id, state FROM ({rows}) WHERE state <> {SOUND}"):
            for name, state in zip(batch[0].to_pylist(), database.numbers(batch[1]).tolist(), strict=True):
                yield name, "wrong_plan" if state == WRONG_PLAN else "invalid_report"
        if trust_ids:
            continue
        for batch in engine.read(f"SELECT id FROM ({_by_id(packing, rows)}) WHERE conflict = 1"):
            for name in batch[0].to_pylist():
                yield name, "id_conflict"


def _reasons(state: Integers, conflicts: Integers) -> list[tuple[SetAside, NDArray[np.bool_]]]:
    """Why each group is set aside."""
    return [
        ("wrong_plan", state == WRONG_PLAN),
        ("invalid_report", state == INVALID),
        ("id_conflict", conflicts == 1),
    ]


def _judged(packing: Packing, rows: str, other: str) -> str:
    """Reports with their state and packed codes, and another column; what is not sound has -1 for codes."""
    sound = f"state = {SOUND} AND {packing.possible()}"
    pairs = zip(packing.packed(), packing.names, strict=True)
    words = ", ".join(f"CASE WHEN {sound} THEN {word} ELSE -1 END AS {name}" for word, name in pairs)
    unsound = f"WHEN state = {WRONG_PLAN} THEN {WRONG_PLAN} ELSE {INVALID}"
    return f"SELECT {other}, CASE WHEN {sound} THEN {SOUND} {unsound} END AS state, {words} FROM ({rows})"


def _trusting(packing: Packing, rows: str) -> str:
    """How often each report was seen; equal ones are put together first, then looked at."""
    columns = ", ".join(["state", *packing.columns])
    seen = f"SELECT {columns}, count(*) AS reports FROM ({rows}) GROUP BY {columns}"
    each = f"state, 0 AS conflict, reports AS ids, reports, {', '.join(packing.names)}"
    return f"SELECT {each} FROM ({_judged(packing, seen, 'reports')})"


def _once_each(packing: Packing, rows: str) -> str:
    """How often each report was seen, and under how many ids; ids that have several reports are told apart."""
    words = ", ".join(packing.names)
    many = "count(*) AS ids, CAST(sum(reports) AS BIGINT) AS reports"
    each = _by_id(packing, _judged(packing, rows, "id"))
    return f"SELECT state, conflict, {many}, {words} FROM ({each}) GROUP BY state, conflict, {words}"


def _by_id(packing: Packing, rows: str) -> str:
    """Each id with its packed codes, how many reports have it, and whether they differ; one row for the unsound."""
    least = ", ".join(f"min({word}) AS {word}" for word in packing.names)
    differ = " OR ".join(f"min({word}) <> max({word})" for word in packing.names)
    named = f"SELECT CASE WHEN state = {SOUND} THEN id END AS id, state, {', '.join(packing.names)} FROM ({rows})"
    conflict = f"CASE WHEN {differ} THEN 1 ELSE 0 END AS conflict"
    return f"SELECT id, state, {least}, count(*) AS reports, {conflict} FROM ({named}) GROUP BY id, state"
