"""What colluders can do: the formula against simulated campaigns, and against exact laws of one-way counts."""

from functools import reduce
from itertools import product

import numpy as np
import pytest

from privtally.collector.estimate import estimate
from privtally.collector.estimate.inverse import Floats, inverse_of
from privtally.collector.estimate.phase import invert
from privtally.documents.counts import Counts, count
from privtally.documents.plan import Plan, design
from privtally.lab.collectors import Exact, from_answers, from_tensor
from privtally.mechanisms import Mechanism, Sample
from privtally.names import MechanismName
from privtally.privacy.audit import COLLUDERS, audit
from privtally.privacy.poisoning import Poisoning, poison
from privtally.schema import Records
from tests.support import cases, plan_of, schema_of

SMALL = [(2, 2), (4, 4, 4), (2, 3, 5)]
PEOPLE = 400_000_000


def frequencies_of(sizes: tuple[int, ...]) -> list[Floats]:
    """Unlike attributes, no label rare."""
    return [np.linspace(1, 2 + own, size) / np.linspace(1, 2 + own, size).sum() for own, size in enumerate(sizes)]


def honest_counts(plan: Plan, frequencies: list[Floats], people: int, generator: np.random.Generator) -> Counts:
    law = reduce(np.multiply.outer, frequencies)
    table = generator.multinomial(people, law.ravel()).reshape(law.shape)
    nobody = Records(plan.schema, np.zeros((1, len(frequencies)), dtype=np.uint8))
    return Exact(nobody, None, generator).count(plan, table)


def made_up_counts(plan: Plan, effect: Poisoning, own: int, people: int, generator: np.random.Generator) -> Counts:
    if isinstance(plan.sampler, Sample):
        silent = [np.zeros((1, size), dtype=np.int64) for size in plan.schema.sizes]
        silent[own] = generator.multinomial(people, effect.reports[own])[None]
        return from_answers(plan, silent)
    law = reduce(np.multiply.outer, effect.reports)
    return from_tensor(plan, generator.multinomial(people, law.ravel()).reshape(law.shape))


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


@pytest.mark.parametrize(("mechanism", "sizes"), cases(SMALL))
def test_the_formula_agrees_with_simulation_within_a_tenth(mechanism: MechanismName, sizes: tuple[int, ...]) -> None:
    """A standard error is below a sixtieth of the shift: a false alarm is six of them (2e-9)."""
    plan = plan_of(mechanism, sizes)
    frequencies = frequencies_of(sizes)
    for own, effect in enumerate(poison(plan.sampler, frequencies, COLLUDERS)):
        assert effect is not None
        assert simulated_shift(plan, frequencies, effect, own, made_up=True) == pytest.approx(effect.shift, rel=0.1)
        assert abs(simulated_shift(plan, frequencies, effect, own, made_up=False)) < 0.1 * abs(effect.shift)


@pytest.mark.parametrize(("mechanism", "sizes"), cases(SMALL))
def test_up_to_the_share_honest_people_would_leave_the_same_counts(
    mechanism: MechanismName, sizes: tuple[int, ...]
) -> None:
    sampler = plan_of(mechanism, sizes).sampler
    frequencies = frequencies_of(sizes)
    for effect in poison(sampler, frequencies, COLLUDERS):
        assert effect is not None
        share = effect.hidden_below
        assert 0 < share < 1
        imitated = inverse_of(sampler).apply(effect.reports)
        others = [(1 - share) * f + share * g for f, g in zip(frequencies, imitated, strict=True)]
        assert min(f.min() for f in others) == pytest.approx(0, abs=1e-9)
        more = [(1 - 1.01 * share) * f + 1.01 * share * g for f, g in zip(frequencies, imitated, strict=True)]
        assert min(f.min() for f in more) < 0
        reported = zip(answered(sampler, frequencies), effect.reports, strict=True)
        mixed = [(1 - share) * honest + share * made_up for honest, made_up in reported]
        for seen, meant in zip(mixed, answered(sampler, others), strict=True):
            assert seen == pytest.approx(meant, abs=1e-9)


def answered(mechanism: Mechanism, frequencies: list[Floats]) -> list[Floats]:
    """Expected one-way frequencies of reports, with SMP of the answers among those who are asked."""
    if isinstance(mechanism, Sample):
        return [reported[:-1] * len(frequencies) for reported in mechanism.expect(frequencies)]
    return mechanism.expect(frequencies)


