"""Links between the pages of this repository: every file that one names is there, and every heading.

Run it as `python -m tools.links`. It needs no network: links to other sites are not followed.
"""

import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tools import ROOT

_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", flags=re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(<?([^)\s>]+)[^)]*\)|(?:src|href)=\"([^\"]+)\"")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", flags=re.MULTILINE)
_NAMED = re.compile(r"^\(([\w-]+)\)=$|id=\"([\w-]+)\"", flags=re.MULTILINE)
_SHOWS = re.compile(r"^This page of the site shows \[.*\]\((.+)\)\.$", flags=re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z][a-z+.-]*:", flags=re.IGNORECASE)


def pages() -> list[Path]:
    """Every page of prose that a reader can come to."""
    return [*sorted(ROOT.glob("*.md")), *(page for room in ("docs", "deploy", "src") for page in _within(ROOT / room))]


def faults(page: Path) -> list[str]:
    """Links of a page that lead nowhere."""
    found = [one or other for one, other in _LINK.findall(_CODE.sub("", page.read_text()))]
    return [link for link in found if not _ELSEWHERE.match(link) and not _leads_somewhere(page, link)]


def _leads_somewhere(page: Path, link: str) -> bool:
    name, _, heading = link.partition("#")
    target = page.parent / name if name else page
    if not target.exists():
        return False
    return not heading or target.suffix != ".md" or heading in anchors(target)


@cache
def anchors(page: Path) -> frozenset[str]:
    """What a link may name behind `#`: headings as GitHub and MyST spell them, and names given by hand."""
    shown = _SHOWS.search(page.read_text())
    if shown:
        return anchors(page.parent / shown[1])
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = [_slug(heading) for heading in _HEADING.findall(text)]
    again = [
        f"{slug}-{headings[:place].count(slug)}" for place, slug in enumerate(headings) if slug in headings[:place]
    ]
    return frozenset([*headings, *again, *(one or other for one, other in _NAMED.findall(text))])


def _slug(heading: str) -> str:
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")


def _within(folder: Path) -> Iterable[Path]:
    return sorted(folder.rglob("*.md"))


def main() -> int:
    """Print links that lead nowhere; the exit code is 1 if there are any."""
    every = {page: faults(page) for page in pages()}
    for page, found in every.items():
        for link in found:
            print(f"{page.relative_to(ROOT)} links to {link}, which is not there")
    print(f"{len(every)} pages, {sum(map(len, every.values()))} links that lead nowhere")
    return 1 if any(every.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
