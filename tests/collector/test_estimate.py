import json
import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import msgspec
import numpy as np
import pytest

from privtally.collector.estimate import estimate, refusing_numerical_failure
from privtally.collector.learn import learn
from privtally.collector.pairs import estimate_pair, estimate_pairs
from privtally.collector.spread import invert
from privtally.collector.tally import count, nothing
from privtally.documents.counts import Counts
from privtally.documents.estimate import load_estimate
from privtally.documents.plan import Plan
from privtally.errors import CountsError, EstimateError, LearningError
from privtally.lab.population import seeded
from privtally.names import METHODS, MechanismName, Method
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.collector.made_up import (
    campaign,
    copies,
    copying_campaign,
    made_up_law,
    simulated,
    two_pivots,
)
from tests.support import expected_counts, first_plan, later_plan, plan_of, table_fill


def test_several_hidden_pivots_with_tables_are_read_from_whole_reports() -> None:
    plan = two_pivots(table_fill((2, 3, 2), 2, np.random.default_rng(5)))
    counts = simulated(plan, made_up_law((2, 3, 2)), 20_000, np.random.default_rng(4))
    for method in ("unbiased", "likelihood"):
        found = estimate([(plan, counts)], method).attributes["q1"]
        assert np.abs(np.array(found.frequencies) - made_up_law((2, 3, 2)).sum(axis=(0, 2))).max() < 0.05
    pairwise = simulated(plan, made_up_law((2, 3, 2)), 100, np.random.default_rng(4), limit=0)
    with pytest.raises(EstimateError, match="reports"):
        estimate([(plan, pairwise)])


def test_grr_by_hand() -> None:
    """The paper's Section 2.2: f = (c/n − q)/(p − q)."""
    plan = first_plan((3,))
    counts = count(plan, np.array([[0]] * 5 + [[1]] * 3 + [[2]] * 2, dtype=np.uint8))
    p, q = math.e / (math.e + 2), 1 / (math.e + 2)
    expected = [(c / 10 - q) / (p - q) for c in (5, 3, 2)]
    assert estimate([(plan, counts)], "paper").attributes["q0"].frequencies == pytest.approx(expected, abs=1e-12)
    assert estimate([(plan, counts)], "unbiased").attributes["q0"].frequencies == pytest.approx(expected, abs=1e-12)


def test_corr_rr_by_hand() -> None:
    """The paper's Section 3.2: each phase by GRR, weighted by the numbers of people."""
    first = first_plan((2, 2), 1.0, "corr-rr")
    counts_1 = count(first, np.array([[0, 1]] * 6 + [[1, 1]] * 4, dtype=np.uint8))
    second = learn([(first, counts_1)])
    counts_2 = count(second, np.array([[0, 0]] * 20 + [[1, 0]] * 10, dtype=np.uint8))
    q1, q2 = 1 / (math.exp(0.5) + 1), 1 / (math.e + 1)
    one, two = (0.6 - q1) / (1 - 2 * q1), (2 / 3 - q2) / (1 - 2 * q2)
    result = estimate([(second, counts_2), (first, counts_1)], "paper")
    assert result.attributes["q0"].frequencies[0] == pytest.approx((10 * one + 30 * two) / 40, abs=1e-12)
    assert result.biased


def all_alike(plan: Plan, people: int) -> Counts:
    """The counts of people who all have the first label of every attribute."""
    codes = np.zeros((people, len(plan.schema.attributes)), dtype=np.uint16)
    return count(plan, respond_many(plan, Records(plan.schema, codes), seeded(1)).codes)


def test_the_papers_rs_rfd_is_clipped_sums_to_one_and_says_so() -> None:
    plan = plan_of("rs-rfd", (4, 4), epsilon=0.1)
    counts = all_alike(plan, 50)
    raw = estimate([(plan, counts)], "unbiased")
    clipped = estimate([(plan, counts)], "paper")
    assert min(raw.attributes["q0"].frequencies) < 0
    held = np.clip(raw.attributes["q0"].frequencies, 0, 1)
    assert clipped.attributes["q0"].frequencies == pytest.approx(held / held.sum(), abs=1e-12)
    assert clipped.notes
    assert not raw.notes


def test_where_phase_2_is_singular_phase_1_alone_is_used_and_it_says_so() -> None:
    history = copying_campaign(1.0)
    result = estimate(history, "unbiased")
    assert "q0, q1" in result.notes[0]
    assert result.attributes == estimate(history[:1], "unbiased").attributes


