"""campaign, db: what an operator does with campaigns and with a store, on the store itself."""

import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from privtally.cli import options
from privtally.cli.console import Command, Group, announce, err, out, print_json, say
from privtally.cli.options import EpsilonOption, JsonFlag, MethodOption, RuleOption
from privtally.cli.service import SHOWN_ONCE, USUAL_STORE, PublicUrlOption, StoreOption, on_campaign, on_store
from privtally.errors import DocumentError, StoreError
from privtally.names import HIDE_AMONG

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from privtally.service.operations import CampaignView
    from privtally.store.campaigns import Checked, StoredCampaign
    from privtally.store.session import Store


campaign_app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Create campaigns, open their next phase, close them and export their results.",
)

CampaignArgument = Annotated[str, Argument(metavar="ID", help="The campaign's id, or as much of it as tells it apart.")]


@campaign_app.command(cls=Command)
def create(
    context: typer.Context,
    schema: options.SchemaArgument,
    title: Annotated[str, Option(metavar="TEXT", help="What participants see above the questions.")],
    epsilon: EpsilonOption,
    mechanism: options.ChoiceOption = "auto",
    hide_among: options.HideOption = str(HIDE_AMONG),
    answers: options.AnswersOption = 1,
    groups: options.GroupsOption = None,
    pivots: options.PivotsOption = 1,
    decoys: options.DecoysOption = None,
    together: options.TogetherOption = None,
    single: options.SingleOption = None,
    pairs_of: options.PairsOfOption = None,
    people: Annotated[
        int | None,
        Option(metavar="N", help="How many people the second phase will ask; for --mechanism auto, how many in all."),
    ] = None,
    rule: RuleOption = "robust",
    about: Annotated[str, Option(metavar="TEXT", help="Who asks, and why: participants read it.")] = "",
    published: Annotated[bool, Option("--published", help="Let everybody see the estimates.")] = False,
    tokens: Annotated[bool, Option("--tokens", help="Take reports only with a participation token.")] = False,
    phase1_share: Annotated[
        float,
        Option(metavar="SHARE", help="The share of tokens for the first phase.", show_default="0.1; auto chooses"),
    ] = 0.1,
    public_url: PublicUrlOption = None,
    store: StoreOption = USUAL_STORE,
    json: JsonFlag = False,
) -> None:
    """Start a campaign: a survey with a link, open at once."""
    from msgspec.structs import asdict

    from privtally.cli import render
    from privtally.files import read_schema
    from privtally.service import operations
    from privtally.store.campaigns import Options

    the_schema = read_schema(schema)
    among = options.read_hide_among(hide_among)
    asked = {"groups": groups, "pivots": pivots, "decoys": decoys, "rule": rule, "phase1_share": phase1_share}
    jointly = {"together": together, "single": single, "pairs_of": pairs_of}
    asking = options.read_asking(context, the_schema, epsilon, mechanism, **asked, **jointly)
    if asking is None:
        options.check_people_said(people)
        how: dict[str, Any] = {"mechanism": "auto", "people": people, "hide_among": among}
        learning: dict[str, Any] = {}
    else:
        how, learning = asking.options, {**asdict(asking.learning), "people": people}
    settings = Options(**learning, published=published, tokens=tokens, about=about)
    new = operations.NewCampaign(
        title=title, schema=the_schema, epsilon=epsilon, answers=answers, options=settings, **how
    )

    async def work(opened: "Store") -> "CampaignView":
        return await operations.view(opened, await operations.create(opened, new, render.recommended))

    render.say_campaign(on_store(store, work, create=True), json=json, public_url=public_url)


@campaign_app.command("list", cls=Command)
def list_all(store: StoreOption = USUAL_STORE, json: JsonFlag = False) -> None:
    """List all campaigns, the newest first."""
    from privtally.service.operations import view_all

    campaigns = on_store(store, view_all)
    if json:
        print_json(campaigns)
        return
    if not campaigns:
        err.print("There are no campaigns yet; privtally campaign create starts one.")
    for campaign in campaigns:
        reports = sum(phase.reports for phase in campaign.phases)
        place = f"{campaign.state.value:6}  phase {len(campaign.phases)}"
        counted = f"{reports:>9,} {'report ' if reports == 1 else 'reports'}"
        out.print(f"{campaign.id[:12]}  {place}  {counted}  {campaign.title}")


