"""Templates -> responses, with headers that let a page load nothing but the service's own files."""

from http import HTTPStatus
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import Response, get
from litestar.datastructures import Cookie
from litestar.enums import MediaType
from litestar.exceptions import NotFoundException
from litestar.params import FromPath
from litestar.response import Redirect

from privtally.schema import NO_ANSWER
from privtally.service.pages.setup import AnyRequest
from privtally.service.pages.words import words_for

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
_ENVIRONMENT.filters["no_answer"] = lambda label, say: say("survey.not_said") if label == NO_ANSWER else label
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_STATIC = {
    f"{name}.{kind}": (files(__package__).joinpath("static", f"{name}.{kind}"), _KINDS[kind])
    for name, kind in (("style", "css"), ("survey", "js"), ("reports", "js"), ("htmx.min", "js"), ("icon", "svg"))
}
_CLIENT = files("privtally").joinpath("client", "privtally.js")


def page(request: AnyRequest, template: str, status: HTTPStatus = HTTPStatus.OK, **values: object) -> Response[str]:
    """A page in the language of whoever asks. It is never kept by a cache."""
    words = words_for(request.headers.get("accept-language", ""))
    content = _ENVIRONMENT.get_template(template).render(
        words=words, say=words.say, number=words.number, percent=words.percent, **values
    )
    headers = {**_NOT_KEPT, "Content-Language": words.language, "Vary": "Accept-Language"}
    return Response(content, status_code=status, media_type=MediaType.HTML, headers=headers)


def to(path: str, cookies: list[Cookie] | None = None) -> Redirect:
    """Lead to another page after a form."""
    return Redirect(path, status_code=303, cookies=cookies)


@get("/static/{name:str}")
async def static(name: FromPath[str]) -> Response[bytes]:
    """A file that pages use."""
    if name not in _STATIC:
        raise NotFoundException
    file, kind = _STATIC[name]
    return Response(file.read_bytes(), media_type=kind, headers={"Cache-Control": "no-cache"})


@get("/client/privtally.js")
async def client() -> Response[bytes]:
    """The module that makes answers private in a browser."""
    return Response(_CLIENT.read_bytes(), media_type="text/javascript", headers={"Cache-Control": "no-cache"})
