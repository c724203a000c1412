"""Reports in files of every kind: what is written is read back, and every line is judged as one report is."""

import gzip
import json
import os
import random
import tracemalloc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privtally.collector.tally import count
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.documents.report import Report, Reports, check_report, load_report
from privtally.errors import DocumentError, PrivtallyError, ReportError
from privtally.names import SetAside
from privtally.schema import code_type
from privtally.tables import report_input
from privtally.tables.engines import list_set_aside, tally_files
from privtally.tables.report_input import text_lines
from privtally.tables.report_output import Gathered, write_reports
from tests.support import EXTENDED_PLANS, first_plan, plan_with

PLAN = first_plan((3, 2))
SILENT = first_plan((3, 2, 2), mechanism="smp")
OTHER = first_plan((3, 2), epsilon=2.0)
KINDS = ["ndjson", "ndjson.gz", "csv", "csv.gz", "parquet"]
SECRET = "zzz-secret"


def made_up(plan: Plan, people: int, seed: int = 0) -> Reports:
    """Reports that a plan can give, whatever their law."""
    random = np.random.default_rng(seed)
    mechanism = plan.mechanism
    codes = np.empty((people, mechanism.width), dtype=code_type(mechanism.outputs))
    for part in mechanism.parts:
        asked = np.argsort(random.random((people, len(part.attributes))), axis=1) < part.shown
        for place, own in enumerate(part.attributes):
            answers = mechanism.outputs[own] - part.silent
            drawn = random.integers(0, answers, people)
            codes[:, own] = np.where(asked[:, place], drawn, answers) if part.silent else drawn
    return Reports(plan, random.integers(0, 256, (people, 16), dtype=np.uint8), codes)


def write(path: Path, reports: Reports) -> Path:
    with Gathered(reports.plan) as gathered:
        gathered.add(reports)
        write_reports(path, reports.plan, gathered)
    return path


def line(plan: Plan, number: int, codes: Sequence[int | None]) -> str:
    return Report(plan.digest, number.to_bytes(16, "big").hex(), tuple(codes)).dump().decode()


def refusal(plan: Plan, *paths: Path) -> PrivtallyError:
    with pytest.raises(PrivtallyError) as fault:
        tally_files(plan, paths)
    assert SECRET not in str(fault.value)
    assert "\n" not in str(fault.value)
    return fault.value


def facts(result: Counts) -> tuple[Any, ...]:
    return result.body(), result.repeated, dict(result.set_aside)


@pytest.mark.parametrize("name", EXTENDED_PLANS)
def test_what_is_written_is_read_back(tmp_path: Path, name: str) -> None:
    plan = plan_with(*EXTENDED_PLANS[name])
    reports = made_up(plan, 200)
    expected = count(plan, reports.codes).body()
    for kind in ("ndjson", "csv", "parquet"):
        result = tally_files(plan, [write(tmp_path / f"r.{kind}", reports)])
        assert facts(result) == (expected, 0, {})


@pytest.mark.parametrize("plan", [PLAN, SILENT], ids=["all", "silent"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file(tmp_path: Path, kind: str, plan: Plan) -> None:
    reports = made_up(plan, 50)
    path = write(tmp_path / f"r.{kind}", reports)
    for trust_ids in (False, True):
        assert facts(tally_files(plan, [path], trust_ids=trust_ids)) == (count(plan, reports.codes).body(), 0, {})


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "ndjson"])
def test_a_pipe_can_be_counted(tmp_path: Path, kind: str) -> None:
    reports = made_up(SILENT, 50)
    content = write(tmp_path / f"there.{kind}", reports).read_bytes()
    pipe = tmp_path / f"pipe.{kind}"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(pipe.write_bytes, content)
        assert facts(tally_files(SILENT, [pipe])) == (count(SILENT, reports.codes).body(), 0, {})
        written.result()


def test_reports_of_all_kinds_together(tmp_path: Path) -> None:
    """Repeated ids and conflicts across files of different kinds, reports to other plans beside them."""
    reports = made_up(PLAN, 8 * len(KINDS) + 2)
    for number, kind in enumerate(KINDS):
        rows = slice(number * 8, number * 8 + 10)  # two reports stand in the next file too
        write(tmp_path / f"{number}.{kind}", Reports(PLAN, reports.ids[rows], reports.codes[rows]))
    assert facts(tally_files(PLAN, [tmp_path])) == (count(PLAN, reports.codes).body(), 2 * (len(KINDS) - 1), {})
    changed = reports.codes.copy()
    changed[:, 0] = (changed[:, 0] + 1) % 3
    write(tmp_path / "conflict.csv", Reports(PLAN, reports.ids[20:21], changed[20:21]))
    write(tmp_path / "other.parquet", made_up(OTHER, 5))
    write(tmp_path / "other.ndjson", made_up(OTHER, 4))
    write(tmp_path / "other.csv.gz", made_up(OTHER, 3))
    result = tally_files(PLAN, [tmp_path])
    kept = np.delete(reports.codes, 20, axis=0)
    assert result.body() == count(PLAN, kept).body()
    assert result.set_aside == {"wrong_plan": 12, "id_conflict": 2}
    listed = b"".join(list_set_aside(PLAN, [tmp_path])).decode().splitlines()
    assert listed[0] == "id,reason"
    assert f"{reports.ids[20].tobytes().hex()},id_conflict" in listed
    assert sum(row.endswith(",wrong_plan") for row in listed) == 12
    assert len(listed) == 14


