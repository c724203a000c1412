"""Questions asked together: the enumerated law, its privacy, sampler, simulation, verifier and estimates.

Each random check runs on a fixed seed and fails a correct program with a probability below 1e-6: the chi-square tests
accept above p = 1e-9. Each has a control that must fail.
"""

from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy import stats

from privtally.collector.estimate import estimate
from privtally.collector.pairs import estimate_pair, estimate_pairs
from privtally.collector.tally import count, count_times
from privtally.collector.together import Answers
from privtally.documents.counts import SubReports
from privtally.documents.plan import Plan
from privtally.errors import EstimateError, PlanError
from privtally.exact import canonical
from privtally.lab.population import seeded
from privtally.lab.simulate import simulate
from privtally.mechanisms.mechanism import independent
from privtally.mechanisms.together import Together, TogetherPlan, together
from privtally.participant.respond import respond_many
from privtally.privacy.audit import leakage, poison, uniform
from privtally.privacy.loss import certify, losses
from privtally.privacy.verify import CertificateError, verify
from privtally.schema import Records
from tests.support import all_laws, chi_square_p, exp_below, first_plan, records_of, worst_ratio

PLANS: dict[str, tuple[tuple[int, ...], float, dict[str, Any]]] = {
    "pairs": ((3, 2, 4), 1.0, {}),
    "planes": ((4, 5, 2), 0.5, {}),
    "with single questions": ((3, 2, 4), 1.0, {"single": 0.3}),
    "three together": ((2, 3, 2, 2), 2.0, {"together": 3}),
    "some pairs": ((2, 3, 2, 3), 1.0, {"pairs_of": (("q3", "q0"), ("q1", "q0"), ("q2", "q1"))}),
    "some pairs and single questions": ((2, 3, 4), 3.0, {"pairs_of": (("q0", "q2"),), "single": 0.5}),
}
EVERY = pytest.mark.parametrize("name", PLANS)
REPORTS = 200_000


def plan_named(name: str) -> Plan:
    sizes, epsilon, options = PLANS[name]
    return first_plan(sizes, epsilon, "pairs", **options)


def mechanism_of(plan: Plan) -> Together:
    assert isinstance(plan.mechanism, Together)
    return plan.mechanism


def test_the_plans_have_both_kinds_of_channels() -> None:
    kinds = {type(channel).__name__ for name in PLANS for channel in mechanism_of(plan_named(name)).asked}
    assert kinds == {"Keep", "Projective"}


@EVERY
def test_no_two_records_are_further_apart_than_epsilon(name: str) -> None:
    plan = plan_named(name)
    laws = list(all_laws(plan.mechanism).values())
    assert all(sum(law.values()) == 1 for law in laws)
    worst = worst_ratio(laws)
    assert worst == plan.mechanism.ratio
    assert exp_below(Fraction(plan.epsilon) * Fraction(9_999, 10_000)) <= worst <= exp_below(Fraction(plan.epsilon))


@EVERY
def test_losses_are_attained_by_records_that_differ_in_so_many_answers(name: str) -> None:
    mechanism = plan_named(name).mechanism
    laws = all_laws(mechanism)
    for loss in losses(mechanism):
        apart = [
            worst_ratio([laws[one], laws[two]])
            for one in laws
            for two in laws
            if sum(a != b for a, b in zip(one, two, strict=True)) == loss.differing
        ]
        assert loss.ratio == max(apart)
        assert loss.ratio == laws[loss.record][loss.report] / laws[loss.other_record][loss.report]
        assert sum(a != b for a, b in zip(loss.record, loss.other_record, strict=True)) == loss.differing


@EVERY
def test_the_expected_reports_are_those_of_the_law(name: str) -> None:
    mechanism = plan_named(name).mechanism
    made_up = np.random.default_rng(3)
    marginals = [made_up.dirichlet(np.ones(size)) for size in mechanism.sizes]
    (reported,) = mechanism.expect(independent(marginals))
    mixed = np.zeros(mechanism.outputs[0])
    for record, law in all_laws(mechanism).items():
        chance = np.prod([own[code] for own, code in zip(marginals, record, strict=True)])
        for (code,), share in law.items():
            mixed[code] += chance * float(share)
    assert reported == pytest.approx(mixed, abs=1e-12)


