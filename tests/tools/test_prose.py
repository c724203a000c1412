"""Sentences are found and counted; pages above the bar fail."""

from pathlib import Path

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


def test_sentences_are_those_of_prose() -> None:
    assert [words(sentence) for sentence in sentences(PAGE)] == [3, 4, 1, 5, 2, 2]


def test_a_page_of_long_sentences_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for length, code in ((20, 0), (21, 1)):
        page.write_text(" ".join(["word"] * length) + ".")
        assert main([page]) == code
