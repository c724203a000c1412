"""db: the care of a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from privtally.cli.console import announce, out, print_json
from privtally.cli.options import JsonFlag
from privtally.cli.stores import USUAL_STORE, StoreOption, on_store
from privtally.errors import StoreError

if TYPE_CHECKING:
    from privtally.store.checking import Checked
    from privtally.store.session import Store

app = typer.Typer(no_args_is_help=True, help="Check a store, back it up and bring it back.")


@app.command()
def migrate(store: StoreOption = USUAL_STORE) -> None:
    """Bring a store's schema up to date, which every other command does as well."""

    async def work(opened: "Store") -> None:
        await opened.integrity()

    on_store(store, work)
    out.print("The store is up to date.")


@app.command()
def check(store: StoreOption = USUAL_STORE, json: JsonFlag = False) -> None:
    """Count all reports anew, and compare with the counts that were kept up to date."""

    async def work(opened: "Store") -> "Checked":
        from privtally.store.checking import check

        return await check(opened)

    found = on_store(store, work)
    if json:
        print_json(found)
    else:
        out.print(f"{found.reports:,} reports of {found.campaigns:,} campaigns; {len(found.faults)} faults")
    if found.faults:
        raise StoreError(f"the store is damaged: {found.faults[0]}; restore it from a backup")


@app.command()
def backup(
    output: Annotated[Path, Option("--output", "-o", help="Where the copy goes; a new file.")],
    store: StoreOption = USUAL_STORE,
    json: JsonFlag = False,
) -> None:
    """Copy a SQLite store to a file, while a service may be using it."""

    async def work(opened: "Store") -> None:
        await opened.backup(output)

    on_store(store, work)
    announce(output, {}, f"{output}: a copy of the store, with all its reports and hashes of tokens", json=json)


@app.command()
def restore(
    copy: Annotated[Path, Argument(metavar="COPY", help="A copy that `db backup` made.")],
    store: StoreOption = USUAL_STORE,
    json: JsonFlag = False,
) -> None:
    """Put a copy in place of a SQLite store that is not there any more."""
    from privtally.files import write_whole

    target = Path(store.removeprefix("sqlite:///"))
    if not store.startswith("sqlite:///") or target.exists():
        raise StoreError("a copy is restored to a SQLite store that does not exist; move the present one away")

    async def work(opened: "Store") -> "Checked":
        from privtally.store.checking import check

        return await check(opened)

    checked = on_store(f"sqlite:///{copy}", work)
    with copy.open("rb") as source, write_whole(target) as file:
        while piece := source.read(1 << 20):
            file.write(piece)
    announce(target, {"reports": checked.reports}, f"{target}: {checked.reports:,} reports are back", json=json)