@EVERY
def test_the_sampler_follows_its_law(name: str) -> None:
    sizes, epsilon, options = PLANS[name]
    mechanism = plan_named(name).mechanism
    drifted = first_plan(sizes, epsilon * 1.25, "pairs", **options).mechanism
    for record in (tuple(0 for _ in sizes), tuple(size - 1 for size in sizes)):
        reports = mechanism.privatise(np.tile(np.array(record, dtype=np.uint8), (REPORTS, 1)), seeded(11))
        assert chi_square_p(reports, mechanism.law(record)) > 1e-9
        assert chi_square_p(reports, drifted.law(record)) < 1e-9


def test_the_share_of_single_questions_and_the_sets_are_drawn_as_stated() -> None:
    mechanism = plan_named("with single questions").mechanism
    reports = mechanism.privatise(np.zeros((REPORTS, 3), dtype=np.uint8), seeded(12))
    for wrong in (0.29, 0.31):
        other = first_plan((3, 2, 4), 1.0, "pairs", single=wrong).mechanism
        assert chi_square_p(reports, other.law((0, 0, 0))) < 1e-9


@EVERY
def test_reports_simulated_without_users_follow_the_law(name: str) -> None:
    plan = plan_named(name)
    record = tuple(size - 1 for size in plan.schema.sizes)
    people = SubReports(np.array([record]), np.array([REPORTS]))
    found = simulate(plan.mechanism, people, np.random.default_rng(5))
    assert found.times.sum() == REPORTS
    reports = np.repeat(found.codes, found.times, axis=0)
    assert chi_square_p(reports, plan.mechanism.law(record)) > 1e-9
    assert chi_square_p(reports, plan.mechanism.law((0,) * len(record))) < 1e-9


@EVERY
def test_a_report_tells_its_set_and_the_labels_that_its_code_stands_for(name: str) -> None:
    mechanism = mechanism_of(plan_named(name))
    for record, law in list(all_laws(mechanism).items())[:6]:
        for (code,), chance in law.items():
            places, labels = mechanism.told(code)
            number = mechanism.sets.index(places)
            channel, share = mechanism.asked[number], mechanism.shares[number]
            held = tuple(record[place] for place in places) in labels
            assert chance == share * Fraction(channel.same if held else channel.other, channel.total)


@EVERY
def test_the_verifier_accepts_the_certificate_and_no_other(name: str) -> None:
    plan = plan_named(name)
    certificate = certify(plan)
    assert verify(plan, certificate)
    top, bottom = certificate["ratio"]
    for field, value in (
        ("ratio", [f"{int(top, 16) + 1:x}", bottom]),
        ("realised", certificate["realised"] + 1e-6),
        ("exact", not certificate["exact"]),
    ):
        with pytest.raises(CertificateError):
            verify(plan, certificate | {field: value})


