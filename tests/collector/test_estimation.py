import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from privtally.collector.estimate import estimate, load_estimate
from privtally.collector.estimate.phase import invert
from privtally.collector.learn.rules import learn
from privtally.documents.counts import Counts, count, nothing
from privtally.documents.plan import Plan, design
from privtally.errors import CountsError, EstimateError
from privtally.lab.seed import seeded
from privtally.names import METHODS, Method
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.support import cases, plan_of, schema_of


def expected_counts(plan: Plan, marginals: list[np.ndarray], reports: int = 10**9) -> Counts:
    """Counts as they are on average, of so many reports that rounding does not show."""
    attributes = []
    for marginal in plan.sampler.expect(marginals):
        whole = np.floor(marginal * reports).astype(np.int64)
        whole[0] += reports - whole.sum()
        attributes.append(whole)
    pairs = {}
    for one in range(len(attributes)):
        for two in range(one + 1, len(attributes)):
            pairs[one, two] = np.outer(attributes[one], attributes[two]) // reports
    return Counts(plan.digest, reports, tuple(attributes), None, pairs)


@pytest.mark.parametrize(("mechanism", "sizes"), cases())
def test_undoing_the_operator_gives_back_the_frequencies(mechanism: str, sizes: tuple[int, ...]) -> None:
    plan = plan_of(mechanism, sizes, epsilon=2.0)  # type: ignore[arg-type]
    made_up = np.random.default_rng(3)
    marginals = [made_up.dirichlet(np.ones(size)) for size in sizes]
    part = invert(plan, expected_counts(plan, marginals))
    assert all(part.known)
    for found, true in zip(part.frequencies, marginals, strict=True):
        np.testing.assert_allclose(found, true, atol=1e-5)


def test_grr_by_hand() -> None:
    """The paper's Section 2.2: f = (c/n − q)/(p − q)."""
    plan = design(schema_of((3,)), 1.0, "spl")
    counts = count(plan, np.array([[0]] * 5 + [[1]] * 3 + [[2]] * 2, dtype=np.uint8))
    p, q = math.e / (math.e + 2), 1 / (math.e + 2)
    expected = [(c / 10 - q) / (p - q) for c in (5, 3, 2)]
    assert estimate([(plan, counts)], "paper").attributes["q0"].frequencies == pytest.approx(expected, abs=1e-12)
    assert estimate([(plan, counts)], "unbiased").attributes["q0"].frequencies == pytest.approx(expected, abs=1e-12)


def test_corr_rr_by_hand() -> None:
    """The paper's Section 3.2: each phase by GRR, weighted by the numbers of people."""
    first = design(schema_of((2, 2)), 1.0, "corr-rr")
    codes_1 = np.array([[0, 1]] * 6 + [[1, 1]] * 4, dtype=np.uint8)
    counts_1 = count(first, codes_1)
    second = learn(first, counts_1)
    codes_2 = np.array([[0, 0]] * 20 + [[1, 0]] * 10, dtype=np.uint8)
    counts_2 = count(second, codes_2)
    q1, q2 = 1 / (math.exp(0.5) + 1), 1 / (math.e + 1)
    one, two = (0.6 - q1) / (1 - 2 * q1), (2 / 3 - q2) / (1 - 2 * q2)
    result = estimate([(second, counts_2), (first, counts_1)], "paper")
    assert result.attributes["q0"].frequencies[0] == pytest.approx((10 * one + 30 * two) / 40, abs=1e-12)
    assert result.biased


def test_rs_fd_by_hand() -> None:
    """Arcolezi et al. 2021: f = (c·d·k − n(d − 1 + q·k)) / (n·k·(p − q))."""
    plan = design(schema_of((2, 3)), 1.0, "rs-fd")
    counts = count(plan, np.array([[0, 0]] * 40 + [[0, 1]] * 30 + [[1, 2]] * 30, dtype=np.uint8))
    p, q = math.e / (math.e + 2), 1 / (math.e + 2)
    expected = [(c * 2 * 3 - 100 * (1 + q * 3)) / (100 * 3 * (p - q)) for c in (40, 30, 30)]
    assert estimate([(plan, counts)], "paper").attributes["q1"].frequencies == pytest.approx(expected, abs=1e-12)


