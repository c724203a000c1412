"""Bodies of requests, which are read only if they come as what a route takes."""

from http import HTTPStatus
from typing import Any

from litestar import Request

from privtally.service.problems import ProblemError


async def read_body(request: Request[Any, Any, Any], *kinds: str) -> tuple[str, bytes]:
    """The media type and the bytes of a body; refused unread if it is compressed or of no kind that is named."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "compressed", "Send it without compressing it.")
    kind = request.content_type[0]
    if kind not in kinds:
        detail = f"Send {' or '.join(kinds)}."
        raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "wrong-media-type", detail)
    return kind, await request.body()
