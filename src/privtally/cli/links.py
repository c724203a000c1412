"""Links to surveys, and the address that they start with."""

import re
from typing import Annotated

from typer import Option

from privtally.errors import ServiceError

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


def link_to(campaign: str, public_url: str | None) -> str:
    """The link that participants get; without an address what stands after it."""
    return f"{(public_url or '').rstrip('/')}/s/{campaign}"
