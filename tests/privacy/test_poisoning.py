"""What colluders can do: the formula against simulated campaigns, and against exact laws of one-way counts."""

from functools import reduce
from itertools import product

import numpy as np
import pytest

from privtally.collector.estimate import estimate
from privtally.collector.inverse import inverse_of
from privtally.collector.spread import invert
from privtally.collector.tally import count, count_times
from privtally.documents.counts import Counts, SubReports
from privtally.documents.plan import Plan
from privtally.exact.types import Floats
from privtally.lab.simulate import simulate
from privtally.mechanisms.fills import CopyFill
from privtally.mechanisms.mechanism import Part, independent
from privtally.names import MechanismName
from privtally.privacy.audit import COLLUDERS, Poisoning, audit, poison
from tests.support import EXTENDED_PLANS, cases, counts_of, first_plan, later_plan, plan_of, plan_with

SMALL = [(2, 2), (4, 4, 4), (2, 3, 5)]
PEOPLE = 400_000_000

PLANS: dict[str, Plan] = {
    **{f"{mechanism} {sizes}": plan_of(mechanism, sizes) for mechanism, sizes in cases(SMALL)},
    **{
        name: plan_with(*plans)
        for name, plans in EXTENDED_PLANS.items()
        if name in ("groups, uniform", "groups, silent and table", "two pivots, silent", "two pivots, row")
    },
}
"""The named mechanisms, and other parts whose attributes can be told apart from one-way counts."""


def frequencies_of(sizes: tuple[int, ...]) -> list[Floats]:
    """Unlike attributes, no label rare."""
    return [np.linspace(1, 2 + own, size) / np.linspace(1, 2 + own, size).sum() for own, size in enumerate(sizes)]


def honest_counts(plan: Plan, frequencies: list[Floats], people: int, generator: np.random.Generator) -> Counts:
    law = reduce(np.multiply.outer, frequencies)
    table = generator.multinomial(people, law.ravel()).reshape(law.shape)
    reports = simulate(plan.mechanism, SubReports(np.argwhere(table), table[table > 0]), generator)
    return count_times(plan, reports.codes, reports.times)


def made_up_counts(plan: Plan, effect: Poisoning, own: int, people: int, generator: np.random.Generator) -> Counts:
    """Reports of colluders: of the attacked attribute's part as they like, of other parts as honest uniform people.

    Where a part is silent about attributes that are not asked, every colluder answers the attacked one, and the first
    others of the part as often as the plan says.
    """
    laws: list[Floats] = []
    for part in plan.mechanism.parts:
        if own in part.attributes:
            laws.append(made_up_part(part, effect, part.attributes.index(own)))
        else:
            laws.append(honest_part(part))
    law = reduce(np.multiply.outer, laws)
    order = [attribute for part in plan.mechanism.parts for attribute in part.attributes]
    law = law.transpose(np.argsort(order))
    return counts_of(plan, generator.multinomial(people, law.ravel() / law.sum()).reshape(law.shape))


def made_up_part(part: Part, effect: Poisoning, own: int) -> Floats:
    if not part.silent:
        return np.asarray(reduce(np.multiply.outer, effect.reports))
    branch = next(branch for branch in part.branches if own in branch)
    chosen = [
        np.append(effect.reports[place], 0.0) if place in branch else np.eye(outputs)[-1]
        for place, outputs in enumerate(part.outputs)
    ]
    return np.asarray(reduce(np.multiply.outer, chosen))


def honest_part(part: Part) -> Floats:
    law = np.zeros(part.outputs)
    for report in part.reports():
        for record in np.ndindex(part.sizes):
            law[report] += float(part.probability(record, report)) / np.prod(part.sizes)
    return law


