"""The HTML of a page, made readable on a phone.

Commands wrap between words. Names such as corr-rr and --top are not broken, paths only after a slash or an underscore.
A picture opens in full size, and `NAME-phone.png` takes its place where there is one.
"""

import re
from html import unescape
from pathlib import PurePosixPath

from tools import ROOT

LONG, WIDE = 34, 16
"""A name in code of more characters may be wider than a phone's line, or than a column of a table there."""

PHONE_PICTURES = sorted((ROOT / "docs" / "images").glob("*-phone.png"))

_COMMANDS = re.compile(r'<div class="highlight-(?:console|sh)\b.*?</pre>', flags=re.DOTALL)
_WORD = re.compile(r'<span class="w"> *</span>|(?:[^\s<>]|<span class="\w+">[^\s<>]+</span>)+')
_TAG = re.compile("<[^>]*>")
_NAME = re.compile(r'<span class="pre">([^<]*)</span>')
_WHOLE = re.compile(
    r"(?<![\w-])(?:--[a-z][a-z0-9-]*|corr-rr|cond-rr|rs-r?fd|\d[\d.]*e-\d+)(?![\w-])(?![^<>]*>)", flags=re.IGNORECASE
)
_BREAK = re.compile(r"(?<=[/_])(?=[^/_])")
_PICTURE = re.compile(r'<img [^>]*src="([^"]*)"[^>]*>')


def for_narrow_screens(body: str) -> str:
    """The same page; what it says does not change, nor what a reader copies from it."""
    body = _COMMANDS.sub(_command, body)
    body = _NAME.sub(_name, body)
    body = _WHOLE.sub(r'<span class="whole">\g<0></span>', body)
    return _PICTURE.sub(_picture, body)


def _command(found: re.Match[str]) -> str:
    """A block of commands; browsers would break its words after a hyphen."""
    start, mark, text = found[0].partition("<pre>")
    return start + mark + _WORD.sub(_word, text)


def _word(found: re.Match[str]) -> str:
    return f'<span class="word">{found[0]}</span>' if "-" in _TAG.sub("", found[0]) else found[0]


def _name(found: re.Match[str]) -> str:
    size = len(unescape(found[1]))
    kind = " long" if size > LONG else " wide" if size > WIDE else ""
    text = _BREAK.sub("<wbr>", found[1]) if kind else found[1]
    return f'<span class="pre{kind}">{text}</span>'


def _picture(found: re.Match[str]) -> str:
    path = PurePosixPath(found[1])
    shown, on_phones = found[0], path.with_name(f"{path.stem}-phone.png")
    if on_phones.name in {own.name for own in PHONE_PICTURES}:
        shown = f'<picture><source media="(max-width: 46em)" srcset="{on_phones}">{shown}</picture>'
    return f'<a class="picture" href="{path}">{shown}</a>'
