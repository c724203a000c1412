"""The bound on guessing which attributes were asked: kept by every mechanism that learns, for both observers."""

from fractions import Fraction
from functools import cache
from itertools import product

import msgspec
import numpy as np
import pytest

from privtally.collector.estimate import History
from privtally.collector.learn import learn
from privtally.collector.tally import count
from privtally.documents.observer import KnowsTotals
from privtally.documents.plan import Plan, load_plan
from privtally.errors import LearningError, PlanError
from privtally.mechanisms.fills import CopyFill, RowFill, UniformFill
from privtally.names import MechanismName, Observer
from privtally.privacy.audit import audit
from privtally.privacy.certificate import certify, dump_certificate
from privtally.privacy.verify import verify
from tests.collector.made_up import answered_independently, simulated
from tests.support import first_plan, known_totals, largest_guess

LEARNING: tuple[MechanismName, ...] = ("rs-rfd", "corr-rr", "cond-rr")
OBSERVERS: tuple[Observer, ...] = ("knows-nothing", "knows-totals")
SKEWED = np.array([0.7, 0.2, 0.1])


@cache
def started(mechanism: MechanismName, attributes: int = 3, *, groups: bool = False) -> tuple[tuple[Plan, object], ...]:
    """A first phase of people whose answers differ much in frequency and go together."""
    named = [["q0", "q1"], [f"q{own}" for own in range(2, attributes)]] if groups else None
    plan = first_plan((3,) * attributes, 4.0, mechanism, groups=named)
    law = np.zeros((3,) * attributes)
    for codes in product(range(3), repeat=attributes):
        law[codes] = 0.3 * np.prod(SKEWED[list(codes)]) + 0.7 * SKEWED[codes[0]] * (len(set(codes)) == 1)
    return ((plan, simulated(plan, law, 4_000, np.random.default_rng(1))),)


def history_of(mechanism: MechanismName, attributes: int = 3, *, groups: bool = False) -> History:
    return list(started(mechanism, attributes, groups=groups))  # type: ignore[arg-type]


def stated(plan: Plan) -> float:
    assert plan.learned is not None
    assert isinstance(plan.learned.pivot_guess, float)
    return plan.learned.pivot_guess


@pytest.mark.parametrize("observer", OBSERVERS)
@pytest.mark.parametrize("mechanism", LEARNING)
@pytest.mark.parametrize("most", [0.4, 0.5, 0.6, 1.0])
def test_the_exact_guess_keeps_to_the_bound(mechanism: MechanismName, most: float, observer: Observer) -> None:
    if mechanism == "corr-rr" and observer == "knows-totals":
        most = max(most, 0.5)  # copies hide less from those who know the totals
    plan = learn(history_of(mechanism), max_pivot_guess=most, observer=observer)
    exact = largest_guess(plan, known_totals(plan))
    assert exact <= Fraction(most) * (1 + Fraction(mechanism == "corr-rr", 10**9))
    assert stated(plan) == pytest.approx(float(exact), rel=1e-9)
    assert (known_totals(plan) is None) == (observer == "knows-nothing")


@pytest.mark.parametrize("observer", OBSERVERS)
@pytest.mark.parametrize("mechanism", LEARNING)
def test_it_is_kept_in_every_group(mechanism: MechanismName, observer: Observer) -> None:
    plan = learn(history_of(mechanism, 5, groups=True), max_pivot_guess=0.65, observer=observer)
    exact = largest_guess(plan, known_totals(plan))
    assert exact <= Fraction(0.65) * (1 + Fraction(1, 10**9))
    assert stated(plan) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("mechanism", ["rs-rfd", "cond-rr"])
def test_a_bound_that_binds_is_used(mechanism: MechanismName) -> None:
    """Fills are mixed no more than needed, and not at all where they keep to the bound."""
    free = learn(history_of(mechanism), max_pivot_guess=1.0)
    assert stated(free) > 0.45
    assert stated(learn(history_of(mechanism), max_pivot_guess=0.4)) == pytest.approx(0.4, abs=1e-5)
    assert learn(history_of(mechanism), max_pivot_guess=stated(free)).parts == free.parts


@pytest.mark.parametrize("observer", OBSERVERS)
@pytest.mark.parametrize("mechanism", ["rs-rfd", "cond-rr"])
@pytest.mark.parametrize("attributes", [2, 3])
def test_the_blind_guess_can_be_had(mechanism: MechanismName, attributes: int, observer: Observer) -> None:
    """Of two attributes of three labels too, whose even rows no multiples of 2^-32 make."""
    plan = learn(history_of(mechanism, attributes), max_pivot_guess=1 / attributes, observer=observer)
    exact = largest_guess(plan, known_totals(plan))
    assert 1 / attributes <= exact <= 1 / attributes * (1 + 1e-8)


def test_rows_go_where_private_answers_lie() -> None:
    """To one who knows nothing even rows say nothing, to one who knows the totals those of private answers do."""
    for observer, even in (("knows-nothing", True), ("knows-totals", False)):
        plan = learn(history_of("rs-rfd"), max_pivot_guess=0.3334, observer=observer)  # type: ignore[arg-type]
        (part,) = plan.parts
        assert isinstance(part.fill, RowFill)
        assert (max(part.fill.rows[0]) < 0.34) == even
        known = known_totals(plan)
        if known is not None:
            private = plan.sampler.parts[0].asked[0].push(np.array(known[0], dtype=float))
            assert part.fill.rows[0] == pytest.approx(private, abs=0.01)