def simulated_shift(plan: Plan, frequencies: list[Floats], effect: Poisoning, own: int, made_up: bool) -> float:
    """The estimate of a large campaign with colluders, who may also just answer honestly, minus the truth."""
    generator = np.random.default_rng(5)
    colluders = round(COLLUDERS * PEOPLE)
    counts = honest_counts(plan, frequencies, PEOPLE - colluders, generator)
    if made_up:
        counts += made_up_counts(plan, effect, own, colluders, generator)
    else:
        counts += honest_counts(plan, frequencies, colluders, generator)
    found = estimate([(plan, counts)], "unbiased").attributes[plan.schema.names[own]]
    assert found.standard_errors[effect.code] < abs(effect.shift) / 60
    return found.frequencies[effect.code] - float(frequencies[own][effect.code])


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_the_formula_agrees_with_simulation_within_a_tenth(plan: Plan) -> None:
    """A standard error is below a sixtieth of the shift: a false alarm is six of them (2e-9)."""
    frequencies = frequencies_of(plan.schema.sizes)
    for own, effect in enumerate(poison(plan.mechanism, frequencies, COLLUDERS)):
        assert effect is not None
        assert simulated_shift(plan, frequencies, effect, own, made_up=True) == pytest.approx(effect.shift, rel=0.1)
        assert abs(simulated_shift(plan, frequencies, effect, own, made_up=False)) < 0.1 * abs(effect.shift)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_up_to_the_share_honest_people_would_leave_the_same_counts(plan: Plan) -> None:
    everything = frequencies_of(plan.schema.sizes)
    effects = poison(plan.mechanism, everything, COLLUDERS)
    for part in plan.mechanism.parts:
        frequencies = [everything[own] for own in part.attributes]
        for effect in (effects[own] for own in part.attributes):
            assert effect is not None
            share = effect.hidden_below
            assert share is not None
            supported = [each.support(made_up) for each, made_up in zip(part.asked, effect.reports, strict=True)]
            imitated = inverse_of(part).apply(supported)
            if part.sizes != part.answers:
                # More codes than labels: honest people's codes follow from their labels, the best ones do not.
                assert share == 0
                codes = zip(part.reported(independent(imitated)), effect.reports, strict=True)
                assert max(np.abs(one - two).max() for one, two in codes) > 0.01
                continue
            assert 0 < share < 1
            others = [(1 - share) * f + share * g for f, g in zip(frequencies, imitated, strict=True)]
            assert min(f.min() for f in others) == pytest.approx(0, abs=1e-9)
            more = [(1 - 1.01 * share) * f + 1.01 * share * g for f, g in zip(frequencies, imitated, strict=True)]
            assert min(f.min() for f in more) < 0
            reported = zip(part.observe(independent(frequencies)), effect.reports, strict=True)
            mixed = [(1 - share) * honest + share * made_up for honest, made_up in reported]
            for seen, meant in zip(mixed, part.observe(independent(others)), strict=True):
                assert seen == pytest.approx(meant, abs=1e-9)


@pytest.mark.parametrize(("mechanism", "sizes"), [case for case in cases(SMALL) if case[0] != "smp"])
def test_no_report_does_more(mechanism: MechanismName, sizes: tuple[int, ...]) -> None:
    """Every report and every label: what estimating from that single report gives is what it adds."""
    plan = plan_of(mechanism, sizes, seed=3)
    frequencies = frequencies_of(sizes)
    added = [
        invert(plan, count(plan, np.array([report], dtype=np.uint8))).frequencies
        for report in product(*map(range, plan.mechanism.outputs))
    ]
    most = [max(abs(each[own] - frequencies[own]).max() for each in added) for own in range(len(sizes))]
    for effect, pull in zip(poison(plan.mechanism, frequencies, COLLUDERS), most, strict=True):
        assert effect is not None
        assert abs(effect.shift) == pytest.approx(COLLUDERS * pull)


@pytest.mark.parametrize("name", ["smp", "two pivots, silent", "groups, silent"])
def test_no_answer_does_more_where_reports_name_the_question(name: str) -> None:
    """A code adds (code − 1/k)/λ + 1/k to its label, weighted by how many people answered the question."""
    plan = plan_of("smp", (2, 3, 5)) if name == "smp" else plan_with(*EXTENDED_PLANS[name])
    frequencies = frequencies_of(plan.schema.sizes)
    effects = poison(plan.mechanism, frequencies, COLLUDERS)
    for part in plan.mechanism.parts:
        share = COLLUDERS / (COLLUDERS + (1 - COLLUDERS) * part.pivots / len(part.attributes))
        for own, channel in zip(part.attributes, part.asked, strict=True):
            effect, scale, size = effects[own], (channel.same - channel.other) / channel.total, channel.inputs
            adds = np.eye(size) / scale + (1 - 1 / scale) / size
            assert effect is not None
            assert abs(effect.shift) == pytest.approx(share * abs(adds - frequencies[own]).max())


