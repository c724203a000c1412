"""serve, submit: the collector as a service, and a participant who answers it; and how commands use a store."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from typer import Option

from privtally.cli.console import err, out, say
from privtally.cli.options import JsonFlag, within
from privtally.errors import ServiceError

if TYPE_CHECKING:
    from privtally.service.app import Started
    from privtally.store.campaigns import StoredCampaign
    from privtally.store.session import Store


T = TypeVar("T")

StoreOption = Annotated[
    str,
    Option(
        envvar="PRIVTALLY_STORE",
        metavar="ADDRESS",
        help="Where everything is kept: sqlite:///FILE or postgresql://USER@HOST/DATABASE.",
    ),
]
USUAL_STORE = "sqlite:///privtally.db"
SHOWN_ONCE = "Administrator's token (shown once, keep it)"


@contextmanager
def needing_the_extra() -> Iterator[None]:
    """Say what to install where a part of the service is missing."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise ServiceError(
            f"the collector needs {missing.name}; install it with: pip install 'privtally[serve]'"
        ) from None


def on_store(address: str, work: Callable[["Store"], Awaitable[T]], *, create: bool = False) -> T:
    """Do a piece of work on the store at an address, beside a service that may be running on it."""
    with needing_the_extra():
        from privtally.store import open_store

        async def run() -> T:
            store = await open_store(address, create=create)
            try:
                return await work(store)
            finally:
                await store.close()

        return asyncio.run(run())


def on_campaign(address: str, start: str, step: Callable[["Store", "StoredCampaign"], Awaitable[T]]) -> T:
    """The same for the campaign whose id begins so."""

    async def work(store: "Store") -> T:
        from privtally.store.campaigns import find_by_prefix

        return await step(store, await store.read(lambda session: find_by_prefix(session, start)))

    return on_store(address, work)


_PUBLIC = re.compile(r"(https://[^\s/?#@]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?)/?")


def _check_public_url(url: str | None) -> str | None:
    """Refuse an address under which the survey page would not work."""
    if url is not None and not _PUBLIC.fullmatch(url):
        raise ServiceError(
            "--public-url must be https://HOST or https://HOST:PORT without a path, since the survey page asks nothing"
            " over plain http (but from localhost)"
        )
    return url


PublicUrlOption = Annotated[
    str | None,
    Option(
        envvar="PRIVTALLY_PUBLIC_URL",
        metavar="URL",
        help="The address that participants use, for links: https://HOST, without a path.",
        callback=_check_public_url,
    ),
]


def serve(
    store: StoreOption = USUAL_STORE,
    host: Annotated[
        str, Option(envvar="PRIVTALLY_HOST", metavar="HOST", help="The address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        Option(
            envvar="PRIVTALLY_PORT",
            metavar="N",
            help="The port; 0 for any that is free.",
            callback=within(0, 65_535),
        ),
    ] = 8765,
    public_url: PublicUrlOption = None,
    new_token: Annotated[
        bool, Option("--new-token", help="Issue a new administrator's token; the one before stops working.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Run surveys in a browser: serve their pages, collect reports and show results, until interrupted.

    The first start shows the administrator's token, once. Standard error has one JSON object a line, and only if
    something is wrong; no line has an address, a token or what somebody sent. Put a server that speaks TLS in front of
    it. It needs the extra serve.
    """
    with needing_the_extra():
        from privtally.lab.advise import recommend
        from privtally.service.app import serve
        from privtally.service.pages.rendering import Setup

    def tell(started: "Started") -> None:
        line = "The administrator's token is the one that was shown before; --new-token issues another."
        if started.admin_token is not None:
            line = f"{SHOWN_ONCE}: {started.admin_token}"
        say(started, f"Listening on {started.url}; open it in a browser\n{line}", json=json)
        out.file.flush()

    asyncio.run(serve(store, host, port, tell, Setup(recommend, public_url), new_token=new_token))


def submit(
    url: Annotated[
        str,
        Option(metavar="URL", help="The link to the survey: https://HOST/s/ID, with # and the token if it has one."),
    ],
    record: Annotated[
        Path, Option(metavar="FILE", help="Your answers: a JSON object of questions and answers; - is standard input.")
    ],
    ledger: Annotated[
        Path | None,
        Option(envvar="PRIVTALLY_LEDGER", metavar="FILE", help="The file that keeps your reports, never your answers."),
    ] = None,
    most_epsilon: Annotated[float, Option(metavar="NUMBER", help="The largest budget that you agree to.")] = 4.0,
    device_cap: Annotated[
        float | None,
        Option(
            envvar="PRIVTALLY_DEVICE_CAP",
            metavar="NUMBER",
            help="The largest budget over all surveys in the ledger; no limit unless given.",
        ),
    ] = None,
    token: Annotated[
        str | None,
        Option(envvar="PRIVTALLY_TOKEN", metavar="TEXT", help="Your participation token, if it is not in the link."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Answer a survey: your answers become private on this machine, and only the report is sent.

    The report is kept in the ledger before it is sent. While the collector does not answer, the same report is sent
    again, 8 times at most; run the command again later to go on. Other users of this machine see options: give a token
    as PRIVTALLY_TOKEN.

    The link pins the survey's questions and its budget. A collector that hands out anything else is refused before your
    answers are used; so is a budget above --most-epsilon, or above --device-cap together with all earlier reports.
    """
    from privtally.cli.render import surer
    from privtally.errors import RecordError
    from privtally.exact import canonical
    from privtally.files import read_bytes
    from privtally.participant.client import Participant, usual_ledger
    from privtally.participant.ledger import given_away, report_to_send, reports_to

    answers = canonical.decode_object(read_bytes(record), RecordError, "the record")
    participant = Participant(url, ledger or usual_ledger(), most_epsilon, token, tell=err.print, device_cap=device_cap)
    before = reports_to(participant.ledger, participant.campaign)
    if report_to_send(participant.ledger, participant.campaign) is None:
        first = participant.first
        err.print(surer(first.epsilon))
        if first.answers > 1:
            err.print(f"This survey may ask you {first.answers} times: ε = {first.answers * first.epsilon:g} in all.")
        spent = given_away(participant.ledger)
        if spent.reports:
            err.print(f"This device has given away ε = {spent.epsilon:f} so far, in {spent.reports} reports.")
    report = participant.answer(answers)
    if report in before:
        err.print("You answered before; that report counts, these answers were not used.")
    say(report, f"Your private report counts. Its id is {report.id}; your answers stayed here.", json=json)