def test_without_a_bound_it_is_one_half_or_the_guess_of_even_fills() -> None:
    for mechanism in LEARNING:
        assert largest_guess(learn(history_of(mechanism))) <= 0.5 * (1 + 1e-9)
    plan = learn(history_of("corr-rr", 2), observer="knows-totals")
    even = CopyFill(((1.0, 0.3333333332557231), (0.3333333332557231, 1.0)))
    evenly = msgspec.structs.replace(plan, parts=(msgspec.structs.replace(plan.parts[0], fill=even),))
    assert 0.5 < largest_guess(plan, known_totals(plan)) <= largest_guess(evenly, known_totals(plan)) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("mechanism", "observer", "most", "least"),
    [
        *((mechanism, observer, 0.3, "0.3334") for mechanism in ("rs-rfd", "cond-rr") for observer in OBSERVERS),
        ("corr-rr", "knows-nothing", 0.3, "0.3334"),
        ("corr-rr", "knows-totals", 0.3, "0."),
    ],
)
def test_less_than_can_be_had_is_refused_with_the_least(
    mechanism: MechanismName, observer: Observer, most: float, least: str
) -> None:
    with pytest.raises(LearningError, match="at least") as refused:
        learn(history_of(mechanism), max_pivot_guess=most, observer=observer)
    named = str(refused.value).rsplit(maxsplit=1)[-1]
    assert named.startswith(least)
    kept = learn(history_of(mechanism), max_pivot_guess=float(named), observer=observer)
    assert stated(kept) <= float(named)


def test_the_least_of_several_groups_is_the_largest_of_theirs() -> None:
    with pytest.raises(LearningError) as refused:
        learn(history_of("rs-rfd", 5, groups=True), max_pivot_guess=0.2)
    assert str(refused.value).endswith("0.5")


@pytest.mark.parametrize(("pivots", "least"), [(1, "0.25"), (2, "0.1667")])
def test_a_refusal_speaks_of_as_many_questions_as_are_asked(pivots: int, least: str) -> None:
    with pytest.raises(LearningError, match="max_pivot_guess") as refused:
        learn(history_of("rs-rfd", 4), pivots=pivots, max_pivot_guess=0.1)
    assert str(refused.value).endswith(least)
    assert ("questions" in str(refused.value)) == (pivots > 1)


def test_parts_too_large_to_enumerate_keep_to_it_by_their_bound() -> None:
    sizes = (4,) * 10
    plan = first_plan(sizes, 8.0, "cond-rr")
    law = [np.array([0.6, 0.2, 0.1, 0.1])] * 10
    second = learn([(plan, answered_independently(plan, law, 2_000))], max_pivot_guess=0.3, observer="knows-totals")
    assert 0.1 < stated(second) <= 0.3
    found = audit(second)
    assert found["pivot_guess"] == pytest.approx(stated(second))
    assert not found["pivot_guess_exact"]


def test_a_plan_states_its_observer_and_the_audit_takes_that_one() -> None:
    plan = learn(history_of("cond-rr"), max_pivot_guess=0.4, observer="knows-totals")
    assert load_plan(plan.dump()) == plan
    found = audit(plan)
    assert found["observer"] == "knows-totals"
    assert found["pivot_guess"] == pytest.approx(stated(plan), rel=1e-9)
    verify(plan.dump(), dump_certificate(certify(plan)))
    usual = learn(history_of("cond-rr"), max_pivot_guess=0.4)
    assert b"observer" not in usual.dump()
    assert audit(usual)["observer"] == "knows-nothing"


@pytest.mark.parametrize("totals", [((0.5, 0.5),), ((0.5, 0.5, 0.5),) * 3, ((0.1, 0.4, 0.5),) * 3])
def test_totals_that_do_not_fit_are_refused(totals: tuple[tuple[float, ...], ...]) -> None:
    plan = learn(history_of("rs-rfd"), observer="knows-totals")
    assert plan.learned is not None
    with pytest.raises(PlanError):
        msgspec.structs.replace(plan, learned=msgspec.structs.replace(plan.learned, observer=KnowsTotals(totals)))


def test_an_observer_who_is_none_is_refused() -> None:
    with pytest.raises(LearningError, match="observer"):
        learn(history_of("rs-rfd"), observer="knows-all")  # type: ignore[arg-type]


@pytest.mark.parametrize("most", [None, 0.4])
def test_copies_whose_guess_cannot_be_bounded_are_not_taken(most: float | None) -> None:
    """Private codes of 300 labels are too many to say how often copies name the pivot; even fills name it blindly."""
    first = first_plan((300,) * 3, 2.0, "corr-rr")
    codes = np.random.default_rng(3).choice(300, (3_000, 3)).astype(np.uint16)
    plan = learn([(first, count(first, codes))], people=20_000, max_pivot_guess=most)
    assert [part.fill for part in plan.parts] == [UniformFill()]
    assert stated(plan) == pytest.approx(1 / 3, rel=0.02)


def test_rows_of_any_size_are_bounded_with_several_pivots() -> None:
    first = first_plan((300,) * 4, 4.0, "rs-rfd")
    codes = np.random.default_rng(3).choice(300, (3_000, 4)).astype(np.uint16)
    plan = learn([(first, count(first, codes))], people=20_000, pivots=2, max_pivot_guess=0.3)
    assert 1 / 6 <= stated(plan) <= 0.3
    assert len(plan.parts[0].fill.rows) == 4  # type: ignore[union-attr]