def test_the_papers_rs_rfd_is_clipped_and_sums_to_one() -> None:
    plan = plan_of("rs-rfd", (4, 4), epsilon=0.1)
    records = Records(plan.schema, np.zeros((50, 2), dtype=np.uint8))
    counts = count(plan, respond_many(plan, records, seeded(1)).codes)
    raw = estimate([(plan, counts)], "unbiased").attributes["q0"].frequencies
    clipped = estimate([(plan, counts)], "paper").attributes["q0"].frequencies
    assert min(raw) < 0
    held = np.clip(raw, 0, 1)
    assert clipped == pytest.approx(held / held.sum(), abs=1e-12)


def same(copies: float) -> Plan:
    return Plan(
        schema=schema_of((3, 3)), epsilon=1.0, campaign="corr-rr", phase=2, mechanism="corr-rr",
        copy_probability=((1.0, copies), (copies, 1.0)),
    )  # fmt: skip


def two_phases(copies: float) -> list[tuple[Plan, Counts]]:
    first = design(schema_of((3, 3)), 1.0, "corr-rr")
    records = Records(first.schema, np.random.default_rng(2).integers(0, 3, (5_000, 2), dtype=np.uint8))
    return [(plan, count(plan, respond_many(plan, records, seeded(2)).codes)) for plan in (first, same(copies))]


def test_where_phase_2_is_singular_phase_1_alone_is_used_and_it_says_so() -> None:
    phases = two_phases(copies=1.0)
    result = estimate(phases, "unbiased")
    assert "Phase 2 cannot tell q0, q1 apart" in result.notes[0]
    assert result.attributes == estimate(phases[:1], "unbiased").attributes


def test_where_phase_2_is_nearly_singular_it_says_so_and_gets_little_weight() -> None:
    phases = two_phases(copies=1 - 2.0**-8)
    result = estimate(phases, "unbiased")
    assert "hardly tells the attributes apart" in result.notes[0]
    alone = estimate(phases[:1], "unbiased").attributes["q0"]
    assert result.attributes["q0"].frequencies == pytest.approx(alone.frequencies, abs=2 * alone.standard_errors[0])


def test_a_singular_phase_2_alone_is_refused() -> None:
    with pytest.raises(EstimateError, match="give Phase I's plan and counts as well"):
        estimate(two_phases(copies=1.0)[1:], "unbiased")


def test_one_attribute_can_be_lost_while_another_is_known() -> None:
    copies = ((1.0, 1.0, 0.5), (1.0, 1.0, 0.5), (0.5, 0.5, 1.0))
    plan = Plan(
        schema=schema_of((2, 2, 2)), epsilon=1.0, campaign="corr-rr", phase=2, mechanism="corr-rr",
        copy_probability=copies,
    )  # fmt: skip
    marginals = [np.array([0.3, 0.7]), np.array([0.6, 0.4]), np.array([0.2, 0.8])]
    part = invert(plan, expected_counts(plan, marginals))
    assert list(part.known) == [False, False, True]
    assert part.frequencies[2] == pytest.approx(marginals[2], abs=1e-6)


def test_inverse_variance_is_never_worse_than_a_phase_alone() -> None:
    phases = two_phases(copies=0.5)
    both = estimate(phases, "unbiased")
    for phase in phases:
        alone = estimate([phase], "unbiased")
        for name, attribute in both.attributes.items():
            sum_of = [sum(np.square(e.standard_errors)) for e in (attribute, alone.attributes[name])]
            assert sum_of[0] < sum_of[1]


def test_without_pairwise_tables_errors_are_bounded_from_above() -> None:
    plan = same(0.25)
    records = Records(plan.schema, np.random.default_rng(2).integers(0, 3, (5_000, 2), dtype=np.uint8))
    counts = count(plan, respond_many(plan, records, seeded(2)).codes)
    bare = Counts(counts.plan, counts.reports, counts.attributes, None, None)
    exact, bound = (estimate([(plan, c)], "unbiased").attributes["q0"] for c in (counts, bare))
    assert exact.frequencies == bound.frequencies
    assert all(e < b < 3 * e for e, b in zip(exact.standard_errors, bound.standard_errors, strict=True))