@pytest.mark.parametrize(("mechanism", "sizes"), cases(SMALL))
def test_no_report_does_more(mechanism: MechanismName, sizes: tuple[int, ...]) -> None:
    """Every report and every label: what estimating from that single report gives is what it adds."""
    plan = plan_of(mechanism, sizes, seed=3)
    frequencies = frequencies_of(sizes)
    if isinstance(plan.sampler, Sample):
        share = COLLUDERS / (COLLUDERS + (1 - COLLUDERS) / len(sizes))
        adds = [np.eye(size) / float(c.scale) + (1 - 1 / float(c.scale)) / size
                for size, c in zip(sizes, plan.sampler.channels, strict=True)]  # fmt: skip
        most = [abs(each - own).max() for each, own in zip(adds, frequencies, strict=True)]
    else:
        share = COLLUDERS
        added = [
            invert(plan, count(plan, np.array([report], dtype=np.uint8))).frequencies
            for report in product(*map(range, sizes))
        ]
        most = [max(abs(each[own] - frequencies[own]).max() for each in added) for own in range(len(sizes))]
    for effect, pull in zip(poison(plan.sampler, frequencies, COLLUDERS), most, strict=True):
        assert effect is not None
        assert abs(effect.shift) == pytest.approx(share * pull)


def test_a_label_that_nobody_has_hides_nothing_elsewhere() -> None:
    plan = design(schema_of((4, 4)), 1.0, "spl")
    frequencies = [np.array([0.5, 0.3, 0.2, 0.0]), np.full(4, 0.25)]
    even = poison(plan.sampler, frequencies, COLLUDERS)[1]
    assert even is not None
    assert even.hidden_below == pytest.approx(float(plan.sampler.channels[1].scale))


def test_reports_that_no_frequencies_give_are_never_hidden() -> None:
    """Attributes 0 and 1 are always reported alike: to report them otherwise shows at once."""
    copies = ((1.0, 1.0, 0.25), (1.0, 1.0, 0.25), (0.5, 0.5, 1.0))
    plan = Plan(schema_of((4, 4, 4)), 1.0, "corr-rr", 2, "corr-rr", copy_probability=copies)
    assert [effect is None for effect in poison(plan.sampler, [np.full(4, 0.25)] * 3, COLLUDERS)] == [True, True, False]
    effect = poison(plan.sampler, [np.full(4, 0.25)] * 3, COLLUDERS)[2]
    assert effect is not None
    assert effect.reports[0] == pytest.approx(effect.reports[1])


@pytest.mark.parametrize("sizes", [(3, 3), (2, 4, 6)])
def test_split_has_a_closed_form(sizes: tuple[int, ...]) -> None:
    """A made-up report adds 1/k + (1 − 1/k)/λ to its label; among uniform answers a share of λ stays hidden."""
    plan = design(schema_of(sizes), 1.0, "spl")
    for size, channel, effect in zip(
        sizes,
        plan.sampler.channels,
        poison(plan.sampler, [np.full(size, 1 / size) for size in sizes], COLLUDERS),
        strict=True,
    ):
        assert effect is not None
        assert effect.shift == pytest.approx(COLLUDERS * (1 - 1 / size) / float(channel.scale))
        assert effect.shift == effect.quiet_shift
        assert effect.hidden_below == pytest.approx(float(channel.scale))


def test_people_who_all_answer_one_question_weigh_more_but_show() -> None:
    plan = design(schema_of((2, 2, 2, 2)), 1.0, "smp")
    effect = poison(plan.sampler, [np.full(2, 0.5)] * 4, COLLUDERS)[0]
    assert effect is not None
    assert effect.shift / effect.quiet_shift == pytest.approx(1 / (0.01 + 0.99 / 4))


def test_totals_that_the_reports_do_not_determine_have_no_shift() -> None:
    plan = plan_of("corr-rr", (3, 3))
    copies = ((1.0, 1.0), (1.0, 1.0))
    same = Plan(plan.schema, plan.epsilon, "corr-rr", 2, "corr-rr", copy_probability=copies)
    assert audit(same)["poisoning"]["attributes"] == {"q0": None, "q1": None}


def test_the_guide_states_the_numbers() -> None:
    """The table in docs/guide/privacy-promise.md."""
    schema = schema_of((4, 4, 4, 4))
    half = tuple(tuple(1.0 if own == other else 0.5 for other in range(4)) for own in range(4))
    copying = Plan(schema, 1.0, "corr-rr", 2, "corr-rr", copy_probability=half)
    stated = {
        "spl": (11.3, 11.3, 0.066),
        "rs-fd": (10.0, 10.0, 0.075),
        "corr-rr": (15.0, 15.0, 0.050),
        "smp": (9.7, 2.5, 0.300),
    }
    for plan in (design(schema, 1.0, "spl"), design(schema, 1.0, "rs-fd"), copying, design(schema, 1.0, "smp")):
        found = audit(plan)["poisoning"]["attributes"]["q0"]
        shift, hidden_shift, hidden_below = stated[plan.mechanism]
        assert found["shift_points"] == pytest.approx(shift, abs=0.05)
        assert found["quiet_shift_points"] == pytest.approx(hidden_shift, abs=0.05)
        assert found["hidden_below_share"] == pytest.approx(hidden_below, abs=0.0006)