@campaign_app.command(cls=Command)
def show(
    campaign: CampaignArgument,
    public_url: PublicUrlOption = None,
    store: StoreOption = USUAL_STORE,
    json: JsonFlag = False,
) -> None:
    """Show a campaign with its link and the numbers of its reports."""
    from privtally.cli import render
    from privtally.service.operations import view

    render.say_campaign(on_campaign(store, campaign, view), json=json, public_url=public_url)


@campaign_app.command(cls=Command)
def advance(campaign: CampaignArgument, store: StoreOption = USUAL_STORE, json: JsonFlag = False) -> None:
    """Learn from the reports so far and open the second phase."""
    from privtally.service.operations import advance

    _change(campaign, store, lambda opened, stored: advance(opened, stored.id, stored.plans[-1].digest), json=json)


@campaign_app.command(cls=Command)
def refresh(campaign: CampaignArgument, store: StoreOption = USUAL_STORE, json: JsonFlag = False) -> None:
    """Ask again: open the campaign anew as its first plan asked."""
    from privtally.service.operations import refresh

    _change(campaign, store, lambda opened, stored: refresh(opened, stored.id, stored.plans[-1].digest), json=json)


@campaign_app.command(cls=Command)
def close(campaign: CampaignArgument, store: StoreOption = USUAL_STORE, json: JsonFlag = False) -> None:
    """Close a campaign: it takes no more reports."""
    from privtally.service.operations import close

    _change(campaign, store, lambda opened, stored: close(opened, stored.id), json=json)


@campaign_app.command(cls=Command)
def delete(
    campaign: CampaignArgument,
    title: Annotated[str, Option(metavar="TEXT", help="The campaign's title, to confirm that it is the one.")],
    store: StoreOption = USUAL_STORE,
    json: JsonFlag = False,
) -> None:
    """Delete a closed campaign with all its reports; backups keep them."""
    from privtally.service import operations

    async def step(opened: "Store", campaign: "StoredCampaign") -> str:
        await operations.delete(opened, campaign.id, title)
        return campaign.id

    deleted = on_campaign(store, campaign, step)
    line = f"Campaign {deleted[:12]}… and all its reports are deleted; backups still hold them."
    say({"deleted": deleted}, line, json=json)


@campaign_app.command(cls=Command)
def tokens(
    campaign: CampaignArgument,
    number: Annotated[int, Argument(metavar="N", help="How many tokens.")],
    output: Annotated[
        Path, Option("--output", "-o", metavar="FILE", help="A new file for the tokens, one a line; or -.")
    ],
    store: StoreOption = USUAL_STORE,
    json: JsonFlag = False,
) -> None:
    """Issue participation tokens, each good for one report; the store keeps their hashes only."""
    from privtally.files import is_stream, new_private_file, write_bytes
    from privtally.service.operations import issue

    async def step(opened: "Store", campaign: "StoredCampaign") -> str:
        with nullcontext(output) if is_stream(output) else new_private_file(output) as path:
            write_bytes(path, "".join(f"{token}\n" for token in await issue(opened, campaign.id, number)).encode())
        return campaign.id

    campaign_id = on_campaign(store, campaign, step)
    announce(output, {"campaign": campaign_id, "tokens": number}, f"{output}: {number:,} tokens", json=json)