def test_pieces_by_the_range_of_ids_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = made_up(SILENT, 500)
    twice = [write(tmp_path / "a.parquet", reports), write(tmp_path / "b.ndjson", reports)]
    (tmp_path / "c.ndjson").write_text("invalid\n")
    whole = facts(tally_files(SILENT, [*twice, tmp_path / "c.ndjson"]))
    assert whole[1:] == (500, {"invalid_report": 1})
    for rows in (1_000, 150):
        monkeypatch.setattr(report_input, "ROWS_AT_ONCE", rows)
        assert facts(tally_files(SILENT, [*twice, tmp_path / "c.ndjson"])) == whole


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("ndjson", "csv")])
def test_a_file_that_is_cut_short(tmp_path: Path, kind: str) -> None:
    good = write(tmp_path / "good.ndjson", made_up(PLAN, 10))
    path = write(tmp_path / f"cut.{kind}", made_up(PLAN, 2_000))
    whole = path.read_bytes()
    for kept in (len(whole) - 1, len(whole) // 2, 10, 0):
        path.write_bytes(whole[:kept])
        said = refusal(PLAN, good, path)
        assert "cut." in str(said)


def test_a_damaged_page_of_parquet_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "r.parquet", made_up(PLAN, 5_000))
    content = bytearray(path.read_bytes())
    content[4:40] = bytes(random.Random(3).randrange(256) for _ in range(36))
    path.write_bytes(content)
    assert "r.parquet" in str(refusal(PLAN, path))


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_not_there(tmp_path: Path, kind: str) -> None:
    assert isinstance(refusal(PLAN, tmp_path / f"none.{kind}"), DocumentError)


IDS = pa.array([bytes(16), bytes(15) + b"\1"], pa.binary())
COLUMNS: dict[str, Any] = {"id": IDS, "q1": pa.array([0, 1]), "q2": pa.array([1, 0]), "plan": [PLAN.digest] * 2}


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({"q2": None}, "q2"),
        ({"id": None}, "id"),
        ({"plan": None}, "plan"),
        ({SECRET[:3]: [1, 2]}, "more"),
        ({"id": ["00", "11"]}, "16 bytes"),
        ({"q1": ["0", "1"]}, "q1"),
        ({"q1": [0.0, 1.0]}, "q1"),
        ({"q1": [True, False]}, "q1"),
        ({"q1": pa.array([0, 1], pa.date32())}, "q1"),
        ({"q1": [[0], [1]]}, "q1"),
        ({"q1": [{"q1": 0}, {"q1": 1}]}, "q1"),
    ],
)
def test_columns_of_parquet_that_do_not_fit(tmp_path: Path, columns: dict[str, Any], word: str) -> None:
    chosen = {name: column for name, column in (COLUMNS | columns).items() if column is not None}
    pq.write_table(pa.table(chosen), tmp_path / "r.parquet")
    said = refusal(PLAN, tmp_path / "r.parquet")
    assert isinstance(said, ReportError)
    assert word in str(said)


@pytest.mark.parametrize(
    ("columns", "counted", "aside"),
    [
        ({}, 2, {}),
        ({"q1": pa.array([0, 3])}, 1, {"invalid_report": 1}),
        ({"q1": pa.array([0, -1])}, 1, {"invalid_report": 1}),
        ({"q1": pa.array([0, None])}, 1, {"invalid_report": 1}),
        ({"q1": pa.array([0, 2**64 - 1], pa.uint64())}, 1, {"invalid_report": 1}),
        ({"q1": pa.array([0, 2**63 - 1], pa.int64())}, 1, {"invalid_report": 1}),
        ({"id": pa.array([bytes(16), bytes(15)])}, 1, {"invalid_report": 1}),
        ({"id": pa.array([bytes(16), None])}, 1, {"invalid_report": 1}),
        ({"plan": [PLAN.digest, OTHER.digest]}, 1, {"wrong_plan": 1}),
        ({"plan": [PLAN.digest, None]}, 1, {"wrong_plan": 1}),
        ({"plan": [PLAN.digest.encode()] * 2}, 2, {}),
    ],
)
def test_rows_of_parquet(tmp_path: Path, columns: dict[str, Any], counted: int, aside: dict[SetAside, int]) -> None:
    pq.write_table(pa.table(COLUMNS | columns), tmp_path / "r.parquet")
    result = tally_files(PLAN, [tmp_path / "r.parquet"])
    assert (result.reports, result.set_aside) == (counted, aside)


