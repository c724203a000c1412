"""The schema of a file of answers, where none is named: beside it."""

from collections.abc import Callable
from glob import has_magic
from pathlib import Path
from shlex import quote

from privtally.errors import DocumentError
from privtally.files import STANDARD, missing
from privtally.tables.paths import format_of


def find_schema(data: Path, notice: Callable[[str], None]) -> Path:
    """The schema named as the data is, or schema.toml; says which it is."""
    if data != STANDARD and not data.exists() and not has_magic(str(data)):
        raise DocumentError(missing(data))
    candidates = [*_candidates(data)]
    for path in candidates:
        if path.is_file():
            notice(f"The questions are those of {path}.")
            return path
    how = f"privtally init --from-csv {quote(str(data))}" if _is_csv(data) else "privtally init"
    raise DocumentError(
        f"{data} needs a schema, and there is none in {', '.join(map(str, candidates))}; name one with --schema, or "
        f"write one: {how}"
    )


def _is_csv(data: Path) -> bool:
    return data.is_file() and data.suffix.lower() == ".csv"


def _candidates(data: Path) -> list[Path]:
    beside = Path() if data == STANDARD else data.parent
    name = data.name
    while format_of(Path(name)) is not None or name.lower().endswith((".gz", ".zst")):
        name = name.rpartition(".")[0]
    names = ["schema"] if data == STANDARD or name in ("", "..") else [name, "schema"]
    return [beside / f"{own}{suffix}" for own in dict.fromkeys(names) for suffix in (".toml", ".json")]
