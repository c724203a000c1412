"""A Parquet file of reports, made by NumPy: random ids stand in it as they are, and codes in a few bits each.

The engine's own writer looks for repeated ids and copies every id several times: that took half of the time from
answers to reports. The format is that of https://parquet.apache.org/docs/file-format:

    PAR1, row groups, the footer that describes them, the footer's length, PAR1

A row group has a chunk for each column. Ids are plain. Codes are places in a dictionary of all codes, in as few bits as
these need, or plain integers where the dictionary would be long. Where an attribute may be left out, one bit a report
says whether it has a code.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privtally.documents.report import ID_BYTES, Reports
from privtally.exact.arrays import Codes
from privtally.schema import code_type
from privtally.tables.thrift import NO, Value, binary, byte, int32, int64, listed, struct, text, unsigned
from privtally.version import __version__

_MAGIC = b"PAR1"
_INTEGER, _BYTES = 1, 7
"""Types: integers of 4 bytes, and a fixed number of bytes."""
_UNSIGNED = {1: 11, 2: 12, 4: 13}
"""What says that the integers are unsigned, by their bytes."""
_LONGEST = 1 << 16
"""The longest dictionary: its places have two bytes at most."""
_REQUIRED, _OPTIONAL = 0, 1
_PLAIN, _RUNS, _PLACES = 0, 3, 8
"""Encodings: values as they are, runs of small numbers, and places in a dictionary."""
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2


class CodeColumn(NamedTuple):
    """A column of codes 0 … size − 1; `silence` stands for null where there is one."""

    name: str
    size: int
    silence: int | None


class _Chunk(NamedTuple):
    """One column of a row group: its dictionary, its other pages, and what is known of its values."""

    dictionary: bytes
    pages: bytes
    encodings: tuple[int, ...]
    statistics: Mapping[int, Value]


def write_parquet(
    file: IO[bytes], columns: Sequence[CodeColumn], metadata: Mapping[str, str], batches: Iterable[Reports]
) -> None:
    """Write reports from front to back, each batch as a row group."""
    file.write(_MAGIC)
    place, rows, groups = len(_MAGIC), 0, []
    for batch in batches:
        described = []
        chunks = [_ids(batch.ids), *map(_codes, columns, batch.codes.T)]
        for name, kind, chunk in zip(_names(columns), _kinds(columns), chunks, strict=True):
            described.append(_described(name, kind, chunk, len(batch), place))
            place += file.write(chunk.dictionary) + file.write(chunk.pages)
        size = sum(len(chunk.dictionary) + len(chunk.pages) for chunk in chunks)
        groups.append(struct({1: listed(described), 2: int64(size), 3: int64(len(batch))}))
        rows += len(batch)
    by_type = struct({1: struct({})})
    _, footer = struct(
        {
            1: int32(2),
            2: _schema(columns),
            3: int64(rows),
            4: listed(groups),
            5: listed([struct({1: text(key), 2: text(value)}) for key, value in metadata.items()]),
            6: text(f"privtally version {__version__} (build {__version__})"),
            7: listed([by_type for _ in _names(columns)]),  # the order that least and largest values are of
        }
    )
    file.write(footer + len(footer).to_bytes(4, "little") + _MAGIC)


def _names(columns: Sequence[CodeColumn]) -> list[str]:
    return ["id", *(column.name for column in columns)]


def _kinds(columns: Sequence[CodeColumn]) -> list[int]:
    return [_BYTES, *(_INTEGER for _ in columns)]


def _schema(columns: Sequence[CodeColumn]) -> Value:
    """The table, then its columns."""
    table = struct({4: text("reports"), 5: int32(1 + len(columns))})
    ids = struct({1: int32(_BYTES), 2: int32(ID_BYTES), 3: int32(_REQUIRED), 4: text("id")})
    codes = []
    for column in columns:
        width = code_type((column.size,)).itemsize
        repeated = _REQUIRED if column.silence is None else _OPTIONAL
        integer = struct({10: struct({1: byte(8 * width), 2: NO})})
        facts = {1: int32(_INTEGER), 3: int32(repeated), 4: text(column.name), 6: int32(_UNSIGNED[width]), 10: integer}
        codes.append(struct(facts))
    return listed([table, ids, *codes])


def _described(name: str, kind: int, chunk: _Chunk, rows: int, place: int) -> Value:
    """What the footer says of a chunk at a place of the file."""
    size = len(chunk.dictionary) + len(chunk.pages)
    facts = {
        1: int32(kind),
        2: listed([int32(encoding) for encoding in chunk.encodings]),
        3: listed([text(name)]),
        4: int32(0),  # not compressed
        5: int64(rows),
        6: int64(size),
        7: int64(size),
        9: int64(place + len(chunk.dictionary)),
    }
    if chunk.dictionary:
        facts[11] = int64(place)
    return struct({2: int64(0), 3: struct({**facts, 12: struct(chunk.statistics)})})


def _ids(ids: NDArray[np.uint8]) -> _Chunk:
    first = np.ascontiguousarray(ids).view(">u8")[:, 0].astype(np.uint64)
    least, most = (ids[first == extreme] for extreme in (first.min(), first.max()))
    known = _statistics(0, min(map(bytes, least)), max(map(bytes, most)))
    return _Chunk(b"", _data_page(len(ids), _PLAIN, ids.tobytes()), (_PLAIN,), known)


def _codes(column: CodeColumn, codes: Codes) -> _Chunk:
    levels, rows = b"", len(codes)
    if column.silence is not None:
        stated = codes != column.silence
        bits = _packed(stated, 1)
        levels, codes = len(bits).to_bytes(4, "little") + bits, codes[stated]
    known: Mapping[int, Value] = {3: int64(rows)}
    if len(codes):
        least, most = (int(code).to_bytes(4, "little") for code in (codes.min(), codes.max()))
        known = _statistics(rows - len(codes), least, most)
    if 2 * column.size > rows or column.size > _LONGEST:
        plain = codes.astype("<i4").tobytes()
        return _Chunk(b"", _data_page(rows, _PLAIN, levels, plain), (_PLAIN, _RUNS), known)
    bits_each = (column.size - 1).bit_length()
    width = bits_each if bits_each <= 8 else 16
    page = _data_page(rows, _PLACES, levels, bytes([width]), _packed(codes, width))
    return _Chunk(_dictionary_page(column.size), page, (_PLAIN, _RUNS, _PLACES), known)


def _statistics(nulls: int, least: bytes, most: bytes) -> Mapping[int, Value]:
    return {3: int64(nulls), 5: binary(most), 6: binary(least)}


def _packed(values: NDArray[np.unsignedinteger | np.bool_], width: int) -> bytes:
    """One run of numbers, filled up to a multiple of eight, in at most 8 bits each or in 16, the lowest bit first."""
    groups = -(-len(values) // 8)
    numbers = np.zeros(8 * groups, dtype="<u2" if width == 16 else np.uint8)
    numbers[: len(values)] = values
    if width < 8:
        for bits in (8, 16, 32):  # neighbours of so many bits, of which `used` count, move together
            used, pairs = width * bits // 8, numbers.view(f"<u{bits // 4}")
            numbers = pairs & ((1 << used) - 1) | pairs >> bits << used
        numbers = numbers.view(np.uint8).reshape(groups, 8)[:, :width]
    return unsigned(groups << 1 | 1) + numbers.tobytes()


def _dictionary_page(size: int) -> bytes:
    """All codes of a column."""
    codes = np.arange(size, dtype="<i4").tobytes()
    return _page_header(_DICTIONARY_PAGE, len(codes), {7: struct({1: int32(size), 2: int32(_PLAIN)})}) + codes


def _data_page(rows: int, encoding: int, *content: bytes) -> bytes:
    about = struct({1: int32(rows), 2: int32(encoding), 3: int32(_RUNS), 4: int32(_RUNS)})
    return b"".join([_page_header(_DATA_PAGE, sum(map(len, content)), {5: about}), *content])


def _page_header(kind: int, size: int, about: Mapping[int, Value]) -> bytes:
    _, header = struct({1: int32(kind), 2: int32(size), 3: int32(size), **about})
    return header
