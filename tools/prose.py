"""How long the sentences of the pages are, and which words they avoid.

The median sentence of a page has at most 20 words. Pages for everybody have no sentence above 40 words, and none of the
words below. Run it as `python -m tools.prose [PAGE …]`.
"""

import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT

MEDIAN, LONG = 20, 40
"""The largest median of a page, and the longest sentence of a page for everybody, in words."""
EVERYBODY = ("tutorial", "guide", "explanation")
SPECIALISTS = ("reference", "notes")
"""Folders of `docs/` by their readers."""
NEVER = {
    r"anonym\w*": "say what is hidden, and from whom: nobody can promise more",
    r"(?:state[- ]of[- ]the[- ]art|cutting[- ]edge|seamless\w*|blazing\w*|effortless\w*)": "give a number",
}
NOT_FOR_EVERYBODY = {
    r"(?:in)?secure(?:ly)?": "say against what",
    r"ε-LDP": "say what a report can make anybody at most how many times surer of",
    r"ingest\w*": "say that people have answered, or that reports were stored",
}
"""Words, and what to do instead. Quoted words, words in brackets and code are left alone."""
ONCE = {"Phase I": "say first phase", "Phase II": "say second phase"}
"""The paper's names, which a page for everybody gives its readers once."""

_CODE = re.compile(r"^```.*?^```|^(?: {4}|\t).*?$|`[^`]*`|<!--.*?-->", flags=re.DOTALL | re.MULTILINE)
_NO_PROSE = re.compile(r"^```.*?^```|^(?: {4}|\t|#|\||!\[|<).*?$", flags=re.DOTALL | re.MULTILINE)
_ASIDE = re.compile(r"\"[^\"]*\"|“[^”]*”|\([^()]*\)")
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+", flags=re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_END = re.compile(r"(?<=[.!?])[)*\"”]*\s+(?=[\"“(*\[]*(?:`|[^\Wa-z]))")
_WORD = re.compile(r"\S*\w\S*")


@dataclass(frozen=True)
class Page:
    """The text of a page, and whether it is for everybody or for specialists."""

    name: str
    text: str
    for_everybody: bool

    @property
    def lengths(self) -> list[int]:
        """Words a sentence."""
        return [words(sentence) for sentence in sentences(self.text)]

    def faults(self) -> Iterator[str]:
        """What a reader stumbles over."""
        if statistics.median(self.lengths) > MEDIAN:
            yield f"the median sentence has more than {MEDIAN} words"
        if self.for_everybody:
            for sentence in sentences(self.text):
                if words(sentence) > LONG:
                    yield f"{words(sentence)} words in a sentence, at most {LONG}: {sentence[:80]}…"
        said = _ASIDE.sub(" ", _LINK.sub(r"\1", _CODE.sub(" ", self.text)))
        for word, instead in (NEVER | NOT_FOR_EVERYBODY if self.for_everybody else NEVER).items():
            for found in re.findall(rf"\b{word}\b", said, flags=re.IGNORECASE):
                yield f"{found!r}: {instead}"
        for name, instead in (ONCE if self.for_everybody else {}).items():
            if len(re.findall(rf"\b{name}\b", said)) > 1:
                yield f"{name!r} more than once: {instead}"


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a page's paragraphs and lists; code, tables, headings and pictures are left out."""
    prose = _LINK.sub(r"\1", _NO_PROSE.sub("\n\n", text))
    paragraphs = re.split(r"\n\s*\n", _ITEM.sub("\n\n", prose))
    found = [sentence for paragraph in paragraphs for sentence in _END.split(" ".join(paragraph.split()))]
    return tuple(sentence for sentence in found if words(sentence))


def words(sentence: str) -> int:
    """How many words a sentence has."""
    return len(_WORD.findall(sentence))


def read(path: Path) -> Page:
    """A page, for the readers of its folder."""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    return Page(name, path.read_text(), path.parent.name in EVERYBODY or path.name == "README.md")


def main(paths: list[Path]) -> int:
    """Print the figures of every page and its faults; the exit code is 1 if there is a fault."""
    pages = [page for page in map(read, paths) if page.lengths]
    print(f"{'page':<40}{'sentences':>10}{'median':>8}{'longest':>9}")
    for page in sorted(pages, key=lambda page: -statistics.median(page.lengths)):
        found = page.lengths
        print(f"{page.name:<40}{len(found):>10}{statistics.median(found):>8g}{max(found):>9}")
    faults = [f"{page.name}: {fault}" for page in pages for fault in page.faults()]
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    given = [Path(argument).resolve() for argument in sys.argv[1:]]
    folders = [ROOT / "docs" / kind for kind in (*EVERYBODY, *SPECIALISTS)]
    sys.exit(main(given or [ROOT / "README.md", *(page for folder in folders for page in sorted(folder.glob("*.md")))]))
