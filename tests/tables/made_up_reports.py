"""Tables of reports as no honest collection has them, in files of every kind; and their tally in a few lines."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
from hypothesis import strategies as st

from privtally.collector.tally import tally
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.documents.report import ID_BYTES, Report, check_report
from privtally.errors import ReportError
from tests.support import first_plan

PLANS = (first_plan((2, 3)), first_plan((3, 2, 4), mechanism="smp"))
FOREIGN = "f" * 64


class Row(NamedTuple):
    plan: str | None
    id: bytes | None
    codes: tuple[int | None, ...]


class Table(NamedTuple):
    plan: Plan
    rows: list[list[Row]]
    """Those of a file each, by `KINDS`."""


KINDS = ("metadata", "unsigned", "column", "foreign", "ndjson", "csv")


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Few ids, so that they repeat; few codes, so that some reports are equal; and some of everything that is wrong."""
    plan = draw(st.sampled_from(PLANS))
    ids = st.sampled_from([bytes([first]) * ID_BYTES for first in (0, 1, 127, 128, 255)])
    bad_ids = st.sampled_from([None, b"", b"\x01" * 15, b"\xff" * 17])
    sizes = plan.schema.sizes
    honest = [st.one_of(*([st.none()] * plan.mechanism.parts[0].silent), st.integers(0, size - 1)) for size in sizes]
    wrong = [st.sampled_from([None, 0, size, 255]) for size in sizes]
    huge = [st.sampled_from([None, 0, 2**62, 2**64 - 1]) for _ in sizes]
    negative = [st.sampled_from([None, 0, -1, -(2**63), 2**63 - 1]) for _ in sizes]

    def some(plans: st.SearchStrategy[str | None], ids: st.SearchStrategy[bytes | None], *codes: object) -> list[Row]:
        any_codes = st.one_of(*(st.tuples(*each) for each in codes))  # type: ignore[misc]  # tuples of any width
        return draw(st.lists(st.builds(Row, plans, ids, any_codes), max_size=20))

    own, any_plan, any_id = st.just(plan.digest), st.sampled_from([plan.digest, FOREIGN]), st.one_of(ids, bad_ids)
    rows = [
        some(own, any_id, honest, honest, negative),
        some(own, any_id, honest, honest, huge),
        some(st.one_of(any_plan, st.none()), any_id, honest, wrong),
        some(st.just(FOREIGN), ids, honest),
        some(any_plan, ids, honest, honest, wrong),
        some(any_plan, ids, honest, wrong),
    ]
    return Table(plan, rows)


def write(table: Table, directory: Path) -> list[Path]:
    """The table's files; an empty one of text is left out, since that is refused."""
    files = []
    for kind, rows in zip(KINDS, table.rows, strict=True):
        path = directory / f"{kind} [1].{kind if kind in ('ndjson', 'csv') else 'parquet'}"
        if kind == "ndjson":
            path.write_text("".join(_line(row) for row in rows))
        elif kind == "csv":
            path.write_text(f"plan,id,{','.join(_columns(table.plan))}\n" + "".join(map(_cells, rows)))
        else:
            _write_parquet(path, table.plan, kind, rows)
        if rows or path.suffix == ".parquet":
            files.append(path)
    return files


def reference(table: Table) -> Counts:
    """What every engine must give."""
    good: list[Report] = []
    aside = {"wrong_plan": 0, "invalid_report": 0}
    for row in (row for rows in table.rows for row in rows):
        if row.plan != table.plan.digest:
            aside["wrong_plan"] += 1
        elif (report := _sound(table.plan, row)) is None:
            aside["invalid_report"] += 1
        else:
            good.append(report)
    counted = tally(table.plan, good)
    found = {reason: many for reason, many in aside.items() if many}
    return counted.leaving_out(counted.repeated, {**found, **counted.set_aside})  # type: ignore[dict-item]  # reasons are texts here


def _sound(plan: Plan, row: Row) -> Report | None:
    try:
        report = Report(plan.digest, (row.id or b"").hex(), row.codes)
        check_report(plan, report)
    except ReportError:
        return None
    return report


def _columns(plan: Plan) -> list[str]:
    return [f"q{number}" for number in range(1, len(plan.schema.sizes) + 1)]


def _line(row: Row) -> str:
    content = {"format": "privtally.report/1", "plan": row.plan, "id": (row.id or b"").hex(), "codes": row.codes}
    return json.dumps(content, separators=(",", ":")) + "\n"


def _cells(row: Row) -> str:
    return (
        ",".join([str(row.plan), (row.id or b"").hex(), *("" if code is None else str(code) for code in row.codes)])
        + "\n"
    )


def _write_parquet(path: Path, plan: Plan, kind: str, rows: Sequence[Row]) -> None:
    integer = {"unsigned": "UBIGINT", "column": "USMALLINT"}.get(kind, "BIGINT")
    codes = [f"{column} {integer}" for column in _columns(plan)]
    stated = {"metadata": plan.digest, "unsigned": plan.digest, "foreign": FOREIGN}.get(kind)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(f"CREATE TABLE made (id BLOB, plan VARCHAR, {', '.join(codes)})")
        values = ", ".join(f"(?, ?{', ?' * len(codes)})" for _ in rows)
        if rows:
            content = [value for row in rows for value in (row.id, row.plan, *row.codes)]
            connection.execute(f"INSERT INTO made VALUES {values}", content)
        what = "*" if stated is None else "* EXCLUDE plan"
        facts = "" if stated is None else f", KV_METADATA {{plan: '{stated}'}}"
        connection.execute(f"COPY (SELECT {what} FROM made) TO '{path}' (FORMAT parquet{facts})")
