"""Reports in a table of any engine become counts: one expression, whatever computes it.

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
from operator import and_, or_
from typing import Any, Protocol

import nanoarrow as na
import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from privtally.collector.tally import Tallied, count_times, nothing
from privtally.documents.plan import Plan
from privtally.documents.sub_reports import SUB_REPORT_LIMIT
from privtally.exact.arrays import Integers
from privtally.names import SetAside
from privtally.tables import arrow
from privtally.tables.report_output import code_columns

SOUND, WRONG_PLAN, INVALID = range(3)
"""What is known of a row: a report of the plan's form, a report to another plan, or none."""

_WORD = 1 << 62


class Engine(Protocol):
    """What computes over tables."""

    def pieces(self) -> Iterator[Any]:
        """The reports as tables of the engine's own kind, no two of which share an id."""

    def read(self, table: Any) -> Iterator[list[na.Array]]:
        """The columns of a table that was computed, batch by batch."""


@dataclass(frozen=True)
class Packing:
    """Codes of reports to a plan, packed into integers: attributes in turn, as many in each as it holds."""

    plan: Plan

    @cached_property
    def words(self) -> list[range]:
        """The attributes of each integer."""
        sizes, words, start = self.plan.sampler.outputs, [], 0
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

    def packed(self) -> list[nw.Expr]:
        """The integers of a row."""
        sizes, codes = self.plan.sampler.outputs, self._codes()
        return [
            reduce(lambda total, own: total * sizes[own] + codes[own], word[1:], codes[word[0]]).alias(name)
            for name, word in zip(self.names, self.words, strict=True)
        ]

    def unpacked(self, words: Sequence[Integers]) -> Integers:
        """The codes (report, attribute) of packed reports."""
        codes = np.empty((len(words[0]), self.plan.sampler.width), dtype=np.int64)
        for word, own in zip(words, self.words, strict=True):
            rest = word
            for attribute in reversed(own):
                rest, codes[:, attribute] = np.divmod(rest, self.plan.sampler.outputs[attribute])
        return codes

    def possible(self) -> nw.Expr:
        """Whether the plan can give a row's codes."""
        mechanism = self.plan.sampler
        within = []
        for column, output, silence in zip(self.columns, mechanism.outputs, mechanism.silences, strict=True):
            code = nw.col(column)
            stated = (code >= 0) & (code < (output if silence is None else silence))
            within.append(stated.fill_null(silence is not None))  # what null means here
        for part in mechanism.parts:
            if part.silent:
                shown = [(~nw.col(self.columns[own]).is_null()).cast(nw.Int64) for own in part.attributes]
                within.append(sum(shown[1:], start=shown[0]) == part.shown)
        return reduce(and_, within)

    def _codes(self) -> list[nw.Expr]:
        codes = [nw.col(column).cast(nw.Int64) for column in self.columns]
        pairs = zip(codes, self.plan.sampler.silences, strict=True)
        return [code if silence is None else code.fill_null(silence) for code, silence in pairs]


def tally_table(plan: Plan, engine: Engine, *, trust_ids: bool = False, limit: int = SUB_REPORT_LIMIT) -> Tallied:
    """The counts of an engine's reports; with `trust_ids` ids are not compared, and every report counts."""
    packing, total, repeated = Packing(plan), nothing(plan, limit), 0
    aside: dict[SetAside, int] = {}
    counted = _trusting if trust_ids else _once_each
    for piece in engine.pieces():
        for batch in engine.read(nw.to_native(counted(packing, nw.from_native(piece)))):
            state, conflicts, ids, reports, *words = (arrow.numbers(column) for column in batch)
            sound = (state == SOUND) & (conflicts == 0)
            codes = packing.unpacked([word[sound] for word in words])
            total += count_times(plan, codes, ids[sound], limit)
            repeated += int((reports - ids)[sound].sum())
            for reason, own in _reasons(state, conflicts):
                if own.any():
                    aside[reason] = aside.get(reason, 0) + int(reports[own].sum())
    return Tallied(total, repeated, aside)


def set_aside(plan: Plan, engine: Engine, *, trust_ids: bool = False) -> Iterator[tuple[bytes | None, SetAside]]:
    """The id of every report that is not sound, and unless ids are trusted every id with several reports."""
    packing = Packing(plan)
    for piece in engine.pieces():
        rows = judged(packing, nw.from_native(piece), "id")
        for batch in engine.read(nw.to_native(rows.filter(nw.col("state") != SOUND).select("id", "state"))):
            for name, state in zip(batch[0].to_pylist(), arrow.numbers(batch[1]).tolist(), strict=True):
                yield name, "wrong_plan" if state == WRONG_PLAN else "invalid_report"
        if trust_ids:
            continue
        conflicting = by_id(packing, rows).filter(nw.col("conflict") == 1).select("id")
        for batch in engine.read(nw.to_native(conflicting)):
            for name in batch[0].to_pylist():
                yield name, "id_conflict"


def _reasons(state: Integers, conflicts: Integers) -> list[tuple[SetAside, NDArray[np.bool_]]]:
    """Why each group is set aside."""
    return [
        ("wrong_plan", state == WRONG_PLAN),
        ("invalid_report", state == INVALID),
        ("id_conflict", conflicts == 1),
    ]


def judged(packing: Packing, rows: Any, *others: str) -> Any:
    """Reports with their state and packed codes, and other columns; what is not sound has -1 for codes."""
    sound = (nw.col("state") == SOUND) & packing.possible()
    pairs = zip(packing.packed(), packing.names, strict=True)
    words = [nw.when(sound).then(word).otherwise(nw.lit(-1)).alias(name) for word, name in pairs]
    unsound = nw.when(nw.col("state") == WRONG_PLAN).then(nw.lit(WRONG_PLAN)).otherwise(nw.lit(INVALID))
    state = nw.when(sound).then(nw.lit(SOUND)).otherwise(unsound).cast(nw.Int64).alias("state")
    return rows.select(*others, state, *words)


def _trusting(packing: Packing, rows: Any) -> Any:
    """How often each report was seen; equal ones are put together first, then looked at."""
    seen = rows.group_by("state", *packing.columns).agg(nw.len().cast(nw.Int64).alias("reports"))
    one_each = nw.col("reports").alias("ids")
    no_conflict = nw.lit(0).cast(nw.Int64).alias("conflict")
    return judged(packing, seen, "reports").select("state", no_conflict, one_each, "reports", *packing.names)


def _once_each(packing: Packing, rows: Any) -> Any:
    """How often each report was seen, and under how many ids; ids that have several reports are told apart."""
    return (
        by_id(packing, judged(packing, rows, "id"))
        .group_by("state", "conflict", *packing.names)
        .agg(nw.len().cast(nw.Int64).alias("ids"), nw.col("reports").sum().cast(nw.Int64).alias("reports"))
        .select("state", "conflict", "ids", "reports", *packing.names)
    )


def by_id(packing: Packing, rows: Any) -> Any:
    """Each id with its packed codes, how many reports have it, and whether they differ; one row for the unsound."""
    named = nw.when(nw.col("state") == SOUND).then(nw.col("id")).otherwise(nw.lit(None)).alias("id")
    least = [nw.col(name).min().alias(name) for name in packing.names]
    most = [nw.col(name).max().alias(f"most {name}") for name in packing.names]
    many = nw.len().cast(nw.Int64).alias("reports")
    differ = reduce(or_, (nw.col(name) != nw.col(f"most {name}") for name in packing.names))
    conflict = nw.when(differ).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int64).alias("conflict")
    return rows.with_columns(named).group_by("id", "state").agg(*least, *most, many).with_columns(conflict)
