"""Directed copies: their information, by enumeration, and that it is nowhere below that of even fills."""

import re
from pathlib import Path

import numpy as np
import pytest

from privtally.collector.estimate.inverse import block_diagonal, zero_sum_basis
from privtally.collector.estimate.likelihood import OneWay, WholeReports
from privtally.collector.learn.information import (
    DirectedInformation,
    copy_information,
    directed_copies,
    directed_information,
    group_sizes,
)
from privtally.collector.learn.robust import CANDIDATES, GROUPS, ROUNDING, best_directed
from privtally.documents.plan import Plan
from privtally.exact.probability import nearest_probability
from privtally.privacy.audit import audit
from tests.collector.made_up import copying_plan, squared_scale
from tests.support import expected_counts

FORWARD = np.array([0.0, 0.25, 0.375, 0.75])
BACKWARD = np.array([1.0, 0.75, 0.5, 0.125])
SHAPES = [(2, 3, 2), (3, 2, 3), (3, 4, 2), (4, 2, 2), (5, 2, 3), (5, 3, 2), (4, 4, 3)]


def matrix(stated: DirectedInformation, place: int) -> np.ndarray:
    """What one choice tells of all attributes."""
    return block_diagonal([group[place] for group in stated.groups])


def directed_plan(place: int, attributes: int, size: int, most: int) -> Plan:
    copies = directed_copies(FORWARD[place], BACKWARD[place], nearest_probability(1 / size), attributes, most)
    return copying_plan(copies, size)


@pytest.mark.parametrize(("attributes", "size", "most"), SHAPES)
def test_ways_to_agree_give_what_enumeration_gives(attributes: int, size: int, most: int) -> None:
    stated = directed_information(FORWARD, BACKWARD, attributes, size, most)
    basis = zero_sum_basis((size,) * attributes)
    for place in range(len(FORWARD)):
        plan = directed_plan(place, attributes, size, most)
        (part,) = plan.sampler.parts
        law = plan.sampler.law((0,) * attributes)
        seen = np.array([next(report for report, chance in law.items() if chance)])
        information = WholeReports(part, seen, np.ones(1, dtype=np.int64)).at(np.full(attributes * size, 1 / size))[1]
        wanted = np.kron(matrix(stated, place), np.eye(size - 1)) * squared_scale(plan)
        assert basis.T @ information @ basis == pytest.approx(wanted, abs=1e-8)
        assert stated.pivot_guess[place] == pytest.approx(audit(plan)["pivot_guess"], abs=1e-8)


@pytest.mark.parametrize(("attributes", "size", "most"), [(2, 3, 2), (3, 2, 3), (4, 2, 2), (4, 3, 3)])
def test_one_way_information_is_that_of_the_operator(attributes: int, size: int, most: int) -> None:
    stated = directed_information(FORWARD, BACKWARD, attributes, size, most, whole=False)
    basis, sizes = zero_sum_basis((size,) * attributes), (size,) * attributes
    for place in (1, 2):
        plan = directed_plan(place, attributes, size, most)
        (part,) = plan.sampler.parts
        counts = expected_counts(plan, np.full(sizes, 1 / size**attributes), 10**9)
        information = OneWay(plan, counts, part).at(np.full(attributes * size, 1 / size))[1] / counts.reports
        wanted = np.kron(matrix(stated, place), np.eye(size - 1)) * squared_scale(plan)
        assert basis.T @ information @ basis == pytest.approx(wanted, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("attributes", [3, 4, 5, 6, 8])
@pytest.mark.parametrize("size", [2, 3, 4, 8])
@pytest.mark.parametrize("most", [2, 3])
def test_nothing_is_bet_on(attributes: int, size: int, most: int) -> None:
    """What the rule takes tells at least as much as even fills do in every direction, and more in all together."""
    found = best_directed(attributes, size, most, 1e-9, 1.0, 0.5 + 1e-9, whole=True)
    assert found is not None
    choice, information = found
    even = size / attributes**2
    assert choice.pivot_guess <= 0.5 + 1e-9
    assert np.linalg.eigvalsh(information)[0] >= (1 - 1e-8) * even
    assert np.trace(np.linalg.inv(information)) < 0.9 * attributes / even


def test_four_questions_in_pairs_take_half_the_people() -> None:
    """Half of what even fills need, in every direction, and the pivot is named half the time: any two labels agree or
    not, and either way one of each pair remains. One copy probability for all pairs cannot do that.
    """
    stated = directed_information(np.array([0.0]), np.array([1.0]), 4, 2, 2)
    assert matrix(stated, 0) == pytest.approx(2 * np.eye(4) * 2 / 16)
    assert stated.pivot_guess[0] == pytest.approx(0.5)
    same = copy_information(np.linspace(0, 1, 201), 4, 2)
    assert same is not None
    with np.errstate(divide="ignore"):
        needed = 1 / same.common + 3 / same.contrast
    assert np.min(needed[same.pivot_guess <= 0.5]) > 1.8 * 4 * 4


def test_the_guide_states_what_one_way_saves() -> None:
    """The table in docs/notes/bounds.md."""
    page = (Path(__file__).parents[2] / "docs/notes/bounds.md").read_text()
    rows = re.findall(r"^\| (\d), (\d) \| (.*) \|$", page, re.MULTILINE)
    assert len(rows) == 8
    secret = 0.5 * ROUNDING
    for attributes, size, cells in ((int(row[0]), int(row[1]), row[2]) for row in rows):
        same = copy_information(CANDIDATES, attributes, size)
        assert same is not None
        with np.errstate(divide="ignore"):
            needed = (1 / same.common + (attributes - 1) / same.contrast) / attributes * size
        found = [attributes**2, np.min(needed[same.pivot_guess <= secret])]
        for most in GROUPS:
            taken = best_directed(attributes, size, most, 1e-9, 1.0, secret, whole=True)
            assert taken is not None
            found.append(np.trace(np.linalg.inv(taken[1])) / attributes * size)
        found.append(attributes)
        assert [float(cell) for cell in cells.split(" | ")] == pytest.approx(found, abs=0.051)


def test_groups_share_out_the_attributes() -> None:
    assert group_sizes(5, 2) == [2, 2, 1]
    assert group_sizes(6, 3) == [3, 3]
    copies = directed_copies(0.2, 0.9, 0.5, 5, 3)
    assert copies[0].tolist() == [1.0, 0.2, 0.9, 0.5, 0.5]
    assert copies[2].tolist() == [0.2, 0.9, 1.0, 0.5, 0.5]
    assert copies[3].tolist() == [0.5, 0.5, 0.5, 1.0, 0.2]
    assert copies[4].tolist() == [0.5, 0.5, 0.5, 0.9, 1.0]


def test_many_attributes_are_analysed() -> None:
    """The number of sums grows with the number of groups of a kind, not with the number of reports."""
    stated = directed_information(FORWARD, BACKWARD, 40, 4, 3)
    assert matrix(stated, 0).shape == (40, 40)
    assert (stated.pivot_guess <= 1).all()
    assert (stated.pivot_guess >= 1 / 40).all()
