"""Which files are meant, and of what kind each is: by their names, and nothing is guessed from what is in them."""

from collections.abc import Iterable, Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Literal, NamedTuple

from privtally.errors import DocumentError
from privtally.files import STANDARD

Kind = Literal["csv", "ndjson", "parquet"]
Packing = Literal["none", "gzip", "zstd"]

_KINDS: dict[str, Kind] = {".csv": "csv", ".ndjson": "ndjson", ".jsonl": "ndjson", ".parquet": "parquet"}
_PACKINGS: dict[str, Packing] = {".gz": "gzip", ".zst": "zstd"}


class Format(NamedTuple):
    """What a file holds, and how it is compressed."""

    kind: Kind
    packing: Packing = "none"


def format_of(path: Path) -> Format | None:
    """The format that a file's name states: `.csv`, `.ndjson`, `.jsonl` (each also `.gz` or `.zst`), `.parquet`."""
    *_, kind, packing = ["", "", *(suffix.lower() for suffix in path.suffixes)]
    if packing in _PACKINGS and _KINDS.get(kind, "parquet") != "parquet":
        return Format(_KINDS[kind], _PACKINGS[packing])
    return Format(_KINDS[packing]) if packing in _KINDS else None


def check_format(path: Path) -> None:
    """Refuse to write a file whose name says that it is compressed, but not in a way that is known."""
    if path.suffix.lower() in _PACKINGS and format_of(path) is None:
        raise DocumentError(f"{path}: only .csv, .ndjson and .jsonl files can end in {path.suffix}; Parquet is compact")


def is_plain(path: Path) -> bool:
    """Whether a path leads to a plain file, which can be read more than once; a pipe cannot."""
    return path != STANDARD and path.is_file()


def every_file(paths: Sequence[Path]) -> list[Path]:
    """The files that are named, that patterns match, and that directories hold at any depth, in the names' order."""
    found = [file for path in paths for file in _files(path)]
    refuse_twice(found)
    return found


def refuse_twice(paths: Iterable[Path]) -> None:
    """Refuse a file that is named twice, under whatever names."""
    seen: set[Path] = set()
    for path in paths:
        target = _target(path)
        if target in seen:
            raise DocumentError(f"{path} is named twice; name every file once")
        seen.add(target)


def _target(path: Path) -> Path:
    """What a path leads to, the same for all its names."""
    try:
        return path.resolve()
    except RuntimeError:
        raise DocumentError(f"cannot read {path}: its links lead in a circle") from None


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        below = (file for file in path.rglob("*") if not _hidden(file.relative_to(path).parts))
        inside = sorted(filter(_is_data, below))
        if not inside:
            raise DocumentError(f"{path} has no file whose name ends in {', '.join(_KINDS)}, .gz or .zst")
        yield from inside
    elif has_magic(str(path)) and not path.exists():
        matching = sorted(map(Path, glob(str(path), recursive=True)))  # noqa: PTH207  # a pattern may begin anywhere
        given = next(place for place, part in enumerate(path.parts) if has_magic(part))
        if not _hidden(path.parts[given:]):  # who writes a pattern for hidden names means them
            matching = [one for one in matching if not _hidden(one.parts[given:])]
        if not matching:
            raise DocumentError(f"no file matches {path}; check the pattern and the directory")
        yield from dict.fromkeys(file for one in matching for file in _files(one))
    else:
        yield path


def _is_data(path: Path) -> bool:
    """Whether a path is a file of data; a directory may be named like one, and its files are met by themselves."""
    return format_of(path) is not None and path.is_file()


def _hidden(parts: Sequence[str]) -> bool:
    """Whether a name is none of the data's: drafts, markers and logs, by the custom of lakes."""
    return any(part.startswith((".", "_")) for part in parts)
