"""campaign: what an operator does with campaigns, on the store itself."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from privtally.cli import options
from privtally.cli.campaign_words import campaign_view, say_campaign
from privtally.cli.commands import Command, Group
from privtally.cli.console import announce, err, out, print_json
from privtally.cli.links import PublicUrlOption
from privtally.cli.options import EpsilonOption, JsonFlag, MethodOption, RuleOption
from privtally.cli.stores import USUAL_STORE, StoreOption, on_campaign, on_store
from privtally.errors import CampaignError, DocumentError
from privtally.names import HIDE_AMONG

if TYPE_CHECKING:
    from privtally.service.views import CampaignView
    from privtally.store.session import Store
    from privtally.store.surveys import Survey

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Create campaigns, open their next phase, close them and export their results.",
)

AUTO_CHOOSES = ("groups", "pivots", "decoys", "phase1_share")
"""Options of a campaign that --mechanism auto has no use for."""
CampaignArgument = Annotated[str, Argument(metavar="ID", help="The campaign's id, or as much of it as tells it apart.")]


@app.command(cls=Command)
def create(
    context: typer.Context,
    schema: options.SchemaArgument,
    title: Annotated[str, Option(metavar="TEXT", help="What participants see above the questions.")],
    epsilon: EpsilonOption,
    mechanism: options.ChoiceOption = "auto",
    hide_among: options.HideOption = str(HIDE_AMONG),
    answers: Annotated[
        int, Option(metavar="N", help="How often one person may be asked in this campaign; budgets add up.")
    ] = 1,
    groups: options.GroupsOption = None,
    pivots: options.PivotsOption = 1,
    decoys: options.DecoysOption = None,
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
    from privtally.cli.groups import read_groups
    from privtally.files import read_schema
    from privtally.mechanisms import NAMED

    the_schema, named, auto, learns = read_schema(schema), None, mechanism == "auto", False
    among = options.read_hide_among(hide_among)
    if mechanism == "auto":
        options.refuse_without_effect(context, AUTO_CHOOSES, options.AUTO)
        if people is None:
            raise CampaignError("say with --people how many people will be asked, or name a --mechanism")
    else:
        options.refuse_without_effect(context, ["hide_among"], f"with {mechanism}; --decoys says what a report shows")
        named, why = read_groups(groups, the_schema, epsilon, mechanism, pivots, decoys)
        learns = NAMED[mechanism].learns
        if why:
            err.print(why, markup=False)

    async def work(opened: "Store") -> "CampaignView":
        from privtally.cli.auto import recommended
        from privtally.service import operations
        from privtally.store.options import Options

        new = operations.NewCampaign(
            title=title,
            schema=the_schema,
            epsilon=epsilon,
            mechanism=mechanism,
            people=people if auto else None,
            answers=answers,
            groups=named,
            pivots=1 if learns else pivots,
            decoys=decoys,
            hide_among=among,
            options=Options(
                rule=rule,
                people=None if auto else people,
                published=published,
                tokens=tokens,
                phase1_share=phase1_share,
                pivots=pivots if learns else 1,
                about=about,
            ),
        )
        return await campaign_view(opened, await operations.create(opened, new, recommended))

    say_campaign(on_store(store, work, create=True), json=json, public_url=public_url)


@app.command("list", cls=Command)
def list_all(store: StoreOption = USUAL_STORE, json: JsonFlag = False) -> None:
    """List all campaigns, the newest first."""

    async def work(opened: "Store") -> "list[CampaignView]":
        from privtally.store.surveys import every

        return [await campaign_view(opened, survey) for survey in await opened.read(every)]

    found = on_store(store, work)
    if json:
        print_json(found)
        return
    if not found:
        err.print("There are no campaigns yet; privtally campaign create starts one.")
    for own in found:
        reports = sum(phase.reports for phase in own.phases)
        counted = f"{reports:>9,} {'report ' if reports == 1 else 'reports'}"
        out.print(f"{own.id[:12]}  {own.state.value:6}  phase {len(own.phases)}  {counted}  {own.title}")


@app.command(cls=Command)
def show(
    campaign: CampaignArgument,
    public_url: PublicUrlOption = None,
    store: StoreOption = USUAL_STORE,
    json: JsonFlag = False,
) -> None:
    """Show a campaign with its link and the numbers of its reports."""
    say_campaign(on_campaign(store, campaign, campaign_view), json=json, public_url=public_url)


@app.command(cls=Command)
def advance(campaign: CampaignArgument, store: StoreOption = USUAL_STORE, json: JsonFlag = False) -> None:
    """Learn from the reports so far and open the second phase."""
    _move_on(campaign, store, "advance", json=json)


@app.command(cls=Command)
def refresh(campaign: CampaignArgument, store: StoreOption = USUAL_STORE, json: JsonFlag = False) -> None:
    """Ask again: open the campaign anew as its first plan asked."""
    _move_on(campaign, store, "refresh", json=json)


@app.command(cls=Command)
def close(campaign: CampaignArgument, store: StoreOption = USUAL_STORE, json: JsonFlag = False) -> None:
    """Close a campaign: it takes no more reports."""

    async def step(opened: "Store", survey: "Survey") -> "CampaignView":
        from privtally.service import operations

        return await campaign_view(opened, await operations.close(opened, survey.id))

    say_campaign(on_campaign(store, campaign, step), json=json)


@app.command(cls=Command)
def delete(
    campaign: CampaignArgument,
    title: Annotated[str, Option(metavar="TEXT", help="The campaign's title, to confirm that it is the one.")],
    store: StoreOption = USUAL_STORE,
    json: JsonFlag = False,
) -> None:
    """Delete a closed campaign with all its reports; backups keep them."""

    async def step(opened: "Store", survey: "Survey") -> str:
        from privtally.service import operations

        await operations.delete(opened, survey.id, title)
        return survey.id

    deleted = on_campaign(store, campaign, step)
    if json:
        print_json({"deleted": deleted})
    else:
        out.print(f"Campaign {deleted[:12]}… and all its reports are deleted; backups still hold them.")


@app.command(cls=Command)
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
    from privtally.files import is_stream, write_bytes
    from privtally.store.private_file import new_private_file

    async def step(opened: "Store", survey: "Survey") -> str:
        from privtally.service.tokens import issue

        with nullcontext(output) if is_stream(output) else new_private_file(output) as path:
            write_bytes(path, "".join(f"{token}\n" for token in await issue(opened, survey.id, number)).encode())
        return survey.id

    found = on_campaign(store, campaign, step)
    announce(output, {"campaign": found, "tokens": number}, f"{output}: {number:,} tokens", json=json)


@app.command(cls=Command)
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

    async def step(opened: "Store", survey: "Survey") -> str:
        from privtally.service.collector import Collector
        from privtally.service.exports import FORMATS, REPORTS
        from privtally.service.exports import export as content

        kind = next((own for own in FORMATS if output.suffix.lower() == f".{own}"), None)
        if kind is None:
            raise DocumentError(f"{output}: an export must end in .csv, .json, .ndjson or .parquet")
        unused = ["method"] if kind in REPORTS else ["ids"]
        options.refuse_without_effect(context, unused, f"with a .{kind} file")
        with write_whole(output) as file:
            async for piece in content(Collector(opened), survey, kind, method, ids=ids):
                file.write(piece)
        return survey.id

    found = on_campaign(store, campaign, step)
    announce(output, {"campaign": found}, f"{output}: campaign {found[:12]}…", json=json)


def _move_on(campaign: str, store: str, how: Literal["advance", "refresh"], *, json: bool) -> None:
    """Open what follows the campaign's last plan."""

    async def step(opened: "Store", survey: "Survey") -> "CampaignView":
        from privtally.service import operations

        take = {"advance": operations.advance, "refresh": operations.refresh}[how]
        await take(opened, survey.id, survey.plans[-1].digest)
        return await campaign_view(opened, await operations.find(opened, survey.id))

    say_campaign(on_campaign(store, campaign, step), json=json)
