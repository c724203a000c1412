"""The checks that planted faults must fail, by name: small cases, with the code as it stands when they are called.

They are the exact measure of a channel's words, what a plan's parameters mean, the enumerated privacy of every
mechanism, the chi-square test of whole reports, and how well the asked attributes of learned plans can be guessed.
"""

from collections.abc import Callable
from fractions import Fraction
from math import exp

import msgspec
import numpy as np

from privtally.collector import estimate, rounds
from privtally.collector.learn import learn
from privtally.documents import campaign as campaigns
from privtally.documents.plan import Plan
from privtally.errors import CampaignError
from privtally.lab.population import seeded
from privtally.mechanisms import channels, projective
from privtally.mechanisms import channels as fillings
from privtally.mechanisms.channels import Channel, Keep, Uniform
from privtally.mechanisms.fills import CopyFill, TableFill
from privtally.mechanisms.projective import Geometry
from privtally.participant.respond import respond_many
from privtally.privacy import audit
from privtally.schema import Records
from tests.law.test_sampler import assert_exact_shares
from tests.support import (
    EXTENDED_PLANS,
    MECHANISMS,
    all_laws,
    chi_square_p,
    counts_of,
    exact_guess,
    exp_below,
    expected_counts,
    fill_of,
    first_plan,
    later_plan,
    plan_of,
    plan_with,
    worst_ratio,
)

ALIGNED, ALIGNED_LARGE = "aligned", "aligned, large"
Groups = list[list[str]]
GROUPS, SILENT_GROUPS = "groups, table", "groups, silent"
LARGE, LARGE_COPY, LARGE_ROW = "large, uniform", "large, copy", "large, row"
PIVOTS, SILENT_PIVOTS = "two pivots, table", "two pivots, silent"
DECOYS, DECOY_TABLE = "one decoy, uniform", "one decoy, table"
BEYOND = (
    DECOYS,
    DECOY_TABLE,
    GROUPS,
    SILENT_GROUPS,
    PIVOTS,
    SILENT_PIVOTS,
    LARGE,
    LARGE_COPY,
    LARGE_ROW,
    ALIGNED,
    ALIGNED_LARGE,
)
LEARNED_PIVOTS, FEWER_PIVOTS = "learned pivots", "fewer pivots"
RECORDS = {2: (2, 0), 3: (1, 2, 0), 4: (2, 0, 0, 1)}
"""A record for each number of attributes, its codes not all the same."""


def plan_named(name: str) -> Plan:
    """A plan built anew, with the code as it stands now."""
    if name in (LEARNED_PIVOTS, FEWER_PIVOTS):
        return with_learned_pivots(people=100 if name == FEWER_PIVOTS else 10**9)
    if name in EXTENDED_PLANS:
        return plan_with(*EXTENDED_PLANS[name], epsilon=1.0)
    return plan_of(name, (3, 3), epsilon=1.0, seed=6)  # type: ignore[arg-type]


GOING_TOGETHER = np.array([[[8, 1], [3, 0.75], [1, 0.75]], [[1, 1], [1, 2], [2, 12]]]) / 33.5
"""Answers to three attributes of which every two go together, and the three no more than that."""


def with_learned_pivots(people: int) -> Plan:
    """What Cond-RR learns if two pivots are wanted; its first reports are as frequent as expected."""
    first = first_plan((2, 3, 2), 1.0, "cond-rr")
    reported = GOING_TOGETHER
    for axis, size in enumerate(reported.shape):
        kept = exp(1 / 3)
        channel = (np.ones((size, size)) + (kept - 1) * np.eye(size)) / (kept + size - 1)
        reported = np.moveaxis(np.tensordot(channel, reported, axes=(0, axis)), 0, axis)
    return learn([(first, counts_of(first, np.rint(people * reported).astype(np.int64)))], pivots=2)


def meaning_of_learned_tables() -> None:
    """Nearer to the population's conditional table than to its rows in another order."""
    (part,) = plan_named(LEARNED_PIVOTS).parts
    assert isinstance(part.fill, TableFill)
    (table,) = (each for each in part.fill.tables if (each.pivots, each.other) == ((0, 1), 2))
    law = GOING_TOGETHER / GOING_TOGETHER.sum(axis=2, keepdims=True)
    off = np.abs(np.array(table.rows).reshape(2, 3, 2) - law).max()
    turned = np.abs(np.array(table.rows).reshape(3, 2, 2).transpose(1, 0, 2) - law).max()
    assert off < 0.1 < turned


