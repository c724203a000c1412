"""Two attributes together."""

import msgspec
import numpy as np
import pytest

from privtally.collector.estimate import Phase
from privtally.collector.pairs import estimate_pair
from privtally.collector.tally import count, nothing
from privtally.errors import EstimateError
from privtally.names import MechanismName
from tests.collector.made_up import campaign, simulated
from tests.support import first_plan, plan_of

TRUTH = np.array([[0.3, 0.1, 0.0], [0.05, 0.15, 0.4]])


def asked(people: int, epsilon: float, seed: int) -> Phase:
    plan = first_plan((2, 3, 2), epsilon)
    return plan, simulated(plan, TRUTH[:, :, None] * [0.5, 0.5], people, np.random.default_rng(seed))


def test_a_table_is_found_again() -> None:
    """Every cell is within six standard errors."""
    found = estimate_pair([asked(400_000, 6.0, 1)], "q0", "q1")
    errors = np.array(found.standard_errors)
    assert np.abs(np.array(found.frequencies) - TRUTH).max() < 6 * errors.max()
    assert errors.max() < 0.01
    assert np.array(found.frequencies).sum() == pytest.approx(1)
    assert np.array(found.frequencies).min() >= 0


def test_the_other_way_round_is_the_transpose() -> None:
    phase = asked(5_000, 3.0, 2)
    one, two = estimate_pair([phase], "q0", "q1"), estimate_pair([phase], "q1", "q0")
    assert np.array(one.frequencies) == pytest.approx(np.array(two.frequencies).T)
    assert np.array(one.standard_errors) == pytest.approx(np.array(two.standard_errors).T)
    assert (one.attributes, one.labels) == (two.attributes[::-1], two.labels[::-1])


def test_standard_errors_are_the_spread_of_repeated_campaigns() -> None:
    """Far from the edges the projection does little; 60 runs tell a factor of 2 from 1 beyond five sigma."""
    runs = [np.array(estimate_pair([asked(20_000, 8.0, seed)], "q0", "q1").frequencies) for seed in range(60)]
    stated = np.array(estimate_pair([asked(20_000, 8.0, 0)], "q0", "q1").standard_errors)
    inside = TRUTH > 0.04
    ratio = np.std(runs, axis=0)[inside] / stated[inside]
    assert ratio.min() > 0.6
    assert ratio.max() < 1.5
    assert not (ratio.max() / 3 > 0.6)


def test_a_csv_has_a_line_for_each_two_labels() -> None:
    lines = estimate_pair([asked(500, 3.0, 2)], "q1", "q0").to_csv().decode().splitlines()
    assert lines[0].split(",")[:2] == ["q1", "q0"]
    assert [line.split(",")[:2] for line in lines[1:3]] == [["a0", "a0"], ["a0", "a1"]]
    assert len(lines) == 7


def test_what_carries_nothing_says_so() -> None:
    plan = plan_of("corr-rr", (2, 2))
    with pytest.raises(EstimateError, match="'q0' and 'q1'"):
        estimate_pair([(plan, count(plan, np.zeros((5, 2), dtype=np.uint8)))], "q0", "q1")
    phase = asked(50, 1.0, 1)
    with pytest.raises(EstimateError, match="'x'"):
        estimate_pair([phase], "q0", "x")
    with pytest.raises(EstimateError, match="'q0'"):
        estimate_pair([phase], "q0", "q0")
    with pytest.raises(EstimateError, match="phase 1"):
        estimate_pair([(phase[0], nothing(phase[0]))], "q0", "q1")
    wide = first_plan((3_000, 3_000))
    many = np.random.default_rng(1).integers(0, 3_000, (9, 2)).astype(np.uint16)
    with pytest.raises(EstimateError, match="'q0' and 'q1'"):
        estimate_pair([(wide, count(wide, many))], "q0", "q1")


@pytest.mark.parametrize("mechanism", ["rs-rfd", "corr-rr", "cond-rr"])
def test_a_campaign_of_any_length_may_be_given_whole(mechanism: MechanismName) -> None:
    """Only the first phase carries both answers; the others make the margins more exact."""
    history = campaign(mechanism, 3)
    alone = estimate_pair(history[:1], "q0", "q1")
    assert alone.reports == history[0][1].reports
    for phases in (2, 3):
        more = estimate_pair(history[:phases][::-1], "q0", "q1")
        assert more.reports == alone.reports
        assert np.square(more.standard_errors).mean() < np.square(alone.standard_errors).mean()
    with pytest.raises(EstimateError):
        estimate_pair(history[1:], "q0", "q1")


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_table_with_a_number_that_is_not_finite_is_refused(number: float) -> None:
    found = estimate_pair([asked(100, 2.0, 1)], "q0", "q1")
    for name in ("frequencies", "standard_errors"):
        with pytest.raises(EstimateError, match="finite"):
            msgspec.structs.replace(found, **{name: ((number, 0.0, 0.0), (0.0, 0.0, 0.0))})


def test_a_phase_twice_and_another_campaign_are_refused() -> None:
    history = campaign("rs-rfd", 2)
    with pytest.raises(EstimateError, match="phase 1"):
        estimate_pair([history[0], history[0]], "q0", "q1")
    another = msgspec.structs.replace(history[0][0], nonce="0" * 32)
    with pytest.raises(EstimateError, match="campaign"):
        estimate_pair([(another, count(another, np.zeros((5, 2), dtype=np.uint8))), history[1]], "q0", "q1")
