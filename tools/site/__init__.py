"""A Sphinx extension: pages that the program writes itself, and pages that show a file from outside `docs/`."""

from pathlib import Path
from shutil import copy
from typing import Any

from sphinx.application import Sphinx

from tools import ROOT
from tools.site.commands import commands_page
from tools.site.docstrings import as_restructured_text
from tools.site.http import http_page
from tools.site.links import SHOWN, with_links_of_the_site
from tools.site.names import names_page
from tools.site.narrow import PHONE_PICTURES, for_narrow_screens

GENERATED = {
    "reference/http-api": http_page,
    "reference/commands": commands_page,
    "reference/python": names_page,
}
"""Pages whose text in `docs/` is an introduction, and what writes the rest."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", _complete)
    app.connect("autodoc-process-docstring", _translate)
    app.connect("html-page-context", _narrow)
    app.connect("build-finished", _add_phone_pictures)
    return {"parallel_read_safe": True}


def _complete(_app: Sphinx, page: str, source: list[str]) -> None:
    if page in SHOWN:
        source[0] = with_links_of_the_site((ROOT / SHOWN[page]).read_text(), ROOT / SHOWN[page], page)
        return
    source[0] = with_links_of_the_site(source[0], ROOT / "docs" / f"{page}.md", page)
    if page in GENERATED:
        source[0] += "\n" + GENERATED[page]()


def _translate(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = as_restructured_text(lines)


def _narrow(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _document: Any) -> None:
    if "body" in context:
        context["body"] = for_narrow_screens(context["body"])


def _add_phone_pictures(app: Sphinx, fault: Exception | None) -> None:
    if fault is None and app.builder.format == "html":
        for picture in PHONE_PICTURES:
            copy(picture, Path(app.outdir) / "_images")