def meaning_of_fewer_pivots() -> None:
    """A hundred people do not support tables given two answers; a billion do."""
    assert [part.pivots for part in plan_named(FEWER_PIVOTS).parts] == [1]
    assert [part.pivots for part in plan_named(LEARNED_PIVOTS).parts] == [2]


def words_of(*cases: tuple[Callable[[], Channel], int]) -> Callable[[], None]:
    def check() -> None:
        for channel, inputs in cases:
            assert_exact_shares(channel(), inputs)

    return check


def worst_of(name: str) -> Fraction:
    laws = list(all_laws(plan_named(name).mechanism).values())
    assert all(sum(law.values()) == 1 for law in laws)
    return worst_ratio(laws)


def private(name: str) -> Callable[[], None]:
    def check() -> None:
        assert worst_of(name) <= exp_below(Fraction(1))

    return check


def used(name: str) -> Callable[[], None]:
    def check() -> None:
        assert worst_of(name) >= exp_below(Fraction(9_999, 10_000))

    return check


def reports_of(name: str) -> Callable[[], None]:
    """Whole reports against the law: the sampler may be at fault, never the law of an honest plan."""

    def check() -> None:
        plan = plan_named(name)
        record = RECORDS[plan.mechanism.width]
        records = Records(plan.schema, np.tile(np.array([record], dtype=np.uint8), (40_000, 1)))
        assert chi_square_p(respond_many(plan, records, seeded(8)).codes, plan.mechanism.law(record)) > 1e-9

    return check


def meaning_of_copies() -> None:
    assert fillings.copying(0.25, 3).probability(1, 1) == Fraction(1, 4)
    assert fillings.copying(0.25, 3).probability(1, 2) == Fraction(3, 8)
    (part,) = plan_named("corr-rr").mechanism.parts
    assert isinstance(part.fill, CopyFill)
    assert part.filling((0,), 1).probability(2, 2) == Fraction(part.fill.probability[0][1])


def meaning_of_classes() -> None:
    """The first has one label in one class and one in the other, the second one label in one and three in the other."""
    (part,) = plan_named(ALIGNED).mechanism.parts
    assert [part.filling((0,), 1).probability(1, code) for code in range(4)] == [Fraction(1, 4), *[Fraction(1, 4)] * 3]
    assert [part.filling((1,), 0).probability(2, code) for code in range(2)] == [Fraction(7, 8), Fraction(1, 8)]
    assert [part.filling((0,), 2).probability(1, code) for code in range(3)] == [Fraction(1, 3)] * 3
    nothing_matches = [part.filling((2,), 1).probability(0, code) for code in range(4)]
    assert nothing_matches == [Fraction(1, 6), Fraction(1, 3), Fraction(1, 6), Fraction(1, 3)]


def meaning_of_tables() -> None:
    assert fillings.conditional([[0.25, 0.75], [1.0, 0.0]]).probability(0, 1) == Fraction(3, 4)
    (part,) = plan_named(PIVOTS).mechanism.parts
    assert isinstance(part.fill, TableFill)
    (table,) = (each for each in part.fill.tables if (each.pivots, each.other) == ((0, 1), 2))
    rest = part.rest_probability((0, 1), (1, 0, 0))  # after three rows of the first pivot's other code
    assert rest == Fraction(table.rows[3][0])


def guess_of(name: str) -> Callable[[], None]:
    """How often the asked attributes of a part are named by somebody who knows that first answers are frequent."""

    def check() -> None:
        for part in plan_named(name).mechanism.parts:
            totals = [[Fraction(4, 5), *[Fraction(1, 5 * (size - 1))] * (size - 1)] for size in part.sizes]
            found = audit.pivot_guess(part, [np.array(own, dtype=float) for own in totals])
            assert abs(found.value - float(exact_guess(part, totals))) < 1e-9

    return check


