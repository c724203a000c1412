"""db: the care of a store."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from privtally.cli.commands import Command, Group
from privtally.cli.console import announce, err, out, print_json
from privtally.cli.options import JsonFlag
from privtally.cli.stores import USUAL_STORE, StoreOption, on_store
from privtally.errors import StoreError

if TYPE_CHECKING:
    from privtally.store.checking import Checked
    from privtally.store.session import Store

_SHOWN_ONCE = "Administrator's token (shown once, keep it)"

app = typer.Typer(cls=Group, no_args_is_help=True, help="Check the store of a service, back it up and restore it.")


@app.command(cls=Command)
def migrate(store: StoreOption = USUAL_STORE) -> None:
    """Bring a store of an older version up to date; every other command does so as well."""

    async def nothing(_: "Store") -> None:
        """Opening a store brings it up to date."""

    on_store(store, nothing)
    out.print("The store is up to date.")


@app.command(cls=Command)
def check(store: StoreOption = USUAL_STORE, json: JsonFlag = False) -> None:
    """Check a store: count all reports anew and compare with the counts that were kept."""
    found = on_store(store, _checked)
    if json:
        print_json(found)
    else:
        out.print(f"{found.reports:,} reports of {found.campaigns:,} campaigns; {len(found.faults)} faults")
    if found.faults:
        raise StoreError(f"the store is damaged: {found.faults[0]}; restore it from a backup")


@app.command(cls=Command)
def backup(
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="A new file for the copy.")],
    store: StoreOption = USUAL_STORE,
    json: JsonFlag = False,
) -> None:
    """Copy a SQLite store to a file, also while a service is using it; PostgreSQL has pg_dump.

    With a campaign that has invitations, keep the last copy only: two of them show whose report came in between.
    """

    async def work(opened: "Store") -> bool:
        from privtally.store.surveys import has_invitations

        before = await opened.read(has_invitations)
        await opened.backup(output)
        return before or await opened.read(has_invitations)

    invites = on_store(store, work)
    line = f"{output}: a copy of the store, with all its reports and hashes of tokens"
    announce(output, {"invitations": invites}, line, json=json)
    if invites:
        err.print(
            "privtally: a campaign has invitations, so that copies from before and after an answer show together "
            "which invitation sent which report; keep the last copy only, until that campaign is deleted",
            soft_wrap=True,
        )


@app.command(cls=Command)
def restore(
    copy: Annotated[Path, Argument(metavar="COPY", help="A copy that `db backup` made.")],
    store: StoreOption = USUAL_STORE,
    json: JsonFlag = False,
) -> None:
    """Check a copy and make a SQLite store of it where none is; stop the service first.

    It shows a new administrator's token, once: the copy's own may have been replaced since, and stops working.
    """
    from privtally.files import open_binary
    from privtally.store.private_file import new_private_file

    target = Path(store.removeprefix("sqlite:///"))
    if not store.startswith("sqlite:///"):
        raise StoreError("a copy is restored to a SQLite store, --store sqlite:///FILE; PostgreSQL has pg_restore")
    for there in (target, Path(f"{target}-wal")):  # a log left behind would be taken for the copy's own
        if there.exists():
            raise StoreError(
                f"{there} is there already; stop the service and move {target} and {target}-wal away first"
            )
    with open_binary(copy) as source, new_private_file(target) as draft:
        with draft.open("wb") as file:
            shutil.copyfileobj(source, file)
        checked = _sound(draft, copy)
        token = on_store(f"sqlite:///{draft}", _new_token)
    announce(
        target,
        {"reports": checked.reports, "admin_token": token},
        f"{target}: {checked.reports:,} reports are back; the administrator's token of the copy stopped working\n"
        f"{_SHOWN_ONCE}: {token}",
        json=json,
    )


@app.command(cls=Command)
def new_token(store: StoreOption = USUAL_STORE, json: JsonFlag = False) -> None:
    """Issue a new administrator's token, also while a service is running; the one before stops working."""
    token = on_store(store, _new_token)
    if json:
        print_json({"admin_token": token})
    else:
        out.print(f"{_SHOWN_ONCE}: {token}")


async def _new_token(opened: "Store") -> str:
    from privtally.service.tokens import new_admin_token

    return await new_admin_token(opened)


async def _checked(opened: "Store") -> "Checked":
    from privtally.store.checking import check

    return await check(opened)


def _sound(draft: Path, copy: Path) -> "Checked":
    """What is in a draft of a copy; refused, in the copy's name, if it is no store or a damaged one."""
    try:
        found = on_store(f"sqlite:///{draft}", _checked)
    except StoreError as refusal:
        raise StoreError(str(refusal).replace(str(draft), str(copy))) from None
    if found.faults:
        raise StoreError(f"the copy {copy} is damaged: {found.faults[0]}; take an older one")
    return found
