"""The HTML of a page, made readable on a phone: commands wrap between words, and pictures open in full size."""

import re
from html import unescape

LONG, WIDE = 34, 16
"""A name in code of more characters may be wider than a phone's line, or than a column of a table there."""

_COMMANDS = re.compile(r'<div class="highlight-(?:console|sh)\b.*?</pre>', flags=re.DOTALL)
_WORD = re.compile(r'<span class="w"> *</span>|(?:[^\s<>]|<span class="\w+">[^\s<>]+</span>)+')
_TAG = re.compile("<[^>]*>")
_NAME = re.compile(r'<span class="pre">([^<]*)</span>')
_PICTURE = re.compile(r'<img [^>]*src="([^"]*)"[^>]*>')


def for_narrow_screens(body: str) -> str:
    """The same page; what it says does not change, nor what a reader copies from it."""
    body = _COMMANDS.sub(_command, body)
    body = _NAME.sub(_name, body)
    return _PICTURE.sub(r'<a class="picture" href="\1">\g<0></a>', body)


def _command(found: re.Match[str]) -> str:
    """A block of commands; browsers would break its words after a hyphen."""
    start, mark, text = found[0].partition("<pre>")
    return start + mark + _WORD.sub(_word, text)


def _word(found: re.Match[str]) -> str:
    return f'<span class="word">{found[0]}</span>' if "-" in _TAG.sub("", found[0]) else found[0]


def _name(found: re.Match[str]) -> str:
    size = len(unescape(found[1]))
    kind = " long" if size > LONG else " wide" if size > WIDE else ""
    return f'<span class="pre{kind}">{found[1]}</span>'