@pytest.mark.parametrize("method", METHODS)
def test_an_estimate_survives_its_round_trip_and_says_where_it_came_from(method: Method) -> None:
    phases = two_phases(copies=0.5)
    result = estimate(phases, method)
    assert load_estimate(result.dump()) == result
    assert [used.plan for used in result.provenance.phases] == [plan.digest for plan, _ in phases]
    assert [used.counts for used in result.provenance.phases] == [counts.digest for _, counts in phases]
    assert result.provenance.software.startswith("privtally ")
    lines = result.to_csv().decode().splitlines()
    assert lines[0] == "attribute,label,frequency,standard_error,low_95,high_95"
    assert len(lines) == 7


def test_what_does_not_belong_together_is_refused() -> None:
    (first, counts_1), (second, counts_2) = two_phases(copies=0.5)
    with pytest.raises(EstimateError, match="one phase or of two, got 0"):
        estimate([])
    with pytest.raises(EstimateError, match="both plans are of phase 1"):
        estimate([(first, counts_1), (first, counts_1)])
    with pytest.raises(CountsError, match="give each plan the counts of its own phase"):
        estimate([(first, counts_2), (second, counts_1)])
    with pytest.raises(EstimateError, match="has no reports"):
        estimate([(first, nothing(first))])
    with pytest.raises(EstimateError, match="method must be one of"):
        estimate([(first, counts_1)], "guess")  # type: ignore[arg-type]
    other = design(schema_of((3, 3)), 2.0, "corr-rr")
    counts = count(other, np.zeros((3, 2), dtype=np.uint8))
    with pytest.raises(EstimateError, match="plans of one campaign"):
        estimate([(other, counts), (second, counts_2)])
    learned = learn(other, counts)
    with pytest.raises(EstimateError, match="learned from another first phase"):
        estimate([(first, counts_1), (learned, count(learned, np.zeros((3, 2), dtype=np.uint8)))])


def test_a_wide_attribute_beside_a_narrow_one_is_not_called_singular() -> None:
    plan = plan_of("rs-fd", (2, 5_000))
    records = Records(plan.schema, np.zeros((500, 2), dtype=np.uint16))
    assert estimate([(plan, count(plan, respond_many(plan, records, seeded(1)).codes))], "unbiased").notes == ()


def test_a_clipped_phase_says_so() -> None:
    plan = plan_of("rs-rfd", (4, 4), epsilon=0.1)
    records = Records(plan.schema, np.zeros((50, 2), dtype=np.uint8))
    counts = count(plan, respond_many(plan, records, seeded(1)).codes)
    assert "clipped" in estimate([(plan, counts)], "paper").notes[0]


Edit = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda d: d["attributes"]["q0"].update(frequencies=[1.7e308, 1.7e308, 0]), "sum to 1"),
        (lambda d: d["attributes"]["q0"].update(standard_errors=[-1, 0, 0]), "must not be negative"),
        (lambda d: d["attributes"]["q0"].update(labels=["a", "b"]), "same length"),
        (lambda d: d["attributes"]["q0"].update(labels=["a", "b", "\x1b[31m"]), "printable"),
        (lambda d: d.update(attributes={}), "needs attributes"),
        (lambda d: d.update(notes=["\x1b"]), "printable"),
        (lambda d: d.update(method="guess"), "method"),
        (lambda d: d["provenance"].update(phases=[]), "must name its phases"),
        (lambda d: d["provenance"]["phases"][0].update(plan="x"), "SHA-256"),
        (lambda d: d.update(more=1), "unknown field"),
    ],
)
def test_a_bad_estimate_is_refused_with_a_reason(edit: Edit, reason: str) -> None:
    document = json.loads(estimate(two_phases(copies=0.5)).dump())
    edit(document)
    with pytest.raises(EstimateError, match=reason):
        load_estimate(json.dumps(document))


def test_an_attribute_that_nobody_answered_is_named() -> None:
    plan = plan_of("smp", (2, 2))
    with pytest.raises(EstimateError, match="nobody answered attribute 'q1'"):
        estimate([(plan, count(plan, np.array([[0, 2], [1, 2]], dtype=np.uint8)))])
