"""Links between files of the repository, as links between pages of the site."""

import os
import re
from pathlib import Path

from tools import ROOT

SHOWN = {
    "project/changes": "CHANGELOG.md",
    "project/conduct": "CODE_OF_CONDUCT.md",
    "project/contributing": "CONTRIBUTING.md",
    "project/deploy": "deploy/README.md",
    "project/readme": "README.md",
    "project/security": "SECURITY.md",
    "project/third-party": "THIRD_PARTY.md",
    "project/vision": "VISION.md",
}
"""Pages of the site that show a file from outside `docs/`."""

_PAGE_OF = {(ROOT / file).resolve(): page for page, file in SHOWN.items()}
_INLINE = re.compile(
    r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]"
    r"\((?P<target>[^()\s#]+)(?P<anchor>#[^()\s]*)?\)"
)
_FENCED = re.compile(r"(^```.*?^```$)", flags=re.DOTALL | re.MULTILINE)


def with_links_of_the_site(text: str, file: Path, page: str) -> str:
    """The Markdown of a file with its links rewritten for the page that shows it; code is left alone."""
    pieces = _FENCED.split(text)
    return "".join(piece if piece.startswith("```") else _rewritten(piece, file, page) for piece in pieces)


def _rewritten(text: str, file: Path, page: str) -> str:
    def link(found: re.Match[str]) -> str:
        target = (file.parent / found["target"]).resolve()
        if "://" in found["target"] or not target.exists():
            return found[0]
        if target.is_dir() and not (target / "index.md").exists():
            return found["text"]  # a folder of code has no page
        return f"{found['image']}[{found['text']}]({_place(target, page)}{found['anchor'] or ''})"

    return _INLINE.sub(link, text)


def _place(target: Path, page: str) -> str:
    if target in _PAGE_OF:
        target = ROOT / "docs" / f"{_PAGE_OF[target]}.md"
    elif target.is_dir():
        target /= "index.md"
    return Path(os.path.relpath(target, (ROOT / "docs" / page).parent)).as_posix()