FAULTS: dict[str, dict[str, Any]] = {
    "a question is never asked": {"sets": [[0, 1]]},
    "a set stands twice": {"sets": [[0, 1], [0, 1], [1, 2]]},
    "a set names a question twice": {"sets": [[0, 0], [1, 2]]},
    "a set is out of order": {"sets": [[1, 0], [1, 2]]},
    "a set has another size": {"sets": [[0, 1, 2]]},
    "there are no sets": {"sets": []},
    "a share that is no multiple of 2^-32": {"single": 0.1},
    "everybody is asked a single question": {"single": 1.0},
    "a channel is missing": {"channels": [{"kind": "grr"}]},
    "an unknown channel": {"channels": [{"kind": "rr"}] * 3},
    "too many questions together": {"size": 4},
    "another field": {"pivots": 1},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_planted_in_a_plan_are_refused_by_plan_and_verifier(fault: str) -> None:
    plan = plan_named("pairs")
    certificate = certify(plan)
    document = msgspec.to_builtins(plan)
    document["together"] |= FAULTS[fault]
    wrong = document | {"digest": canonical.digest(document)}
    with pytest.raises(PlanError):
        canonical.convert(document, Plan, PlanError, "the plan")
    with pytest.raises(CertificateError):
        verify(wrong, certificate | {"plan": wrong["digest"]})


def population(sizes: tuple[int, ...]) -> np.ndarray:
    """Answers that go together."""
    cells: np.ndarray = np.random.default_rng(8).dirichlet(np.full(int(np.prod(sizes)), 0.6)).reshape(sizes)
    return cells


@EVERY
def test_estimates_from_expected_counts_are_the_truth(name: str) -> None:
    """Frequencies and tables are unbiased: linear in the counts of every set, and right where these are as expected."""
    plan, truth = plan_named(name), population(PLANS[name][0])
    law = np.zeros(plan.mechanism.outputs[0])
    for record in records_of(truth.shape):
        for (code,), chance in plan.mechanism.law(record).items():
            law[code] += truth[record] * float(chance)
    counts = count_times(plan, np.arange(len(law))[:, None], np.rint(law * 1e12).astype(np.int64))
    found = estimate([(plan, counts)], "unbiased")
    axes = range(truth.ndim)
    for place, own in enumerate(found.attributes.values()):
        margin = truth.sum(axis=tuple(axis for axis in axes if axis != place))
        assert own.frequencies == pytest.approx(margin, abs=1e-8)
    for table in estimate_pairs([(plan, counts)], "unbiased").tables:
        places = [plan.schema.names.index(own) for own in table.attributes]
        both = truth.sum(axis=tuple(axis for axis in axes if axis not in places))
        assert np.array(table.frequencies) == pytest.approx(both, abs=1e-8)


@EVERY
def test_standard_errors_are_those_of_many_campaigns(name: str) -> None:
    """Mean squares of z over 400 campaigns lie within bounds that a correct program misses once in ten million; errors
    that are a fifth too small or too large do not.
    """
    plan, truth = plan_named(name), population(PLANS[name][0])
    runs, people = 400, 4_000
    generator, source = np.random.default_rng(21), seeded(21)
    cells = generator.choice(truth.size, runs * people, p=truth.ravel())
    codes = np.stack(np.unravel_index(cells, truth.shape), axis=1).astype(np.uint8)
    reports = respond_many(plan, Records(plan.schema, codes), source).codes.reshape(runs, people, 1)
    one, two = mechanism_of(plan).sets[0][:2]
    axes = tuple(axis for axis in range(truth.ndim) if axis not in (one, two))
    both = truth.sum(axis=axes)
    z, cell_z = np.empty(runs), np.empty(runs)
    for run in range(runs):
        answers = Answers(mechanism_of(plan), count(plan, reports[run]).attributes[0])
        share = answers.frequencies(one)[0] - both[0].sum()
        z[run] = share / np.sqrt(answers.covariance(one, one)[0, 0])
        table = answers.table(one, two)
        assert table is not None
        cell_z[run] = (table.frequencies[0, 1] - both[0, 1]) / np.sqrt(table.variances[0, 1])
    low, high = stats.chi2.ppf(5e-8, runs) * 0.97, stats.chi2.isf(5e-8, runs) * 1.03
    for each in (z, cell_z):
        squares = float(each @ each)
        assert low <= squares <= high
        assert squares / 0.6**2 > high
        assert squares * 0.6**2 < low


@EVERY
def test_tables_have_the_frequencies_of_single_questions_as_margins(name: str) -> None:
    plan, truth = plan_named(name), population(PLANS[name][0])
    cells = np.random.default_rng(4).choice(truth.size, 5_000, p=truth.ravel())
    codes = np.stack(np.unravel_index(cells, truth.shape), axis=1).astype(np.uint8)
    history = [(plan, count(plan, respond_many(plan, Records(plan.schema, codes), seeded(4)).codes))]
    for method in ("unbiased", "likelihood"):
        alone = estimate(history, method).attributes
        for table in estimate_pairs(history, method).tables:
            first, second = (alone[own].frequencies for own in table.attributes)
            assert np.array(table.frequencies).sum(axis=1) == pytest.approx(first, abs=1e-7)
            assert np.array(table.frequencies).sum(axis=0) == pytest.approx(second, abs=1e-7)


def test_questions_that_nobody_was_asked_may_be_anything() -> None:
    plan = plan_named("some pairs")
    counts = count_times(plan, np.array([[0]]), np.array([50]))
    places = mechanism_of(plan).sets[0]
    found = estimate([(plan, counts)])
    for place, own in enumerate(found.attributes.values()):
        anything = all(low == 0 and high == 1 for low, high in zip(own.low or (), own.high or (), strict=True))
        assert anything == (place not in places)
    assert any("do not determine" in note for note in found.notes)
    with pytest.raises(EstimateError, match="nobody was asked"):
        estimate([(plan, counts)], "unbiased")
    with pytest.raises(EstimateError, match="likelihood or unbiased"):
        estimate([(plan, counts)], "paper")
    with pytest.raises(EstimateError, match="say nothing about"):
        estimate_pair([(plan, counts)], "q1", "q2")


@EVERY
def test_guesses_and_bits_are_those_of_the_enumerated_law(name: str) -> None:
    plan = plan_named(name)
    laws = all_laws(plan.mechanism)
    gained = leakage(plan.mechanism, uniform(plan.schema.sizes))
    chances = np.array([[float(law[(code,)]) for code in range(plan.mechanism.outputs[0])] for law in laws.values()])
    chances /= len(laws)
    assert gained.values is not None
    for place, guess in enumerate(gained.values):
        codes = np.array([record[place] for record in laws])
        right = [chances[codes == code].sum(axis=0) for code in range(plan.schema.sizes[place])]
        assert guess.after == pytest.approx(np.max(right, axis=0).sum(), abs=1e-12)
    outer = np.outer(chances.sum(axis=1), chances.sum(axis=0))
    assert gained.bits == pytest.approx(float(np.sum(chances * np.log2(chances / outer))), abs=1e-9)
    assert gained.pivot_guess == 1


@EVERY
def test_colluders_move_a_share_by_as_much_as_the_audit_says(name: str) -> None:
    """A thousand honest people as expected, and colluders who send the code that the audit names."""
    plan = plan_named(name)
    mechanism, even = mechanism_of(plan), uniform(plan.schema.sizes)
    (law,) = mechanism.expect(independent(even))
    for place, effect in enumerate(poison(mechanism, even, 0.01)):
        assert effect is not None
        moved = []
        for code in range(len(law)):
            counts = law * 0.99e9
            counts[code] += 0.01e9
            found = Answers(mechanism, counts).frequencies(place)
            moved.append(np.abs(found - even[place]).max())
        assert abs(effect.shift) == pytest.approx(max(moved), rel=0.25)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mechanism": "pairs", "decoys": 1}, "no decoys"),
        ({"mechanism": "pairs", "pivots": 2}, "no groups"),
        ({"mechanism": "pairs", "groups": (("q0", "q1"), ("q2",))}, "no groups"),
        ({"mechanism": "smp", "single": 0.5}, "have no effect with smp"),
        ({"mechanism": "pairs", "together": 4}, "2 to 3 questions"),
        ({"mechanism": "pairs", "single": 1.5}, "from 0 to below 1"),
        ({"mechanism": "pairs", "pairs_of": (("q0", "q1"),)}, "question 'q2' is in none"),
        ({"mechanism": "pairs", "pairs_of": (("q0", "q1", "q2"), ("q0", "q1")), "together": 2}, "not 3 as in"),
        ({"mechanism": "pairs", "pairs_of": (("q0", "q0"),)}, "named twice"),
        ({"mechanism": "pairs", "pairs_of": (("q0", "age"),)}, "no question 'age'"),
    ],
)
def test_what_cannot_be_asked_together_is_one_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match=words) as refusal:
        first_plan((2, 3, 4), 1.0, **options)
    assert "\n" not in str(refusal.value)


def test_products_and_reports_have_limits() -> None:
    with pytest.raises(PlanError, match=r"70,000 answers together, more than 65,536"):
        together((280, 250), Fraction(1))
    with pytest.raises(PlanError, match="too many sets"):
        together((2,) * 2_000, Fraction(1), 3)
    with pytest.raises(PlanError, match="different codes"):
        TogetherPlan(together((250,) * 12, Fraction(8)).channels).build((250,) * 12, Fraction(8))
    assert together((255, 257), Fraction(1)).build((255, 257), Fraction(1)).sets == ((0, 1),)
