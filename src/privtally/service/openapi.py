"""What the OpenAPI document says of bodies that are read strictly, and of refusals."""

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import msgspec
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import (
    Components,
    OpenAPIMediaType,
    OpenAPIResponse,
    OpenAPIType,
    Operation,
    Parameter,
    RequestBody,
    Schema,
    SecurityScheme,
)

from privtally.documents.report import Report
from privtally.service.collector import MEDIA_TYPES
from privtally.service.problems import MEDIA_TYPE, Problem

ONE, MANY = "application/json", "application/x-ndjson"
TOKEN_HEADER = "privtally-token"  # noqa: S105  # the name of a header
ADMIN: list[dict[str, list[str]]] = [{"admin": []}]
EVERYBODY_OR_ADMIN: list[dict[str, list[str]]] = [{}, *ADMIN]
COMPONENTS = Components(
    security_schemes={
        "admin": SecurityScheme(type="http", scheme="bearer", description="The administrator's token."),
    }
)


class LastPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which plan's phase is to end, before another phase or another round; asked again, the same plan follows."""

    plan: str


@dataclass
class _Written(Schema):
    """A schema that msgspec wrote."""

    written: dict[str, Any] = field(default_factory=dict)

    def to_schema(self) -> dict[str, Any]:
        return self.written

    def __hash__(self) -> int:
        return id(self)


def _body(kind: type[Any], *, many: bool = False) -> RequestBody:
    schema = msgspec.json.schema(kind)
    content = {ONE: OpenAPIMediaType(schema=_Written(written=_inlined(schema, schema["$defs"])))}
    if many:
        content[MANY] = OpenAPIMediaType(schema=_Written(written={"type": "string"}))
    return RequestBody(content=content, required=True)


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """A schema with its definitions in their places; none of them refers to itself."""
    if isinstance(schema, dict) and "$ref" in schema:
        return _inlined(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if isinstance(schema, dict):
        return {name: _inlined(value, definitions) for name, value in schema.items() if name != "$defs"}
    return [_inlined(value, definitions) for value in schema] if isinstance(schema, list) else schema


def takes(kind: type[Any]) -> type[Operation]:
    """An operation whose body is one value of a kind."""

    @dataclass
    class Takes(Operation):
        def __post_init__(self) -> None:
            self.request_body = _body(kind)

    return Takes


@dataclass
class TakesReports(Operation):
    """An operation whose body is one report or many."""

    def __post_init__(self) -> None:
        self.request_body = _body(Report, many=True)
        token = Parameter(name=TOKEN_HEADER, param_in="header", schema=Schema(type=OpenAPIType.STRING))
        self.parameters = [*(self.parameters or []), token]


@dataclass
class GivesExport(Operation):
    """An operation that answers with a file of one of several media types."""

    def __post_init__(self) -> None:
        response = (self.responses or {})["200"]
        assert isinstance(response, OpenAPIResponse)
        text = OpenAPIMediaType(schema=_Written(written={"type": "string"}))
        whole = OpenAPIMediaType(schema=_Written(written={"type": "object"}))
        response.content = {kind: whole if kind == ONE else text for kind in MEDIA_TYPES.values()}


NOT_CHANGED = ResponseSpec(None, description="The last plan is the one that is known.")


def refusals(*statuses: int) -> dict[int, ResponseSpec]:
    """Problem documents that a route may answer with; any route may be asked wrongly or be unable to answer."""
    return {
        status: ResponseSpec(
            Problem, generate_examples=False, description=HTTPStatus(status).phrase, media_type=MEDIA_TYPE
        )
        for status in (400, *statuses, 500, 503)
    }


def document(description: str, kind: Any = dict[str, Any]) -> dict[int, ResponseSpec]:
    """A JSON object, or a list of them, whose own format is described elsewhere."""
    return {200: ResponseSpec(kind, generate_examples=False, description=description)}
