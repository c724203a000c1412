"""Where a collector keeps campaigns, reports and their counts: SQLite in a file, or PostgreSQL."""

from pathlib import Path

from privtally.errors import StoreError
from privtally.store.session import Store


async def open_store(url: str, *, create: bool = True) -> Store:
    """The store with an address: sqlite:///relative.db, sqlite:////absolute.db or postgresql://…

    A SQLite file that is not there is made, or refused if `create` is false.
    """
    kind, _, rest = url.partition("://")
    if kind == "sqlite" and rest.startswith("/") and len(rest) > 1:
        from privtally.store.sqlite import SqliteStore

        path = Path(rest[1:])
        if not create and not path.exists():
            raise StoreError(
                f"there is no database {path}; say with --store where it is, or make one with privtally serve"
            )
        return SqliteStore(path)
    if kind in ("postgresql", "postgres"):
        from privtally.store.postgresql import open_postgresql

        return await open_postgresql(url)
    raise StoreError(
        "a store (--store) must be named by its address, sqlite:///FILE or postgresql://USER@HOST/DATABASE"
    )
