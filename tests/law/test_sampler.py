"""Samplers against their laws: exactly, word by word, where that can be done, and whole reports by a chi-square test.

The chi-square tests accept above p = 1e-9 and run on a fixed seed: with about a hundred of them, a correct sampler
would be refused for one seed in ten million. Each has controls with a wrong law that must be refused.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from privtally.exact.randomness import WORD
from privtally.exact.rational import nearest_probability
from privtally.lab.population import seeded
from privtally.mechanisms.channels import Channel, Keep, Uniform, conditional, copying, randomized_response
from privtally.mechanisms.mechanism import Mechanism
from privtally.mechanisms.projective import Geometry, projective_response
from privtally.names import MechanismName
from privtally.participant.respond import respond
from privtally.schema import Record
from tests.support import EXTENSIONS, Scripted, cases, chi_square_p, laws_of, plan_of

CHANNELS: Sequence[tuple[str, Channel, int]] = (
    ("response on 2", randomized_response(Fraction(1), 2), 2),
    ("response on 5", randomized_response(Fraction(1, 3), 5), 5),
    ("response on 128", randomized_response(Fraction(1), 128), 128),  # the most whose sums fit a byte
    ("response on 129", randomized_response(Fraction(1), 129), 129),
    ("rarely copies", copying(nearest_probability(0.1), 4), 4),
    ("often copies", copying(nearest_probability(0.9), 3), 3),
    ("never copies", copying(0.0, 3), 3),
    ("copies evenly on 2", copying(0.5, 2), 2),
    ("evenly on 7", Uniform(7), 7),
    ("table", conditional([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]]), 2),
    ("one row", conditional([[0.125, 0.125, 0.75]]), 1),
    ("planes", projective_response(Fraction(1), 6, Geometry(2, 3)), 6),
    ("a point", conditional([[0.0, 0.0, 0.0, 1.0]]), 3),
)


def output_of(channel: Channel, given: int, word: int) -> int | None:
    """What one word leads to, or None if the sampler asks for another word instead."""
    script = Scripted([word, 0])
    drawn = channel.draw(np.array([given], dtype=np.uint16), script)
    return int(drawn[0]) if script.left else None


def assert_exact_shares(channel: Channel, inputs: int) -> None:
    """An output as a function of the word is a step function; find every step by bisection and measure it."""
    for given in {0, inputs // 2, inputs - 1}:
        found: dict[int | None, int] = {}
        start = 0
        while start < WORD:
            here = output_of(channel, given, start)
            inside, outside = start, WORD
            while outside - inside > 1:
                middle = (inside + outside) // 2
                if output_of(channel, given, middle) == here:
                    inside = middle
                else:
                    outside = middle
            found[here] = found.get(here, 0) + outside - start
            start = outside
            assert len(found) <= channel.outputs + 1
        accepted = WORD - found.pop(None, 0)
        assert accepted > WORD * 0.999
        for output in range(channel.outputs):
            assert Fraction(found.get(output, 0), accepted) == channel.probability(given, output)


@pytest.mark.parametrize(("channel", "inputs"), [case[1:] for case in CHANNELS], ids=[case[0] for case in CHANNELS])
def test_the_words_that_lead_to_each_output_are_exactly_its_share(channel: Channel, inputs: int) -> None:
    assert_exact_shares(channel, inputs)


def test_copying_always_uses_no_randomness() -> None:
    assert copying(1.0, 4).draw(np.array([3, 0, 2], dtype=np.uint8), Scripted([])).tolist() == [3, 0, 2]


def test_a_rejected_word_is_replaced_where_it_stood() -> None:
    channel = Keep(3, 1, 1)
    last = WORD - 1
    assert WORD % 3 == 1
    script = Scripted([0, last, WORD - 2, last, 0])
    assert channel.draw(np.array([0, 0, 0], dtype=np.uint8), script).tolist() == [1, 1, 0]


REPORTS = 200_000
"""Enough to tell a budget from one that is a fifth smaller or larger, on every shape below."""


def draws(mechanism: Mechanism, record: tuple[int, ...]) -> np.ndarray:
    records = np.tile(np.array(record, dtype=np.uint8), (REPORTS, 1))
    return mechanism.privatise(records, seeded(11))


def two_records(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    return [tuple(0 for _ in sizes), tuple(size - 1 - own % 2 for own, size in enumerate(sizes))]


@pytest.mark.parametrize(("mechanism", "sizes"), cases([(4, 4), (2, 3, 5), (3, 3, 3, 3)]))
def test_the_sampler_follows_its_law(mechanism: MechanismName, sizes: tuple[int, ...]) -> None:
    sampler = plan_of(mechanism, sizes).mechanism
    for record in two_records(sizes):
        reports = draws(sampler, record)
        assert chi_square_p(reports, sampler.law(record)) > 1e-9
        for drift in (0.2, -0.2):
            drifted = plan_of(mechanism, sizes, epsilon=1 + drift).mechanism.law(record)
            assert chi_square_p(reports, drifted) < 1e-9
        if mechanism in ("rs-rfd", "corr-rr", "cond-rr"):
            otherwise_filled = plan_of(mechanism, sizes, seed=1).mechanism.law(record)
            assert chi_square_p(reports, otherwise_filled) < 1e-9


@pytest.mark.parametrize("name", EXTENSIONS)
def test_the_sampler_of_any_parts_pivots_and_channels_follows_its_law(name: str) -> None:
    mechanism = EXTENSIONS[name](1.0)
    one, two = two_records(mechanism.sizes)
    for record, other in ((one, two), (two, one)):
        reports = draws(mechanism, record)
        assert chi_square_p(reports, laws_of(name, 1.0)[record]) > 1e-9
        assert chi_square_p(reports, laws_of(name, 1.0)[other]) < 1e-9
        for drift in (0.2, -0.2):
            assert chi_square_p(reports, EXTENSIONS[name](1 + drift).law(record)) < 1e-9


@pytest.mark.parametrize("mechanism", ["smp", "corr-rr"])
def test_one_report_at_a_time_follows_the_same_law(mechanism: MechanismName) -> None:
    plan = plan_of(mechanism, (3, 3), epsilon=2.0)
    source = seeded(5)
    record = Record((2, 0))
    reports = np.array(
        [[3 if code is None else code for code in respond(plan, record, source).codes] for _ in range(6_000)]
    )
    assert chi_square_p(reports, plan.mechanism.law((2, 0))) > 1e-9
    assert chi_square_p(reports, plan_of(mechanism, (3, 3), epsilon=1.4).mechanism.law((2, 0))) < 1e-9