def scale_of(plan: Plan, own: int) -> float:
    number, place = plan.mechanism.places[own]
    scale = plan.mechanism.parts[number].asked[place].scale
    assert scale is not None
    return float(scale)


def test_a_label_that_nobody_has_hides_nothing_elsewhere() -> None:
    plan = first_plan((4, 4))
    frequencies = [np.array([0.5, 0.3, 0.2, 0.0]), np.full(4, 0.25)]
    even = poison(plan.mechanism, frequencies, COLLUDERS)[1]
    assert even is not None
    assert even.hidden_below == pytest.approx(scale_of(plan, 1))


def test_reports_that_no_frequencies_give_are_never_hidden() -> None:
    """Attributes 0 and 1 are always reported alike: to report them otherwise shows at once."""
    copies = ((1.0, 1.0, 0.25), (1.0, 1.0, 0.25), (0.5, 0.5, 1.0))
    plan = later_plan(first_plan((4, 4, 4), 1.0, "corr-rr"), CopyFill(copies))
    assert [effect is None for effect in poison(plan.mechanism, [np.full(4, 0.25)] * 3, COLLUDERS)] == [
        True,
        True,
        False,
    ]
    effect = poison(plan.mechanism, [np.full(4, 0.25)] * 3, COLLUDERS)[2]
    assert effect is not None
    assert effect.reports[0] == pytest.approx(effect.reports[1])


@pytest.mark.parametrize("sizes", [(3, 3), (2, 3, 4)])
def test_parts_of_one_attribute_have_a_closed_form(sizes: tuple[int, ...]) -> None:
    """A made-up report adds 1/k + (1 − 1/k)/λ to its label; among uniform answers a share of λ stays hidden."""
    plan = first_plan(sizes)
    effects = poison(plan.mechanism, [np.full(size, 1 / size) for size in sizes], COLLUDERS)
    for own, (size, effect) in enumerate(zip(sizes, effects, strict=True)):
        assert effect is not None
        assert effect.shift == pytest.approx(COLLUDERS * (1 - 1 / size) / scale_of(plan, own))
        assert effect.shift == effect.quiet_shift
        assert effect.hidden_below == pytest.approx(scale_of(plan, own))


def test_people_who_all_answer_one_question_weigh_more_but_show() -> None:
    plan = first_plan((2, 2, 2, 2), 1.0, "smp")
    effect = poison(plan.mechanism, [np.full(2, 0.5)] * 4, COLLUDERS)[0]
    assert effect is not None
    assert effect.shift / effect.quiet_shift == pytest.approx(1 / (0.01 + 0.99 / 4))


def test_totals_that_the_reports_do_not_determine_have_no_shift() -> None:
    same = later_plan(first_plan((3, 3), 1.0, "corr-rr"), CopyFill(((1.0, 1.0), (1.0, 1.0))))
    assert audit(same)["poisoning"]["attributes"] == {"q0": None, "q1": None}
    hidden = plan_with(*EXTENDED_PLANS["two pivots, table"])
    assert audit(hidden)["poisoning"]["attributes"] == {"q0": None, "q1": None, "q2": None}


def test_the_guide_states_the_numbers() -> None:
    """The table in docs/explanation/privacy-promise.md."""
    sizes = (4, 4, 4, 4)
    half = tuple(tuple(1.0 if own == other else 0.5 for other in range(4)) for own in range(4))
    copying = later_plan(first_plan(sizes, 1.0, "corr-rr"), CopyFill(half))
    stated = {
        "spl": (11.3, 11.3, 0.066),
        "rs-fd": (10.0, 10.0, 0.075),
        "corr-rr": (15.0, 15.0, 0.050),
        "smp": (9.7, 2.5, 0.300),
    }
    for plan in (*(first_plan(sizes, 1.0, name) for name in ("spl", "rs-fd", "smp")), copying):
        found = audit(plan)["poisoning"]["attributes"]["q0"]
        shift, hidden_shift, hidden_below = stated[plan.name]
        assert found["shift_points"] == pytest.approx(shift, abs=0.05)
        assert found["quiet_shift_points"] == pytest.approx(hidden_shift, abs=0.05)
        assert found["hidden_below_share"] == pytest.approx(hidden_below, abs=0.0006)
