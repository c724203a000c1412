"""JSON in and out: strict when read, canonical when hashed.

The canonical form is RFC 8785 (JSON Canonicalization Scheme), so that a client in any language computes the same
digest: keys sorted, no white space, numbers as ECMAScript prints them.
"""

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from itertools import chain
from typing import Any, TypeVar, cast

import msgspec

from privtally.errors import PrivtallyError

T = TypeVar("T")


DIGEST = re.compile(r"[0-9a-f]{64}")


class _Nothing(msgspec.Struct, tag_field="format", tag="nothing"):
    """No document. msgspec insists on the field that names a document's format only where it has a choice."""


@cache
def _decoder(kind: Any) -> Any:
    return msgspec.json.Decoder(kind | _Nothing, strict=True)


def decode_line(data: bytes | str, kind: type[T], error: type[PrivtallyError], what: str) -> T:
    """Read one strict JSON object of the given struct; any fault becomes `error` with the place it is in."""
    return refusing(lambda: _decoder(cast(Any, kind)).decode(data), kind, error, what)


def decode(data: bytes | str, kind: type[T], error: type[PrivtallyError], what: str) -> T:
    """The same for a whole document, in which no key may stand twice."""
    decode_object(data, error, what)
    return decode_line(data, kind, error, what)


def decode_object(data: bytes | str, error: type[PrivtallyError], what: str) -> dict[str, Any]:
    """Read one JSON object of any form, refused if a key stands twice in it."""
    return refusing(lambda: json.loads(data, object_pairs_hook=_unique), dict, error, what)


def convert(value: Any, kind: type[T], error: type[PrivtallyError], what: str) -> T:
    """The struct that a value read already stands for."""
    return refusing(lambda: msgspec.convert(value, kind | _Nothing, strict=True), kind, error, what)


def refusing(read: Callable[[], Any], kind: type[T], error: type[PrivtallyError], what: str) -> T:
    """What `read` returns if it is of the right kind; anything else, and any fault on the way, becomes `error`."""
    try:
        value = read()
    except msgspec.ValidationError as fault:
        raise error(f"{what} is refused: {fault}") from None
    except _RepeatedKeyError:
        raise error(f"{what} is refused: a key stands twice in one object") from None
    except (msgspec.DecodeError, json.JSONDecodeError, tomllib.TOMLDecodeError) as fault:
        raise error(f"{what} is not well-formed (is it truncated?): {fault}") from None
    except (ValueError, RecursionError):  # no Unicode, endless digits, endless nesting
        raise error(f"{what} is not well-formed") from None
    if not isinstance(value, kind):
        raise error(f"{what} is refused: it has another form")
    return value


class _RepeatedKeyError(ValueError):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        raise _RepeatedKeyError
    return unique


def check_digest(text: str, what: str, error: type[PrivtallyError]) -> None:
    """Refuse what is not a SHA-256 in lower-case hexadecimal."""
    if not DIGEST.fullmatch(text):
        raise error(f"{what} must be a SHA-256 digest, 64 lower-case hexadecimal digits")


def is_printable(text: str) -> bool:
    """Whether a text holds neither control characters nor halves of surrogate pairs."""
    return not any(ord(char) < 32 or 127 <= ord(char) < 160 or 0xD800 <= ord(char) < 0xE000 for char in text)


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
            kinds = set(map(type, value))
            if kinds == {list}:
                kinds = set(map(type, chain.from_iterable(value)))
            if kinds <= {int, str}:  # only floats are written otherwise; large tables of integers go at once
                return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
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
    if 1e-4 <= abs(value) < 1e16:  # here Python writes the same digits, and at most ".0" too much
        return repr(value).removesuffix(".0")
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    point = len(digits) + exponent
    if -6 < point <= 21:
        text = format(Decimal((sign, digits, exponent)), "f")
    else:
        head, tail = str(digits[0]), "".join(map(str, digits[1:]))
        text = ("-" if sign else "") + head + ("." + tail if tail else "") + f"e{point - 1:+d}"
    return text
