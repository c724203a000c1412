"""Templates -> responses, with headers that let a page load nothing but the service's own files."""

from functools import cache
from hashlib import sha256
from http import HTTPStatus
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import Response, get
from litestar.datastructures import Cookie
from litestar.enums import MediaType
from litestar.exceptions import NotFoundException
from litestar.params import FromPath
from litestar.response import Redirect

from privtally.service.pages.refusals import why
from privtally.service.pages.setup import AnyRequest
from privtally.service.pages.words import Words, words_for

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_NOT_KEPT = {"Cache-Control": "no-store"}
_ENVIRONMENT = Environment(
    loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_ENVIRONMENT.filters["why"] = why
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_STATIC = ("style.css", "survey.js", "reports.js", "copy.js", "htmx.min.js", "icon.svg")


def words_of(request: AnyRequest) -> Words:
    """The words of the language that a request asks for."""
    return words_for(request.headers.get("accept-language", ""))


def page(request: AnyRequest, template: str, status: HTTPStatus = HTTPStatus.OK, **values: object) -> Response[str]:
    """A page in the language of whoever asks."""
    words = words_of(request)
    return as_page(words, rendered(words, template, **values), status)


def rendered(words: Words, template: str, **values: object) -> str:
    """The text of a page."""
    given = {"words": words, "say": words.say, "number": words.number, "percent": words.percent}
    return _ENVIRONMENT.get_template(template).render(**given, **values)


def as_page(words: Words, content: str, status: HTTPStatus = HTTPStatus.OK) -> Response[str]:
    """A text as a page, which is never kept by a cache."""
    headers = {**_NOT_KEPT, "Content-Language": words.language, "Vary": "Accept-Language"}
    return Response(content, status_code=status, media_type=MediaType.HTML, headers=headers)


def to(path: str, cookies: list[Cookie] | None = None) -> Redirect:
    """Lead to another page after a form."""
    return Redirect(path, status_code=303, cookies=cookies)


def as_file(name: str) -> dict[str, str]:
    """Headers that make a browser save a response, which no cache keeps."""
    return {"Content-Disposition": f'attachment; filename="{name}"', **_NOT_KEPT}


@get("/static/{name:str}")
async def static(name: FromPath[str], request: AnyRequest) -> Response[bytes]:
    """A file that pages use."""
    if name not in _STATIC:
        raise NotFoundException
    return _file(request, "service", "pages", "static", name)


@get("/client/privtally.js")
async def client(request: AnyRequest) -> Response[bytes]:
    """The module that makes answers private in a browser."""
    return _file(request, "client", "privtally.js")


def _file(request: AnyRequest, *path: str) -> Response[bytes]:
    """A file of this package, or the word that a browser has it already."""
    content, tag = _content(*path)
    headers = {"Cache-Control": "no-cache", "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(b"", status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(content, media_type=_KINDS[path[-1].rpartition(".")[2]], headers=headers)


@cache
def _content(*path: str) -> tuple[bytes, str]:
    content = files("privtally").joinpath(*path).read_bytes()
    return content, f'"{sha256(content).hexdigest()}"'