@pytest.mark.parametrize("trust_ids", [False, True])
@pytest.mark.parametrize(
    ("kind", "nullable", "last", "counted"),
    [
        (pa.binary(16), False, bytes(15) + b"\1", 2),
        (pa.binary(16), True, bytes(15) + b"\1", 2),
        (pa.binary(16), True, None, 1),
        (pa.binary(), False, bytes(15), 1),
        (pa.binary(15), False, bytes(15), 0),
    ],
)
def test_ids_of_files_that_state_their_plan(
    tmp_path: Path, kind: pa.DataType, nullable: bool, last: bytes | None, counted: int, trust_ids: bool
) -> None:
    fields = [pa.field("id", kind, nullable=nullable), pa.field("q1", pa.uint8()), pa.field("q2", pa.uint8())]
    first = bytes(kind.byte_width if kind != pa.binary() else 16)
    table = pa.table([pa.array([first, last], kind), [0, 1], [1, 0]], schema=pa.schema(fields, {"plan": PLAN.digest}))
    pq.write_table(table, tmp_path / "r.parquet")
    ours = write(tmp_path / "ours.parquet", made_up(PLAN, 10))
    result = tally_files(PLAN, [tmp_path / "r.parquet", ours], trust_ids=trust_ids)
    aside = {"invalid_report": 2 - counted} if counted < 2 else {}
    assert (result.reports, result.set_aside) == (10 + counted, aside)


@pytest.mark.parametrize("code", ["3", "-1", "x", "01", "1.0", "99999999999999999999", ""])
def test_cells_of_csv_that_are_no_code(tmp_path: Path, code: str) -> None:
    rows = f"plan,id,q1,q2\n{PLAN.digest},{'0' * 32},1,1\n{PLAN.digest},{'1' * 32},{code},1\n"
    (tmp_path / "r.csv").write_text(rows)
    result = tally_files(PLAN, [tmp_path / "r.csv"])
    assert (result.reports, result.set_aside) == (1, {"invalid_report": 1})


@pytest.mark.parametrize(
    "header", ["plan,id,q1", "plan,id,q1,q2,q3", "plan,id,q1,q2,q2", "Plan,id,q1,q2", f"{SECRET},id,q1,q2"]
)
def test_headers_of_csv_that_do_not_fit(tmp_path: Path, header: str) -> None:
    (tmp_path / "r.csv").write_text(f"{header}\n" + ",".join("0" * len(header.split(","))) + "\n")
    with pytest.raises(ReportError):
        tally_files(PLAN, [tmp_path / "r.csv"])


def test_columns_of_csv_may_stand_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(f"q2,id,q1,plan\r\n1,{'0' * 32},2,{PLAN.digest}\r\n", newline="")
    assert [table.tolist() for table in tally_files(PLAN, [tmp_path / "r.csv"]).attributes] == [
        [0, 0, 1],
        [0, 1],
    ]


ID = "0123456789abcdef" * 2


@st.composite
def unusual_lines(draw: st.DrawFn, plan: Plan = SILENT) -> str:
    """Lines that nearly are reports."""
    code = st.sampled_from(["null", "0", "1", "2", "3", "-1", "-0", "01", "1.0", "1e0", "true", '"1"', "9" * 20])
    codes = draw(st.lists(code, min_size=2, max_size=4)) if draw(st.booleans()) else ["null", "1", "null"]
    fields = [
        '"format":"privtally.report/1"',
        f'"plan":"{draw(st.sampled_from([plan.digest, plan.digest, OTHER.digest, plan.digest.upper(), "x"]))}"',
        f'"id":"{draw(st.sampled_from([ID, ID, ID.upper(), ID[1:], "g" * 32]))}"',
        f'"codes":[{draw(st.sampled_from([",", ",", ", "])).join(codes)}]',
    ]
    match draw(st.integers(0, 5)):
        case 0:
            fields = draw(st.permutations(fields))
        case 1:
            fields.append(draw(st.sampled_from([*fields, '"more":1', '"codes":[]'])))
        case 2:
            del fields[draw(st.integers(0, 3))]
    space = draw(st.sampled_from(["", "", " ", "\t"]))
    end = draw(st.sampled_from(["", "", "", " ", "\r", "x", "}", ",", "\x01", "\0", "\u00e9"]))
    return draw(st.sampled_from(["", "", " ", "\ufeff", "["])) + "{" + ("," + space).join(fields) + "}" + end


