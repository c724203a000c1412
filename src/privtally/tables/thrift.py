"""Values in Thrift's compact protocol, in which a Parquet file describes its pages and itself."""

from collections.abc import Mapping, Sequence

Value = tuple[int, bytes]
"""The number of a type in the protocol, and the bytes of a value."""

_BYTE, _INT32, _INT64, _BINARY, _LIST, _STRUCT = 3, 5, 6, 8, 9, 12
_SHORT = 15
"""Shorter lists have their length in the same byte as their type."""


def unsigned(value: int) -> bytes:
    """An integer in groups of seven bits, the lowest first."""
    groups = bytearray()
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


NO: Value = 2, b""
"""False, as the value of a field."""


def byte(value: int) -> Value:
    """A small integer that is not negative; the ones below are neither."""
    return _BYTE, value.to_bytes(1)


def int32(value: int) -> Value:
    """An integer that the format has 32 bits for."""
    return _INT32, unsigned(value << 1)


def int64(value: int) -> Value:
    """An integer that the format has 64 bits for."""
    return _INT64, unsigned(value << 1)


def binary(value: bytes) -> Value:
    """Bytes."""
    return _BINARY, unsigned(len(value)) + value


def text(value: str) -> Value:
    """A text in UTF-8."""
    return binary(value.encode())


def listed(values: Sequence[Value]) -> Value:
    """A list of values of one type; an empty one has any type."""
    kind = values[0][0] if values else _STRUCT
    many = len(values)
    head = bytes([many << 4 | kind]) if many < _SHORT else bytes([_SHORT << 4 | kind]) + unsigned(many)
    return _LIST, head + b"".join(content for _, content in values)


def struct(fields: Mapping[int, Value]) -> Value:
    """Values by the numbers of their fields, which ascend by less than 16."""
    content, last = bytearray(), 0
    for number, (kind, own) in fields.items():
        content.append(number - last << 4 | kind)
        content += own
        last = number
    return _STRUCT, bytes(content) + b"\0"
