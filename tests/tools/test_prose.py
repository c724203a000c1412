"""Sentences are found and counted; long sentences and words that promise too much fail."""

from pathlib import Path

import pytest
from tools.prose import main, sentences, words

PAGE = """# A heading is no sentence

One two three. Four `five` six
seven! **Eight.** Is it 0.5 of it?

- Nine ten.
- [Eleven twelve](somewhere.md).

```console
$ not a sentence. Not at all.
```

| not | one |
|---|---|

    neither. This.
"""


def verdict(directory: Path, folder: str, text: str) -> int:
    """The exit code for a page in a folder."""
    page = directory / folder / "page.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(text)
    return main([page])


def test_sentences_are_those_of_prose() -> None:
    assert [words(sentence) for sentence in sentences(PAGE)] == [3, 4, 1, 5, 2, 2]


@pytest.mark.parametrize("folder", ["guide", "notes"])
@pytest.mark.parametrize(("length", "code"), [(20, 0), (21, 1)])
def test_a_page_of_long_sentences_fails(tmp_path: Path, folder: str, length: int, code: int) -> None:
    assert verdict(tmp_path, folder, " ".join(["word"] * length) + ".") == code


@pytest.mark.parametrize(
    ("folder", "length", "code"), [("guide", 40, 0), ("guide", 41, 1), ("explanation", 41, 1), ("notes", 41, 0)]
)
def test_pages_for_everybody_have_no_very_long_sentence(tmp_path: Path, folder: str, length: int, code: int) -> None:
    assert verdict(tmp_path, folder, f"Short. Shorter. {'Word ' * length}.") == code


@pytest.mark.parametrize(
    ("text", "everybody", "specialists"),
    [
        ("Your answers stay anonymous.", 1, 1),
        ("| a table | of Anonymity |", 1, 1),
        ('Never say "anonymous".', 0, 0),
        ("See `test_anonymity.py`.", 0, 0),
        ("It is secure.", 1, 0),
        ("First the first phase (Phase I), then the second.", 0, 0),
        ("The paper says Phase I and Phase II.", 0, 0),
        ("Phase I is short. Phase I is cheap.", 1, 0),
    ],
)
def test_some_words_fail(tmp_path: Path, text: str, everybody: int, specialists: int) -> None:
    page = f"A sentence.\n\n{text}\n"
    assert verdict(tmp_path, "guide", page) == everybody
    assert verdict(tmp_path, "reference", page) == specialists


def test_faults_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict(tmp_path, "guide", "It is anonymous.")
    assert "page.md: 'anonymous': say what is hidden" in capsys.readouterr().out