def judged(plan: Plan, lines: Sequence[str]) -> dict[str, int]:
    """What one report after the other is judged to be."""
    verdicts: dict[str, int] = {}
    for line in lines:
        if not line.strip():
            continue
        try:
            report = load_report(line.encode())
        except ReportError:
            verdict = "invalid_report"
        else:
            try:
                check_report(plan, report)
                verdict = "counted"
            except ReportError:
                verdict = "wrong_plan" if report.plan != plan.digest else "invalid_report"
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
    return verdicts


@given(
    st.lists(st.one_of(unusual_lines(), st.sampled_from(["", " ", "{}", "null"])), max_size=5),
    st.sampled_from(KINDS[:2]),
)
def test_lines_are_judged_as_reports_are(tmp_path_factory: pytest.TempPathFactory, lines: list[str], kind: str) -> None:
    sound = line(SILENT, 1, [0, None, None])
    path = tmp_path_factory.getbasetemp() / f"lines.{'ndjson.gz' if kind == 'ndjson.gz' else 'ndjson'}"
    content = "".join(own + "\n" for own in [sound, *lines]).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    result = tally_files(SILENT, [path], trust_ids=True)
    expected = judged(SILENT, [sound, *lines])
    assert result.reports == expected.pop("counted")
    assert result.set_aside == expected


def test_unusual_lines_in_several_files_lose_nothing(tmp_path: Path) -> None:
    for number in range(3):
        spaced = [json.dumps(json.loads(line(PLAN, 10 * number + own, [own % 3, 1]))) for own in range(4)]
        (tmp_path / f"{number}.ndjson").write_text("\n".join(spaced))
    assert tally_files(PLAN, [tmp_path]).reports == 12


def test_a_file_compressed_by_zstd_is_refused_with_what_to_do(tmp_path: Path) -> None:
    packed = pa.compress(line(PLAN, 1, [2, 1]).encode() + b"\n", codec="zstd", asbytes=True)
    for name in ("r.ndjson.zst", "r.zst", "r"):
        path = tmp_path / name
        path.write_bytes(packed)
        assert "zstd -d" in str(refusal(PLAN, path))
        if name != "r":  # a directory's files are known by their names
            write(tmp_path / "r.parquet", made_up(PLAN, 3))
            assert "zstd -d" in str(refusal(PLAN, tmp_path))


@pytest.mark.parametrize("kind", ["ndjson", "csv"])
def test_a_file_without_reports_is_refused(tmp_path: Path, kind: str) -> None:
    (tmp_path / f"r.{kind}").write_text("\n" if kind == "ndjson" else "")
    assert "no reports in it" in str(refusal(PLAN, tmp_path / f"r.{kind}"))


def test_no_report_to_count_is_refused(tmp_path: Path) -> None:
    assert "another plan" in str(refusal(PLAN, write(tmp_path / "o.parquet", made_up(OTHER, 5))))
    (tmp_path / "x.ndjson").write_text(SECRET + "\n")
    refusal(PLAN, tmp_path / "x.ndjson")


def test_progress_hears_of_every_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_input, "ROWS_AT_ONCE", 40)
    heard: list[int] = []
    tally_files(PLAN, [write(tmp_path / "r.parquet", made_up(PLAN, 100))], advance=heard.append)
    assert heard == [33, 66, 100]


@pytest.mark.parametrize("kind", KINDS[:-1])
@pytest.mark.parametrize("letter", ["x", " "])
def test_a_line_that_is_too_long_is_set_aside_and_the_others_count(tmp_path: Path, kind: str, letter: str) -> None:
    plain = write(tmp_path / f"plain.{kind.split('.')[0]}", made_up(PLAN, 100))
    lines = plain.read_text().splitlines()
    long = lines[50] + letter * (17 << 20) + ("" if letter == " " else lines[51])
    packing = "gzip" if kind.endswith(".gz") else None
    with pa.output_stream(str(tmp_path / f"long.{kind}"), compression=packing) as file:
        file.write("\n".join([*lines[:50], long, *lines[51:]]).encode())
    tallied = tally_files(PLAN, [tmp_path / f"long.{kind}"])
    assert tallied.reports == 99
    assert tallied.set_aside == {"invalid_report": 1}


def test_a_long_line_takes_no_memory(tmp_path: Path) -> None:
    path, most = tmp_path / "long", 1 << 16
    path.write_bytes(b"one\n")
    os.truncate(path, 1 << 26)
    with path.open("ab") as file:
        file.write(b"\n" + b"x" * (most - 1) + b"\ntwo")
    tracemalloc.start()
    assert [line and len(line) for line in text_lines(path, "none", most)] == [4, None, most, 3]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * most
