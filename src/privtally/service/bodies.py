"""Bodies of requests, which are read only if they come as what a route takes."""

from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

from litestar import Request

from privtally.service.problems import ProblemError

FORM = "application/x-www-form-urlencoded"
MOST_FORM_BYTES = 1 << 13
"""The largest form that is read, but for that of a survey's questions."""
MOST_FIELDS = 1_000


async def read_body(request: Request[Any, Any, Any], *kinds: str) -> tuple[str, bytes]:
    """The media type and the bytes of a body; refused unread if it is compressed or of no kind that is named."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "compressed", "Send it without compressing it.")
    kind = request.content_type[0]
    if kind not in kinds:
        detail = f"Send {' or '.join(kinds)}."
        raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "wrong-media-type", detail)
    return kind, await request.body()


async def read_form(request: Request[Any, Any, Any]) -> dict[str, str]:
    """The fields of a form; they are counted before any of them is read."""
    _, body = await read_body(request, FORM)
    try:
        return dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        detail = f"Send at most {MOST_FIELDS:,} fields."
        raise ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-many-fields", detail) from None