def parts_of_rounds() -> None:
    """A round asks as the first plan did, and plans that do not are refused."""
    first = first_plan((3, 3), 1.0, "corr-rr")
    fill = fill_of("corr-rr", (3, 3))
    assert fill is not None
    second = later_plan(first, fill)
    again = campaigns.refresh([first, second])
    assert all_laws(again.mechanism) == all_laws(first.mechanism)
    assert _refused([first, second, msgspec.structs.replace(again, parts=second.parts)])
    assert _refused([first, msgspec.structs.replace(again, phase=2), msgspec.structs.replace(second, phase=3)])


def _refused(plans: list[Plan]) -> bool:
    try:
        campaigns.check_one_campaign(plans, CampaignError)
    except CampaignError:
        return True
    return False


def errors_of_returning_people() -> None:
    """Two phases with the same people: the stated variance is not below the exact one, noise halved, sampling not."""
    first = first_plan((3,), 5.0, answers=2)
    plans = [first, campaigns.refresh([first])]
    answers, people = np.array([0.5, 0.3, 0.2]), 10_000
    history = [(plan, expected_counts(plan, answers, people)) for plan in plans]
    alone = estimate.unbiased(history[:1], []).variances[0]
    sampling = answers * (1 - answers) / people
    exact = (alone - sampling) / 2 + sampling
    assert (estimate.unbiased(history, []).variances[0] > 0.99 * exact).all()
    (likelihood,) = estimate.IN_ROUNDS["likelihood"]([history], [0], [])
    assert (likelihood.variances[0] > 0.95 * exact).all()


def changes_of_rounds() -> None:
    """Two rounds, of which the second is wanted: the first one counts with the covariance of one change more."""
    points = [np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.4, 0.3])]
    spreads = [(np.eye(3) - 1 / 3) / many for many in (400.0, 90.0)]
    track = rounds.Track.of(points, spreads)
    found, spread = track.smoothed(1, 0.05)
    middle = 0.98 * np.mean(points, axis=0) + 0.02 / 3
    before = spreads[0] + 0.05 * (np.diag(middle) - np.outer(middle, middle))
    precision = [np.linalg.pinv(own, rcond=1e-9) for own in (before, spreads[1])]
    wanted = np.linalg.pinv(precision[0] + precision[1], rcond=1e-9)
    assert np.allclose(spread, wanted)
    assert np.allclose(found, 1 / 3 + wanted @ (precision[0] @ points[0] + precision[1] @ points[1]))


CHECKS: dict[str, Callable[[], None]] = {
    "words of randomized response": words_of(
        (lambda: Keep(3, 5, 2), 3),
        (lambda: Keep(2, 3, 1), 2),
        (lambda: channels.randomized_response(Fraction(1), 4), 3),
    ),
    "words of uniform": words_of((lambda: Uniform(3), 3), (lambda: Uniform(5), 3)),
    "words of tables": words_of((lambda: fillings.conditional([[0.5, 0.25, 0.25], [0.125, 0.875, 0.0]]), 2)),
    "words of large domains": words_of(
        (lambda: projective.projective_response(Fraction(1), 6, Geometry(2, 3)), 6),
        (lambda: projective.projective_response(Fraction(2), 9, Geometry(3, 3)), 9),
    ),
    "meaning of copies": meaning_of_copies,
    "meaning of classes": meaning_of_classes,
    "meaning of tables": meaning_of_tables,
    "meaning of learned tables": meaning_of_learned_tables,
    "meaning of fewer pivots": meaning_of_fewer_pivots,
    "guess of rs-rfd": guess_of("rs-rfd"),
    "guess of cond-rr": guess_of("cond-rr"),
    "parts of rounds": parts_of_rounds,
    "errors of returning people": errors_of_returning_people,
    "changes of rounds": changes_of_rounds,
    **{
        f"privacy of {name}": private(name)
        for name in (*MECHANISMS, DECOYS, GROUPS, PIVOTS, LARGE, ALIGNED, LEARNED_PIVOTS)
    },
    **{
        f"budget of {name}": used(name)
        for name in (*MECHANISMS, GROUPS, PIVOTS, LARGE, ALIGNED, LEARNED_PIVOTS, FEWER_PIVOTS)
    },
    **{f"reports of {name}": reports_of(name) for name in (*MECHANISMS, *BEYOND)},
}
