"""How long the sentences of the guide are: the median must not exceed 20 words on any page.

Run it as `python -m tools.prose [PAGE …]`.
"""

import re
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT

MEDIAN, LONG = 20, 40
"""The largest median of a page, in words a sentence, and the length above which a sentence is listed."""
NOT_YET = {"adult.md"}
"""Pages above the bar that wait to be rewritten; take a page out once it is below."""

KINDS = ("tutorial", "guide", "explanation", "notes")
"""The folders of pages that people read."""

_NO_PROSE = re.compile(r"^```.*?^```|^(?: {4}|\t|#|\||!\[|<).*?$", flags=re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+", flags=re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_END = re.compile(r"(?<=[.!?])[)*\"”]*\s+(?=[\"“(*\[]*(?:`|[^\Wa-z]))")
_WORD = re.compile(r"\S*\w\S*")


@dataclass(frozen=True)
class Page:
    """The sentences of a page."""

    name: str
    sentences: tuple[str, ...]

    @property
    def median(self) -> float:
        """Words a sentence."""
        return statistics.median(words(sentence) for sentence in self.sentences)

    @property
    def long(self) -> list[str]:
        """Sentences that a reader reads twice."""
        return [sentence for sentence in self.sentences if words(sentence) > LONG]


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a page's paragraphs and lists; code, tables, headings and pictures are left out."""
    prose = _LINK.sub(r"\1", _NO_PROSE.sub("\n\n", text))
    paragraphs = re.split(r"\n\s*\n", _ITEM.sub("\n\n", prose))
    found = [sentence for paragraph in paragraphs for sentence in _END.split(" ".join(paragraph.split()))]
    return tuple(sentence for sentence in found if words(sentence))


def words(sentence: str) -> int:
    """How many words a sentence has."""
    return len(_WORD.findall(sentence))


def main(paths: list[Path]) -> int:
    """Print the figures of every page; the exit code is 1 if a median is above the bar."""
    pages = [Page(path.name, sentences(path.read_text())) for path in paths]
    pages = [page for page in pages if page.sentences]
    for page in pages:
        for sentence in page.long:
            print(f"{page.name}: {words(sentence)} words: {sentence[:80]}…")
    print(f"{'page':<24}{'sentences':>10}{'median':>8}{'above ' + str(LONG):>10}")
    for page in sorted(pages, key=lambda page: -page.median):
        print(f"{page.name:<24}{len(page.sentences):>10}{page.median:>8g}{len(page.long):>10}")
    above = [page.name for page in pages if page.median > MEDIAN and page.name not in NOT_YET]
    if above:
        print(f"The median sentence has more than {MEDIAN} words on: {', '.join(above)}")
    return 1 if above else 0


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]]
    pages = [page for kind in KINDS for page in sorted((ROOT / "docs" / kind).glob("*.md"))]
    sys.exit(main(given or [ROOT / "README.md", *pages]))