def test_where_phase_2_is_nearly_singular_it_says_so_and_gets_little_weight() -> None:
    history = copying_campaign(1 - 2.0**-8)
    result = estimate(history, "unbiased")
    assert len(result.notes) == 1
    assert not estimate(copying_campaign(0.5), "unbiased").notes
    alone = estimate(history[:1], "unbiased").attributes["q0"]
    assert result.attributes["q0"].frequencies == pytest.approx(alone.frequencies, abs=2 * alone.standard_errors[0])


def test_a_singular_phase_2_alone_is_refused() -> None:
    with pytest.raises(EstimateError, match="singular"):
        estimate(copying_campaign(1.0)[1:], "unbiased")


def test_one_attribute_can_be_lost_while_another_is_known() -> None:
    plan = later_plan(first_plan((2, 2, 2), 1.0, "corr-rr"), copies((1.0, 1.0, 0.5), (1.0, 1.0, 0.5), (0.5, 0.5, 1.0)))
    marginals = [np.array([0.3, 0.7]), np.array([0.6, 0.4]), np.array([0.2, 0.8])]
    phase = invert(plan, expected_counts(plan, reduce(np.multiply.outer, marginals), 1e13))
    assert list(phase.known) == [False, False, True]
    assert phase.frequencies[2] == pytest.approx(marginals[2], abs=1e-6)


def total_variance(result: Any, name: str) -> float:
    return float(np.sum(np.square(result.attributes[name].standard_errors)))


@pytest.mark.parametrize("mechanism", ["rs-rfd", "corr-rr", "cond-rr"])
def test_every_further_phase_makes_the_estimate_more_precise(mechanism: MechanismName) -> None:
    """Histories of one, two and three phases; the phases may come in any order."""
    history = campaign(mechanism, 3)
    for phases in (1, 2, 3):
        some = history[:phases]
        for method in METHODS:
            result = estimate(some[::-1], method)
            assert [used.phase for used in result.provenance.phases] == list(range(1, phases + 1))
            assert [used.reports for used in result.provenance.phases] == [counts.reports for _, counts in some]
            assert result.provenance.campaign == history[0][0].digest
        both = estimate(some, "unbiased")
        for phase in some if phases > 1 else []:
            alone = estimate([phase], "unbiased")
            assert all(total_variance(both, name) < total_variance(alone, name) for name in both.attributes)


def test_any_phases_of_a_campaign_may_be_left_out() -> None:
    history = campaign("rs-rfd", 3)
    result = estimate([history[2], history[0]])
    assert [used.phase for used in result.provenance.phases] == [1, 3]


@pytest.mark.parametrize("method", METHODS)
def test_all_three_phases_are_used(method: Method) -> None:
    """Other counts in any one phase give another estimate."""
    history = campaign("cond-rr", 3)
    result = estimate(history, method)
    for changed in range(3):
        plan, counts = history[changed]
        more = counts + count(plan, np.zeros((200, 2), dtype=np.uint8))
        other = [(plan, more) if own == changed else phase for own, phase in enumerate(history)]
        assert estimate(other, method).attributes != result.attributes


@pytest.mark.parametrize("method", METHODS)
def test_an_estimate_survives_its_round_trip_and_says_where_it_came_from(method: Method) -> None:
    history = copying_campaign(0.5)
    result = estimate(history, method)
    assert load_estimate(result.dump()) == result
    assert [used.plan for used in result.provenance.phases] == [plan.digest for plan, _ in history]
    assert [used.counts for used in result.provenance.phases] == [counts.digest for _, counts in history]
    assert result.provenance.software.startswith("privtally ")
    lines = result.to_csv().decode().splitlines()
    assert lines[0] == "attribute,label,frequency,standard_error,low_95,high_95,among"
    assert len(lines) == 7


def test_what_does_not_belong_together_is_refused() -> None:
    (first, counts_1), (second, counts_2) = copying_campaign(0.5)
    with pytest.raises(EstimateError):
        estimate([])
    with pytest.raises(EstimateError, match="phase 1"):
        estimate([(first, counts_1), (first, counts_1)])
    with pytest.raises(EstimateError, match="phase 2"):
        estimate([(second, counts_2), (first, counts_1), (second, counts_2)])
    with pytest.raises(CountsError, match=first.digest[:12]):
        estimate([(first, counts_2), (second, counts_1)])
    with pytest.raises(EstimateError, match="phase 1"):
        estimate([(first, nothing(first))])
    with pytest.raises(EstimateError, match="method"):
        estimate([(first, counts_1)], "guess")  # type: ignore[arg-type]


