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
from unicodedata import category, normalize

import msgspec

from privtally.errors import PrivtallyError

T = TypeVar("T")

_PATH = re.compile(r"[^{\[\n]{1,4096}\.(?:json|toml|ndjson)", re.IGNORECASE)

_HOLDS = {
    "privtally.plan/1": "a plan",
    "privtally.counts/1": "counts",
    "privtally.estimate/1": "an estimate",
    "privtally.report/1": "a report",
    "privtally.certificate/1": "a certificate",
    "privtally.ledger/1": "a ledger",
}
"""What a document holds, by its format."""

MAX_INTEGER = 2**53 - 1
"""The largest integer in a document: beyond it JSON readers disagree, and with them their digests."""

INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that show nothing although Unicode calls them marks, letters or symbols."""


class _Nothing(msgspec.Struct, tag_field="format", tag="nothing"):
    """No document. msgspec insists on the field that names a document's format only where it has a choice."""


@cache
def _decoder(kind: Any) -> Any:
    return msgspec.json.Decoder(kind | _Nothing, strict=True)


def decode_line(data: bytes | str, kind: type[T], error: type[PrivtallyError], what: str) -> T:
    """Read one strict JSON object of the given struct; any fault becomes `error` with the place it is in."""
    return refusing(lambda: _decoder(cast(Any, kind)).decode(data), kind, error, what)


def decode(data: bytes | str, kind: type[T], error: type[PrivtallyError], what: str) -> T:
    """The same for a whole document, in which no key may stand twice and no integer exceeds MAX_INTEGER."""
    _check_format(decode_object(data, error, what), kind, error, what)
    return decode_line(as_text(data), kind, error, what)


def decode_object(data: bytes | str, error: type[PrivtallyError], what: str) -> dict[str, Any]:
    """Read one JSON object of any form; refused if a key stands twice in it or an integer exceeds MAX_INTEGER."""
    if not isinstance(data, bytes | str) or (isinstance(data, str) and _PATH.fullmatch(data)):
        raise error(f"{what} must be given as the document's content; privtally.load reads a file")
    return refusing(lambda: json.loads(as_text(data), object_pairs_hook=_unique, parse_int=_bounded), dict, error, what)


def as_text(data: bytes | str) -> str:
    """UTF-8 as text, without the byte order mark that some programs put in front of it."""
    return (data if isinstance(data, str) else data.decode()).removeprefix("\ufeff")


def convert(value: Any, kind: type[T], error: type[PrivtallyError], what: str) -> T:
    """The struct that a value read already stands for."""
    _check_format(value, kind, error, what)
    return refusing(lambda: msgspec.convert(value, kind | _Nothing, strict=True), kind, error, what)


def _check_format(value: Any, kind: Any, error: type[PrivtallyError], what: str) -> None:
    """Refuse a document that says it is one of privtally's other kinds, and say which."""
    given = value.get("format") if isinstance(value, dict) else None
    if isinstance(given, str) and given in _HOLDS and given != kind.__struct_config__.tag:
        raise error(
            f"{what} is wanted here, but this holds {_HOLDS[given]}; check the order of the files, such as PLAN COUNTS"
        )


def refusing(read: Callable[[], Any], kind: type[T], error: type[PrivtallyError], what: str) -> T:
    """What `read` returns if it is of the right kind; anything else, and any fault on the way, becomes `error`."""
    try:
        value = read()
    except (msgspec.ValidationError, _NotInDocumentsError) as fault:
        raise error(f"{what} is refused: {fault}") from None
    except (msgspec.DecodeError, json.JSONDecodeError, tomllib.TOMLDecodeError) as fault:
        raise error(f"{what} is not well-formed (is it truncated?): {fault}") from None
    except (ValueError, RecursionError):  # no Unicode, endless digits, endless nesting
        raise error(f"{what} is not well-formed") from None
    if not isinstance(value, kind):
        raise error(f"{what} is refused: it has another form")
    return value


class _NotInDocumentsError(ValueError):
    """Something that JSON allows and documents do not."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        raise _NotInDocumentsError("a key stands twice in one object")
    return unique


def _bounded(digits: str) -> int:
    if len(digits) > 17 or abs(value := int(digits)) > MAX_INTEGER:
        raise _NotInDocumentsError(f"an integer in it is out of range, which ends at {MAX_INTEGER:,}")
    return value


def is_digest(text: str) -> bool:
    """Whether a text is a SHA-256 in lower-case hexadecimal."""
    return re.fullmatch("[0-9a-f]{64}", text) is not None


def check_digest(text: str, what: str, error: type[PrivtallyError]) -> None:
    """Refuse what is not a SHA-256 in lower-case hexadecimal."""
    if not is_digest(text):
        raise error(f"{what} must be a SHA-256 digest, 64 lower-case hexadecimal digits")


def normal(text: str) -> str:
    """A text in Unicode's form NFC: one character for a letter with its accent."""
    return normalize("NFC", text)


def is_printable(text: str) -> bool:
    """Whether every character shows: none controls the text or its direction, has no width or is half a pair."""
    if text.isascii():
        return text.isprintable()
    return not any(category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") or char in INVISIBLE for char in text)


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
    return json.dumps(value, ensure_ascii=False)


def number(value: float) -> str:
    """A finite float as ECMAScript's Number::toString writes it (shortest digits that read back the same)."""
    if not math.isfinite(value):
        raise ValueError("JSON has no number for NaN or infinity")
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e16:  # here Python writes the same digits, and at most ".0" too much
        return repr(value).removesuffix(".0")
    exact = Decimal(repr(value)).normalize()
    if -7 < exact.adjusted() < 21:
        return format(exact, "f")
    mantissa = f"{exact:e}".partition("e")[0]
    return f"{mantissa}e{exact.adjusted():+d}"
