"""Colours: every reader tells them apart. The numbers are CIE L*a*b* distances, of which about 2 can just be seen."""

from itertools import combinations

import numpy as np
import pytest

from privtally.exact.types import Floats
from privtally.plots.comparison import METHOD_MARKERS
from privtally.plots.style import BAR, BLACK, BLUE, COLOURS, MECHANISM_STYLES, SERIES, TRUTH
from tests.plots.contrast import contrast

LEAST_CONTRAST, LEAST_DISTANCE, LEAST_IN_GREY = 3.0, 20.0, 6.0
"""WCAG 2's contrast of graphics, and how far two colours and their lightness must be apart."""
EYES = {
    "all colours": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    # Machado, Oliveira and Fernandes 2009, severity 1; in linear light.
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def rgb(colour: str) -> list[float]:
    return [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]


def lab(colour: str, eye: str = "all colours") -> Floats:
    own = np.array(rgb(colour))
    linear = np.where(own <= 0.04045, own / 12.92, ((own + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(EYES[eye]) @ linear, 0, 1)
    x, y, z = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ seen
    ratios = np.array([x / 0.9505, y, z / 1.089])
    f = np.where(ratios > 0.008856, np.cbrt(ratios), 7.787 * ratios + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distances(colours: tuple[str, ...], eye: str) -> list[float]:
    return [float(np.linalg.norm(lab(one, eye) - lab(two, eye))) for one, two in combinations(colours, 2)]


def in_grey(colours: tuple[str, ...]) -> list[float]:
    return [abs(float(lab(one)[0] - lab(two)[0])) for one, two in combinations(colours, 2)]


@pytest.mark.parametrize("eye", EYES)
def test_every_reader_tells_the_colours_apart(eye: str) -> None:
    assert min(distances(COLOURS, eye)) > LEAST_DISTANCE


def test_the_colours_differ_in_grey_and_stand_out_from_white() -> None:
    assert min(in_grey(COLOURS)) > LEAST_IN_GREY
    assert all(contrast(rgb(colour), (1, 1, 1)) > LEAST_CONTRAST for colour in COLOURS)


def test_what_differs_in_colour_differs_otherwise_too() -> None:
    for looks in (list(SERIES), list(MECHANISM_STYLES.values())):
        for key in ("color", "marker", "linestyle"):
            assert len({str(look[key]) for look in looks}) == len(looks)
    methods = {(look["marker"], look.get("markerfacecolor")) for look in METHOD_MARKERS.values()}
    assert len(methods) == len(METHOD_MARKERS)


def test_bars_and_truths_stand_out_by_their_edges() -> None:
    assert contrast(rgb(BLUE), (1, 1, 1)) > LEAST_CONTRAST
    assert contrast(rgb(BLACK), rgb(BAR)) > LEAST_CONTRAST
    assert contrast(rgb(BLACK), rgb(TRUTH)) > LEAST_CONTRAST
