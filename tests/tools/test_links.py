"""A link to a file or a heading that is not there is found; what is no link is left alone."""

from pathlib import Path

import pytest
from tools.links import anchors, faults

TARGET = """# One `code` page: it's here

## Twice
## Twice

(by-hand)=
```
# no heading
```
"""


@pytest.mark.parametrize(
    ("link", "sound"),
    [
        ("[x](target.md)", True),
        ("[x](missing.md)", False),
        ("[x](target.md#one-code-page-its-here)", True),
        ("[x](target.md#twice-1)", True),
        ("[x](target.md#twice-2)", False),
        ("[x](target.md#by-hand)", True),
        ("[x](target.md#no-heading)", False),
        ("[x](#own)", True),
        ("[x](#other)", False),
        ("![a picture](missing.png)", False),
        ('<img src="missing.png">', False),
        ("`[x](missing.md)`", True),
        ("[x](https://example.org/missing.md)", True),
        ("[x](mailto:somebody@example.org)", True),
    ],
)
def test_a_link_leads_somewhere_or_is_named(tmp_path: Path, link: str, sound: bool) -> None:
    (tmp_path / "target.md").write_text(TARGET)
    page = tmp_path / "page.md"
    page.write_text(f"# Own\n\n{link}\n")
    anchors.cache_clear()
    assert (faults(page) == []) == sound