@campaign_app.command(cls=Command)
def export(
    context: typer.Context,
    campaign: CampaignArgument,
    output: Annotated[
        Path,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            help="A .csv (estimates), .json (all documents), .ndjson or .parquet (reports) file.",
        ),
    ],
    method: MethodOption = "likelihood",
    ids: Annotated[bool, Option("--ids", help="Keep the ids of reports (.ndjson, .parquet).")] = False,
    store: StoreOption = USUAL_STORE,
    json: JsonFlag = False,
) -> None:
    """Write a campaign's estimates, documents or private reports to a file."""
    from privtally.files import write_whole

    async def step(opened: "Store", campaign: "StoredCampaign") -> str:
        from privtally.service.collector import FORMATS, REPORTS, Collector
        from privtally.service.collector import export as content

        kind = next((known for known in FORMATS if output.suffix.lower() == f".{known}"), None)
        if kind is None:
            raise DocumentError(f"{output}: an export must end in .csv, .json, .ndjson or .parquet")
        unused = ["method"] if kind in REPORTS else ["ids"]
        options.refuse_without_effect(context, unused, f"with a .{kind} file")
        with write_whole(output) as file:
            async for piece in await content(Collector(opened), campaign, kind, method, ids=ids):
                file.write(piece)
        return campaign.id

    campaign_id = on_campaign(store, campaign, step)
    announce(output, {"campaign": campaign_id}, f"{output}: campaign {campaign_id[:12]}…", json=json)


def _change(
    campaign: str, store: str, change: "Callable[[Store, StoredCampaign], Awaitable[object]]", *, json: bool
) -> None:
    """Change a campaign, and print it as it is then."""
    from privtally.cli import render
    from privtally.service import operations

    async def step(opened: "Store", stored: "StoredCampaign") -> "CampaignView":
        await change(opened, stored)
        return await operations.view(opened, await operations.find(opened, stored.id))

    render.say_campaign(on_campaign(store, campaign, step), json=json)


database_app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Check the store of a service, back it up and restore it."
)


@database_app.command(cls=Command)
def check(store: StoreOption = USUAL_STORE, json: JsonFlag = False) -> None:
    """Check a store: count all reports anew and compare with the counts that were kept."""
    from privtally.store import campaigns

    checked = on_store(store, campaigns.check)
    line = f"{checked.reports:,} reports of {checked.campaigns:,} campaigns; {len(checked.faults)} faults"
    say(checked, line, json=json)
    if checked.faults:
        raise StoreError(f"the store is damaged: {checked.faults[0]}; restore it from a backup")


@database_app.command(cls=Command)
def backup(
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="A new file for the copy.")],
    store: StoreOption = USUAL_STORE,
    json: JsonFlag = False,
) -> None:
    """Copy a SQLite store to a file, also while a service is using it; PostgreSQL has pg_dump.

    With a campaign that has invitations, keep the last copy only: two of them show whose report came in between.
    """
    from privtally.store.campaigns import has_invitations

    async def work(opened: "Store") -> bool:
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


@database_app.command(cls=Command)
def restore(
    copy: Annotated[Path, Argument(metavar="COPY", help="A copy that `db backup` made.")],
    store: StoreOption = USUAL_STORE,
    json: JsonFlag = False,
) -> None:
    """Check a copy and make a SQLite store of it where none is; stop the service first.

    It shows a new administrator's token, once: the copy's own may have been replaced since, and stops working.
    """
    from privtally.files import new_private_file, open_binary
    from privtally.service.operations import new_admin_token

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
        token = on_store(f"sqlite:///{draft}", new_admin_token)
    line = f"{target}: {checked.reports:,} reports are back; the administrator's token of the copy stopped working"
    facts = {"reports": checked.reports, "admin_token": token}
    announce(target, facts, f"{line}\n{SHOWN_ONCE}: {token}", json=json)


@database_app.command(cls=Command)
def new_token(store: StoreOption = USUAL_STORE, json: JsonFlag = False) -> None:
    """Issue a new administrator's token, also while a service is running; the one before stops working."""
    from privtally.service.operations import new_admin_token

    token = on_store(store, new_admin_token)
    say({"admin_token": token}, f"{SHOWN_ONCE}: {token}", json=json)


def _sound(draft: Path, copy: Path) -> "Checked":
    """What is in a draft of a copy; refused, in the copy's name, if it is no store or a damaged one."""
    from privtally.store import campaigns

    try:
        checked = on_store(f"sqlite:///{draft}", campaigns.check)
    except StoreError as refusal:
        raise StoreError(str(refusal).replace(str(draft), str(copy))) from None
    if checked.faults:
        raise StoreError(f"the copy {copy} is damaged: {checked.faults[0]}; take an older one")
    return checked
