"""JSON in and out: strict when read, canonical when hashed.

The canonical form is RFC 8785 (JSON Canonicalization Scheme), so that a client in any language computes the same
digest: keys sorted, no white space, numbers as ECMAScript prints them.
"""

import hashlib
import json
import math
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from privtally.errors import PrivtallyError

T = TypeVar("T")


class _Nothing(msgspec.Struct, tag_field="format", tag="nothing"):
    """No document. msgspec insists on the field that names a document's format only where it has a choice."""


@cache
def _decoder(kind: Any) -> Any:
    return msgspec.json.Decoder(kind | _Nothing, strict=True)


def decode(data: bytes | str, kind: type[T], error: type[PrivtallyError], what: str) -> T:
    """Read one strict JSON document of the given struct; any fault becomes `error` with the place it is in."""
    return _refusing(lambda: _decoder(cast(Any, kind)).decode(data), kind, error, what)


def convert(value: Any, kind: type[T], error: type[PrivtallyError], what: str) -> T:
    """The same from a value that was read already."""
    return _refusing(lambda: msgspec.convert(value, kind | _Nothing, strict=True), kind, error, what)


def decode_object(data: bytes | str, error: type[PrivtallyError], what: str) -> dict[str, Any]:
    """Read one JSON object of any form."""
    return _refusing(lambda: msgspec.json.decode(data, type=dict[str, Any]), dict, error, what)


def _refusing(read: Callable[[], Any], kind: type[T], error: type[PrivtallyError], what: str) -> T:
    try:
        value = read()
    except msgspec.ValidationError as fault:
        raise error(f"{what} is refused: {fault}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise error(f"{what} is not valid JSON (is it truncated?)") from None
    if not isinstance(value, kind):
        raise error(f"{what} is refused: it has another format")
    return value


def canonical(value: Any) -> bytes:
    """The RFC 8785 bytes of a value built from dicts, lists, strings, integers, floats, booleans and None."""
    return _text(value).encode("utf-8")


def digest(value: Any) -> str:
    """SHA-256 of the canonical bytes, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()


def _text(value: Any) -> str:
    match value:
        case dict():
            # RFC 8785 sorts by UTF-16 code units.
            keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
            return "{" + ",".join(f"{_text(key)}:{_text(value[key])}" for key in keys) + "}"
        case list() | tuple():
            return "[" + ",".join(map(_text, value)) + "]"
        case float():
            return number(value)
        case _:
            return json.dumps(value, ensure_ascii=False)


def number(value: float) -> str:
    """A finite float as ECMAScript's Number::toString writes it (shortest digits that read back the same)."""
    if not math.isfinite(value):
        raise ValueError("JSON has no number for NaN or infinity")
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    point = len(digits) + exponent
    if -6 < point <= 21:
        text = format(Decimal((sign, digits, exponent)), "f")
    else:
        head, tail = str(digits[0]), "".join(map(str, digits[1:]))
        text = ("-" if sign else "") + head + ("." + tail if tail else "") + f"e{point - 1:+d}"
    return text
