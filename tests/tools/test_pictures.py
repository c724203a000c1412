"""The documentation's pictures: what is drawn is what privtally computes."""

import math
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from privtally.cli.run import demo
from privtally.files import read_schema
from privtally.lab.advise import recommend

pytest.importorskip("matplotlib")

from tools.pictures import BUDGETS, PEOPLE, SCHEMA, Errors, draw_errors, expected_errors, main

from tests.plots.pixels import MOST_DIFFERING, differing

MAKEFILE = Path(__file__).parents[2] / "Makefile"
IMAGES = Path(__file__).parents[2] / "docs/images"


@pytest.fixture(scope="module")
def errors() -> Errors:
    return expected_errors(read_schema(SCHEMA))


def test_the_picture_of_errors_shows_what_advice_expects(errors: Errors) -> None:
    lines = draw_errors(errors).axes[0].get_lines()
    shown = np.array([line.get_xydata() for line in lines])
    assert shown.shape == (len(BUDGETS), len(PEOPLE), 2)
    assert (np.diff(shown[:, 1:, 1], axis=1) < 0).all()  # more people, a smaller error; 100 may say nothing
    assert (np.diff(shown[:, 1:, 1], axis=0) < 0).all()  # a larger budget, a smaller error
    assert shown[1, 4].tolist() == [10_000, recommend(read_schema(SCHEMA), 1, 10_000).points]


def test_the_committed_picture_of_errors_is_what_the_tool_draws(
    errors: Errors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.pictures.expected_errors", lambda _: errors)
    main(tmp_path)
    assert differing(tmp_path / "error-by-people.png", IMAGES / "error-by-people.png") <= MOST_DIFFERING


@pytest.mark.parametrize(("seed", "same"), [(1, True), (2, False)])
def test_the_committed_picture_of_the_demo_is_that_of_the_seed_in_the_makefile(
    seed: int, same: bool, tmp_path: Path
) -> None:
    assert "privtally demo --seed 1 --plot docs/images/demo.png" in MAKEFILE.read_text()
    demo(plot=tmp_path / "demo.png", seed=seed)
    assert (differing(tmp_path / "demo.png", IMAGES / "demo.png") <= MOST_DIFFERING) == same


def test_pictures_load_fast() -> None:
    assert [path.name for path in IMAGES.iterdir() if path.stat().st_size > 200_000] == []


@pytest.mark.parametrize("name", ["two-phases", "one-report", "where-answers-go"])
def test_a_drawing_says_in_words_what_it_shows_and_brings_its_own_background(name: str) -> None:
    root = ET.fromstring((IMAGES / f"{name}.svg").read_text())
    space = {"svg": "http://www.w3.org/2000/svg"}
    for part in ("title", "desc"):
        found = root.find(f"svg:{part}", space)
        assert found is not None
        assert found.text
        assert found.get("id") in root.get("aria-labelledby", "").split()
    width, height = root.get("viewBox", "").split()[2:]
    first = root.find("svg:rect", space)
    assert first is not None
    assert (first.get("width"), first.get("height"), first.get("fill")) == (width, height, "#ffffff")


def test_the_number_in_the_drawing_of_a_report_is_that_of_randomized_response() -> None:
    kept = math.exp(2) / (math.exp(2) + 4 - 1)
    drawn = " ".join(ET.fromstring((IMAGES / "one-report.svg").read_text()).itertext())
    assert " ".join(f"At ε = 2 it stays {100 * kept:.0f} times in 100".split()) in " ".join(drawn.split())
