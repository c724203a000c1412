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

from privtally.collector.tally import count_times, nothing
from privtally.documents.counts import SUB_REPORT_LIMIT, Counts
from privtally.documents.plan import Plan
from privtally.errors import ReportError
from privtally.exact.types import Integers
from privtally.names import SetAside
from privtally.tables import database
from privtally.tables.database import quoted

SOUND, WRONG_PLAN, INVALID, CONFLICT = range(4)
"""What is known of a row: a report of the plan's form, to another plan, or none; an id with several reports."""

_REASONS: dict[int, SetAside] = {WRONG_PLAN: "wrong_plan", INVALID: "invalid_report", CONFLICT: "id_conflict"}

_WORD = 1 << 62


def code_columns(plan: Plan) -> list[str]:
    """The names of the columns of codes."""
    return [f"q{number}" for number in range(1, plan.mechanism.width + 1)]


def check_columns(where: object, plan: Plan, columns: Sequence[str], *, plan_known: bool) -> None:
    """Refuse a table that lacks a column of reports to a plan, or has another one."""
    codes = code_columns(plan)
    needed = [*([] if plan_known else ["plan"]), "id", *codes]
    span = ", ".join([*needed[: -len(codes)], " … ".join(dict.fromkeys((codes[0], codes[-1])))])
    if missing := [column for column in needed if column not in columns]:
        raise ReportError(f"{where} has no column {quoted(missing)}; reports to this plan have {span}")
    known = {"plan", *needed}
    if extra := [name for place, name in enumerate(columns) if name not in known or name in columns[:place]]:
        raise ReportError(f"{where} has a column {quoted(extra)} more than reports to this plan: {span}")


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
            reduce(lambda total, place: f"({total} * {sizes[place]} + {codes[place]})", word[1:], codes[word[0]])
            for word in self.words
        ]

    def unpacked(self, words: Sequence[Integers]) -> Integers:
        """The codes (report, attribute) of packed reports."""
        codes = np.empty((len(words[0]), self.plan.mechanism.width), dtype=np.int64)
        for rest, attributes in zip(words, self.words, strict=True):
            for attribute in reversed(attributes):
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
                shown = (f"CASE WHEN {self.columns[place]} IS NULL THEN 0 ELSE 1 END" for place in part.attributes)
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
            states, ids, reports, *words = (database.numbers(column) for column in batch)
            sound = states == SOUND
            codes = packing.unpacked([word[sound] for word in words])
            total += count_times(plan, codes, ids[sound], limit)
            repeated += int((reports - ids)[sound].sum())
            for state in np.unique(states[~sound]).tolist():
                reason = _REASONS[state]
                aside[reason] = aside.get(reason, 0) + int(reports[states == state].sum())
    return total.leaving_out(repeated, aside)


def set_aside(plan: Plan, engine: Engine, *, trust_ids: bool = False) -> Iterator[tuple[bytes | None, SetAside]]:
    """The id of every report that is not sound, and unless ids are trusted every id with several reports."""
    packing = Packing(plan)
    for piece in engine.pieces():
        rows = _judged(packing, piece, "id")
        listed = f"SELECT id, state FROM ({rows}) WHERE state <> {SOUND}"
        if not trust_ids:
            listed += f" UNION ALL SELECT id, state FROM ({_by_id(packing, rows)}) WHERE state = {CONFLICT}"
        for ids, states in engine.read(listed):
            yield from zip(ids.to_pylist(), map(_REASONS.__getitem__, database.numbers(states).tolist()), strict=True)


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
    counted = f"state, reports AS ids, reports, {', '.join(packing.names)}"
    return f"SELECT {counted} FROM ({_judged(packing, seen, 'reports')})"


def _once_each(packing: Packing, rows: str) -> str:
    """How often each report was seen, and under how many ids; ids that have several reports are told apart."""
    words = ", ".join(packing.names)
    counted = "count(*) AS ids, CAST(sum(reports) AS BIGINT) AS reports"
    by_id = _by_id(packing, _judged(packing, rows, "id"))
    return f"SELECT state, {counted}, {words} FROM ({by_id}) GROUP BY state, {words}"


def _by_id(packing: Packing, rows: str) -> str:
    """Each id with its state, its packed codes and how many reports have it; one row for all that are not sound."""
    least = ", ".join(f"min({word}) AS {word}" for word in packing.names)
    differ = " OR ".join(f"min({word}) <> max({word})" for word in packing.names)
    named = f"CASE WHEN state = {SOUND} THEN id END AS id, state AS form, {', '.join(packing.names)}"
    state = f"CASE WHEN {differ} THEN {CONFLICT} ELSE form END AS state"
    return f"SELECT id, {state}, {least}, count(*) AS reports FROM (SELECT {named} FROM ({rows})) GROUP BY id, form"
