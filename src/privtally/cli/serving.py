"""serve: the collector as a service."""

import asyncio
from typing import TYPE_CHECKING, Annotated

from typer import Option

from privtally.cli.console import out, print_json
from privtally.cli.links import PublicUrlOption
from privtally.cli.options import JsonFlag, within
from privtally.cli.stores import USUAL_STORE, StoreOption, needing_the_extra

if TYPE_CHECKING:
    from privtally.service.serving import Started


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
        from privtally.service.pages import Setup
        from privtally.service.serving import serve

    def tell(started: "Started") -> None:
        if json:
            print_json(started)
        else:
            out.print(f"Listening on {started.url}; open it in a browser")
            if started.admin_token is not None:
                out.print(f"Administrator's token (shown once, keep it): {started.admin_token}")
            else:
                out.print("The administrator's token is the one that was shown before; --new-token issues another.")
        out.file.flush()

    asyncio.run(serve(store, host, port, tell, Setup(recommend, public_url), new_token=new_token))
