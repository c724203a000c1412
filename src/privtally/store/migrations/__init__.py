"""The database's schema as numbered steps of SQL; a database knows how many of them it has taken."""

from collections.abc import Sequence
from importlib.resources import files

from privtally.errors import StoreError


def steps(dialect: str) -> list[str]:
    """All steps of a dialect, in order."""
    folder = files(__name__) / dialect
    return [file.read_text(encoding="utf-8") for file in sorted(folder.iterdir(), key=lambda file: file.name)]


def pending(version: int, known: Sequence[str]) -> Sequence[str]:
    """The steps that a database of this version still has to take; a version that nobody here knows is refused."""
    if version > len(known):
        raise StoreError(
            f"the database has version {version}, and this program knows versions up to {len(known)}; "
            "open it with the program that wrote it, or name a new one"
        )
    return known[version:]
