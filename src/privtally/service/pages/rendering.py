"""What all pages are made with: words of two languages, refusals, templates, headers and static files."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from http import HTTPStatus
from importlib.resources import files
from math import floor, log10
from urllib.parse import urlsplit

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import Response, get
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.enums import MediaType
from litestar.exceptions import NotFoundException
from litestar.params import FromPath
from litestar.response import Redirect
from markupsafe import Markup, escape

from privtally.errors import CampaignError
from privtally.exact.rational import rounded_up
from privtally.service.operations import Advise
from privtally.service.problems import AnyRequest

LANGUAGES = ("en", "de")
"""The languages of the catalogue; the first is for everybody else."""
MOST_WANTED = 50
"""How many languages of a header are looked at."""
_THIN_SPACE = "\u202f"


@dataclass(frozen=True)
class Words:
    """One language of the catalogue, and how it writes numbers."""

    language: str
    texts: Mapping[str, str]

    def say(self, key: str, **values: object) -> str:
        """A text of the catalogue with values in their places; numbers are written as this language does.

        With a `count` of 1 the text is that of the key with ".one" after it, where there is one.
        """
        text = self.texts[key]
        if values.get("count") == 1:
            text = self.texts.get(f"{key}.one", text)
        return text.format_map({name: self._written(value) for name, value in values.items()})

    def _written(self, value: object) -> object:
        if type(value) is int:
            return self.number(value)
        return self.decimal(repr(value).removesuffix(".0")) if type(value) is float else value

    def decimal(self, text: str) -> str:
        """The text of numbers with a decimal point, with this language's decimal sign."""
        return text.replace(".", self.texts["bins.decimal"])

    def number(self, value: float, digits: int = 0) -> str:
        """A number with thousands set apart."""
        return self._separated(f"{value:,.{digits}f}")

    def _separated(self, text: str) -> str:
        return text.translate(str.maketrans(",.", ".,")) if self.language == "de" else text

    def percent(self, share: float, digits: int = 0) -> str:
        """A share of 1 in percent."""
        return f"{self.number(100 * share, digits)}{_THIN_SPACE}%"

    def two_digits(self, value: float) -> str:
        """A number with two digits, and all those before the point."""
        return self.number(value, max(1 - floor(log10(value)), 0))

    def at_most(self, value: float) -> str:
        """A bound, rounded up."""
        return self._separated(f"{rounded_up(value):,f}")


@cache
def words_in(language: str) -> Words:
    """The words of one of the `LANGUAGES`."""
    document = files(__package__).joinpath("texts", f"{language}.json").read_bytes()
    return Words(language, msgspec.json.decode(document, type=dict[str, str]))


def words_for(accepted: str) -> Words:
    """The words for an Accept-Language header: of the catalogue's languages the one that is wanted most."""
    accepted_languages: list[tuple[float, str]] = []
    for item in accepted.split(",", MOST_WANTED)[:MOST_WANTED]:
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        language = name.partition("-")[0]
        weights = [part.removeprefix("q=") for part in parameters if part.startswith("q=")]
        if language in LANGUAGES:
            accepted_languages.append((_weight("".join(weights[:1])), language))
    best = max(accepted_languages, key=lambda item: item[0], default=(0.0, LANGUAGES[0]))
    return words_in(best[1] if best[0] > 0 else LANGUAGES[0])


def _weight(text: str) -> float:
    try:
        return float(text) if text else 1.0
    except ValueError:
        return 0.0


class PageRefusalError(CampaignError):
    """A refusal in words of the catalogue."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(words_in(LANGUAGES[0]).say(key, **values))
        self.key, self.values = key, values


def sentence(text: str) -> str:
    """A text that begins and ends as a sentence does."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def why(fault: Exception, words: Words) -> Markup:
    """What a refusal says, marked as English where it is."""
    if isinstance(fault, PageRefusalError):
        return escape(words.say(fault.key, **fault.values))
    return Markup('<span lang="en">{}</span>').format(sentence(str(fault)))


@dataclass(frozen=True)
class Setup:
    """Who gives advice, and where the service is reached if not where a request says."""

    advise: Advise
    public_url: str | None = None

    def base(self, request: AnyRequest) -> str:
        """The address that links to surveys start with."""
        return (self.public_url or f"{request.url.scheme}://{request.url.netloc}").rstrip("/")

    def over_tls(self, request: AnyRequest) -> bool:
        return self.base(request).startswith("https://")

    def is_own(self, request: AnyRequest, origin: str) -> bool:
        """Whether an Origin header names this service."""
        named = origin.partition("://")[2]
        return named != "" and named in {request.headers.get("host"), urlsplit(self.base(request)).netloc}


TheSetup = NamedDependency[Setup]
"""How a route asks for the setup."""


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
    """A page in the language of whoever asks, which is never kept by a cache."""
    words = words_of(request)
    given = {"words": words, "say": words.say, "number": words.number, "percent": words.percent}
    content = _ENVIRONMENT.get_template(template).render(**given, **values)
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