def test_plans_of_another_campaign_are_refused() -> None:
    (first, counts_1), (second, counts_2) = copying_campaign(0.5)
    again = msgspec.structs.replace(first, nonce="0" * 32)
    counts = simulated(again, made_up_law((3, 3)), 100, np.random.default_rng(1))
    with pytest.raises(EstimateError, match="campaign"):
        estimate([(again, counts), (second, counts_2)])
    learned = learn([(again, counts)])
    with pytest.raises(EstimateError, match="campaign"):
        estimate([(first, counts_1), (learned, simulated(learned, made_up_law((3, 3)), 9, np.random.default_rng(1)))])
    claimed = msgspec.structs.replace(second, epsilon=2.0)
    with pytest.raises(EstimateError, match="epsilon"):
        estimate([(first, counts_1), (claimed, all_alike(claimed, 5))])


def test_a_wide_attribute_beside_a_narrow_one_is_not_called_singular() -> None:
    plan = plan_of("rs-fd", (2, 5_000))
    assert estimate([(plan, all_alike(plan, 500))], "unbiased").notes == ()


Edit = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("edit", "word"),
    [
        (lambda d: d["attributes"]["q0"].update(frequencies=[1.7e308, 1.7e308, 0]), "frequencies"),
        (lambda d: d["attributes"]["q0"].update(standard_errors=[-1, 0, 0]), "standard errors"),
        (lambda d: d["attributes"]["q0"].update(labels=["a", "b"]), "labels"),
        (lambda d: d["attributes"]["q0"].update(labels=["a", "b", "\x1b[31m"]), "printable"),
        (lambda d: d.update(attributes={}), "attributes"),
        (lambda d: d.update(notes=["\x1b"]), "printable"),
        (lambda d: d.update(method="guess"), "method"),
        (lambda d: d["provenance"].update(phases=[]), "phases"),
        (lambda d: d["provenance"]["phases"][0].update(plan="x"), "plan"),
        (lambda d: d.update(more=1), "more"),
    ],
)
def test_a_bad_estimate_is_refused_with_a_reason(edit: Edit, word: str) -> None:
    document = json.loads(estimate(copying_campaign(0.5)).dump())
    edit(document)
    with pytest.raises(EstimateError, match=word):
        load_estimate(json.dumps(document))


def test_an_attribute_that_nobody_answered_is_named_or_may_be_anything() -> None:
    plan = plan_of("smp", (2, 2))
    history = [(plan, count(plan, np.array([[0, 2], [1, 2]], dtype=np.uint8)))]
    with pytest.raises(EstimateError, match="q1"):
        estimate(history, "unbiased")
    found = estimate(history)
    assert (found.attributes["q1"].low, found.attributes["q1"].high) == ((0.0, 0.0), (1.0, 1.0))
    assert any("q1" in note and "do not determine" in note for note in found.notes)


@pytest.mark.parametrize(
    "computed",
    [
        lambda: np.linalg.inv(np.zeros((2, 2))),
        lambda: np.linalg.cholesky(-np.eye(2)),
        lambda: np.log(np.zeros(2)),
        lambda: np.exp(np.full(2, 1e3)),
        lambda: np.zeros(2) / np.zeros(2),
        lambda: 1 / float(np.zeros(())),
    ],
)
def test_a_numerical_failure_is_a_refusal(computed: Callable[[], Any]) -> None:
    with pytest.raises(EstimateError, match="made-up"), refusing_numerical_failure(EstimateError):
        computed()


class Singular(Sequence[Any]):
    """A history whose phases end in a matrix that cannot be inverted."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, place: Any) -> Any:
        return np.linalg.inv(np.zeros((2, 2)))


@pytest.mark.parametrize("door", [estimate, lambda history: estimate_pair(history, "q0", "q1"), estimate_pairs, learn])
def test_every_door_refuses_what_it_cannot_compute(door: Callable[[Any], Any]) -> None:
    with pytest.raises((EstimateError, LearningError), match="LinAlgError"):
        door(Singular())


def test_made_up_reports_at_a_large_epsilon_give_an_estimate() -> None:
    plan = first_plan((6,) * 6, 24.0, "rs-fd")
    codes = np.array([[(report + place * (report // 6)) % 6 for place in range(6)] for report in range(20)] * 32)
    history = [(plan, count(plan, codes.astype(np.uint8)))]
    for method in METHODS:
        for own in estimate(history, method).attributes.values():
            assert np.isfinite([*own.frequencies, *own.standard_errors]).all()
