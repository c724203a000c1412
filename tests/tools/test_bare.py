"""An answer that leaves a user without the one sentence that helps is a fault."""

import tomllib

import pytest
from tools.bare import NEEDING, sentence_fault
from tools.licences import FOR_MAKERS

from tools import ROOT

SENTENCE = "privtally: pictures need matplotlib; install it with: pip install 'privtally[plot]'\n"


@pytest.mark.parametrize(
    ("code", "said", "sound"),
    [
        (2, SENTENCE, True),
        (0, SENTENCE, False),
        (1, SENTENCE, False),
        (2, "No pictures.\n" + SENTENCE, True),
        (2, SENTENCE + "No pictures.\n", False),
        (2, "Traceback (most recent call last):\n" + SENTENCE, False),
        (2, SENTENCE.replace("plot", "serve"), False),
    ],
)
def test_a_sentence_names_the_extra(code: int, said: str, sound: bool) -> None:
    assert (sentence_fault("plot", code, said) is None) == sound


def test_every_extra_for_users_is_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(NEEDING) == set(project["optional-dependencies"]) - set(FOR_MAKERS)
