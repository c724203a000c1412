from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from privtally.errors import PlanError
from privtally.lab.population import seeded
from privtally.mechanisms.fills import AlignedFill, AlignedPair, ByClass, alignment_of, label_by_label, undeclared
from privtally.mechanisms.named import PartPlan
from privtally.schema import Alignment, Attribute, Schema
from tests.support import LABELS, PLANE, part_of, plan_with


def both(first: Attribute, second: Attribute, *alignments: Alignment) -> Schema:
    return Schema((first, second), alignments)


def labels(name: str, letters: str, *, ordered: bool = False, optional: bool = False) -> Attribute:
    return Attribute(name, tuple(letters), ordered=ordered, optional=optional)


def test_the_same_labels_go_together_in_any_order() -> None:
    schema = both(labels("a", "xyz"), labels("b", "zxy"))
    assert alignment_of(schema, 0, 1) == (((0,), (1,)), ((1,), (2,)), ((2,), (0,)))
    assert not label_by_label(schema, (0, 1))
    assert label_by_label(both(labels("a", "xyz"), labels("b", "xyz")), (0, 1))


def test_ordered_labels_are_cut_into_as_many_classes_as_the_shorter_one_has() -> None:
    schema = both(labels("a", "123456789", ordered=True), labels("b", "wxyz", ordered=True))
    classes = alignment_of(schema, 0, 1)
    assert classes == (((0, 1, 2), (0,)), ((3, 4), (1,)), ((5, 6), (2,)), ((7, 8), (3,)))
    for number, (codes, _) in enumerate(classes):
        assert all(code * 4 // 9 == number for code in codes)
    assert alignment_of(schema, 1, 0) == tuple((two, one) for one, two in classes)


@pytest.mark.parametrize("ordered", [(False, False), (True, False), (False, True)])
def test_labels_that_share_nothing_go_with_nothing_unless_both_are_ordered(ordered: tuple[bool, bool]) -> None:
    schema = both(labels("a", "xyz", ordered=ordered[0]), labels("b", "123", ordered=ordered[1]))
    assert alignment_of(schema, 0, 1) is None
    assert not label_by_label(schema, (0, 1))


def test_labels_that_overlap_go_with_nothing_without_a_declaration_or_an_order() -> None:
    assert alignment_of(both(labels("a", "xyz"), labels("b", "xy")), 0, 1) is None
    assert alignment_of(both(labels("a", "xyz", ordered=True), labels("b", "xy", ordered=True)), 0, 1)


def test_labels_that_overlap_are_found_among_many() -> None:
    many = [labels(f"q{own}", "xyz") for own in range(8)]
    assert undeclared(Schema(tuple(many)), range(8)) is None
    assert undeclared(Schema((*many, labels("odd", "uv"))), range(9)) is None
    for odd in (labels("odd", "xy"), labels("odd", "xyw", optional=True)):
        assert undeclared(Schema((*many, odd)), range(9)) == (0, 8)
    alignment = Alignment(({"q0": ("x",), "odd": ("x",)}, {"q0": ("y", "z"), "odd": ("y",)}))
    declared = Schema((*many, labels("odd", "xy")), (alignment,))
    assert undeclared(declared, range(9)) == (1, 8)
    assert undeclared(declared, (0, 8)) is None


def test_a_declaration_comes_first() -> None:
    declared = Alignment(({"a": ("x",), "b": ("z", "y")}, {"a": ("z", "y"), "b": ("x",)}))
    schema = both(labels("a", "xyz", ordered=True), labels("b", "xyz", ordered=True), declared)
    assert alignment_of(schema, 0, 1) == (((0,), (1, 2)), ((1, 2), (0,)))


def test_no_answer_is_a_class_of_its_own() -> None:
    optional = labels("a", "xy", optional=True)
    assert alignment_of(both(optional, labels("b", "xy", optional=True)), 0, 1) == (
        ((0,), (0,)),
        ((1,), (1,)),
        ((2,), (2,)),
    )
    assert alignment_of(both(optional, labels("b", "xy")), 0, 1) == (((0,), (0,)), ((1,), (1,)), ((2,), ()))
    assert alignment_of(both(labels("b", "xy"), optional), 0, 1) == (((0,), (0,)), ((1,), (1,)), ((), (2,)))


def test_where_one_attribute_is_optional_its_no_answer_matches_nothing_and_is_another_class() -> None:
    classes = alignment_of(both(labels("a", "xy", optional=True), labels("b", "xy")), 0, 1)
    assert classes is not None
    pair = AlignedPair.of((0, 1), classes, (0.75, 0.5))
    forward, backward = pair.channel(0), pair.channel(1)
    assert forward is not None
    assert backward is not None
    assert [forward.probability(2, code) for code in range(2)] == [Fraction(1, 2)] * 2
    assert [backward.probability(0, code) for code in range(3)] == [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]


def test_a_label_by_label_match_is_a_copy() -> None:
    channel = ByClass.of((0, 1, 2), (0, 1, 2), 0.625)
    assert [channel.probability(1, code) for code in range(3)] == [Fraction(3, 16), Fraction(5, 8), Fraction(3, 16)]


def test_large_classes_are_drawn_evenly() -> None:
    classes = np.arange(1_000) % 7
    channel = ByClass.of((0, 1, 2, 3, 4, 5, 6), classes.tolist(), 1.0)
    drawn = channel.draw(np.full(50_000, 3, dtype=np.uint8), seeded(1))
    assert set(drawn.tolist()) == set(np.flatnonzero(classes == 3).tolist())
    assert drawn.dtype == np.uint16


PAIR = AlignedPair((0, 1), ((0, 1), (0, 1, 1)), (0.5, 0.25))


def one(**fields: object) -> Callable[[], AlignedFill]:
    given = {"pair": PAIR.pair, "classes": PAIR.classes, "probability": PAIR.probability, **fields}
    return lambda: AlignedFill((AlignedPair(**given),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fill",
    [
        one(pair=(1, 0)),
        one(pair=(0, 2)),
        one(pair=(0, 0)),
        one(classes=((0, 1), (0, 1))),
        one(classes=((0, 1), (0, 1, 3))),
        one(classes=((0, 0), (0, 1, 2))),
        one(classes=((0, -1), (0, -1, 0))),
        one(classes=((0, 1), (2, 2, 2))),
        one(probability=(None, None)),
        one(probability=(0.5, 1.5)),
        one(probability=(1 / 3, None)),
        lambda: AlignedFill((PAIR, PAIR)),
    ],
)
def test_a_fill_that_does_not_fit_is_refused(fill: Callable[[], AlignedFill]) -> None:
    assert plan_with((part_of((0, 1), 1, AlignedFill((PAIR,))),), (2, 3))
    with pytest.raises(PlanError):
        plan_with((part_of((0, 1), 1, fill()),), (2, 3))


def test_a_pivot_whose_codes_are_no_labels_fills_evenly() -> None:
    fill = AlignedFill((AlignedPair((0, 1), ((0, 0, 1, 1), (0, 1, 1)), (0.5, 0.5)),))
    with pytest.raises(PlanError, match="labels"):
        plan_with((PartPlan((0, 1), 1, PLANE + LABELS, 1, fill),), (4, 3))
