"""Refusals as RFC 9457 problem documents, each kind with a name that never changes, and bodies of requests."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from litestar import Request, Response
from litestar.datastructures import MutableScopeHeaders
from litestar.exceptions import HTTPException
from litestar.types import Message, Scope

from privtally.errors import (
    CampaignError,
    EstimateError,
    FailedEstimateError,
    LearningError,
    PrivtallyError,
    UnavailableError,
    UnknownCampaignError,
)
from privtally.store.session import log_defect

AnyRequest = Request[Any, Any, Any]


async def name_all_methods(message: Message, scope: Scope) -> None:
    """Name every method of the path in the answer to OPTIONS; the framework names those it was told of first."""
    if scope.get("method") != "OPTIONS" or message["type"] != "http.response.start" or "path_template" not in scope:
        return
    methods = {
        method
        for route in scope["litestar_app"].routes
        if route.path_format == scope["path_template"]
        for method in getattr(route, "methods", ())
    }
    MutableScopeHeaders.from_message(message)["Allow"] = ", ".join(sorted(methods))


MEDIA_TYPE = "application/problem+json"
_RENAMED = {413: "request-entity-too-large", 414: "request-uri-too-long", 422: "unprocessable-entity"}
"""The names of statuses that Python 3.13 calls otherwise: what a client reads must not depend on it."""
RETRY_SECONDS = 2
_LOG = logging.getLogger("privtally")


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """A problem document; `type` is a URN that programs may compare."""

    type: str
    title: str
    status: int
    detail: str | None = None


class ProblemError(Exception):
    """A refusal with a name of its own."""

    def __init__(self, status: HTTPStatus, name: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.name, self.detail, self.headers = status, name, detail, dict(headers or {})


REFUSALS: Mapping[type[PrivtallyError], tuple[HTTPStatus, str]] = {
    UnknownCampaignError: (HTTPStatus.NOT_FOUND, "unknown-campaign"),
    UnavailableError: (HTTPStatus.SERVICE_UNAVAILABLE, "unavailable"),
    CampaignError: (HTTPStatus.CONFLICT, "wrong-step"),
    LearningError: (HTTPStatus.CONFLICT, "cannot-learn"),
    FailedEstimateError: (HTTPStatus.INTERNAL_SERVER_ERROR, "defect"),
    EstimateError: (HTTPStatus.CONFLICT, "cannot-estimate"),
    PrivtallyError: (HTTPStatus.BAD_REQUEST, "invalid-request"),
}
"""What each refusal of the library is over HTTP; the first that fits."""


def problem(
    status: HTTPStatus, name: str, detail: str | None, headers: Mapping[str, str] | None = None
) -> Response[Any]:
    """A response that holds a problem document."""
    extra = {"X-Content-Type-Options": "nosniff"}
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        extra["Retry-After"] = str(RETRY_SECONDS)
    body = Problem(f"urn:privtally:{name}", name.replace("-", " ").capitalize(), status, detail)
    return Response(
        msgspec.json.encode(body), status_code=status, media_type=MEDIA_TYPE, headers={**extra, **(headers or {})}
    )


def refuse(_: AnyRequest, fault: Exception) -> Response[Any]:
    """The problem document of a refusal, whoever refused."""
    match fault:
        case ProblemError():
            return problem(fault.status, fault.name, fault.detail, fault.headers)
        case UnavailableError():
            _LOG.warning("unavailable", extra={"cause": type(fault.__cause__).__name__})
            return problem(*REFUSALS[UnavailableError], "Nothing was stored; try again in a moment.")
        case PrivtallyError():
            status, name = next(refusal for kind, refusal in REFUSALS.items() if isinstance(fault, kind))
            return problem(status, name, str(fault))
        case HTTPException() if fault.status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
            status = HTTPStatus(fault.status_code)
            return problem(status, _RENAMED.get(status) or status.phrase.lower().replace(" ", "-"), None, fault.headers)
    log_defect(fault)
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "defect", None)


FORM = "application/x-www-form-urlencoded"
MOST_FORM_BYTES = 1 << 13
"""The largest form that is read, but for that of a survey's questions."""
MOST_FIELDS = 1_000


async def read_body(request: AnyRequest, *kinds: str) -> tuple[str, bytes]:
    """The media type and the bytes of a body; refused unread if it is compressed or of no kind that is named."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "compressed", "Send it without compressing it.")
    kind = request.content_type[0]
    if kind not in kinds:
        detail = f"Send {' or '.join(kinds)}."
        raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "wrong-media-type", detail)
    return kind, await request.body()


async def read_form(request: AnyRequest) -> dict[str, str]:
    """The fields of a form; they are counted before any of them is read."""
    _, body = await read_body(request, FORM)
    try:
        return dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        detail = f"Send at most {MOST_FIELDS:,} fields."
        raise ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-many-fields", detail) from None
