"""What the comparison with peers does by itself: ratios, tables, orders and answers. Nothing is installed or timed."""

import io
import json
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.interop import ATTRIBUTES, SIZE, plan_for, to_ours, to_theirs
from benchmarks.side_by_side import accuracy, speed, words
from benchmarks.side_by_side.drive_privtally import JOBS, MECHANISMS
from benchmarks.side_by_side.driver import Population, Work, obey, write_population
from benchmarks.side_by_side.environments import MULTI_FREQ, PEERS
from benchmarks.side_by_side.speed import US, Measured, Subject
from numpy.typing import NDArray

from privtally.lab.population import seeded
from privtally.participant.respond import respond_many
from privtally.schema import Records

KEYS = {"job", "subject", "reports_per_second", "peak_mb", "ratio_to_us"}


def measured() -> list[Measured]:
    ours = Measured(Subject("SPL", US, None, "SPL, unbiased"), 100, [100.0, 50.0, 400.0], 10.0)
    theirs = Measured(Subject("SPL", MULTI_FREQ.name, MULTI_FREQ, "SPL"), 10, [1.0, 1.0, 1.0], 20.0)
    absent = Measured(Subject("SPL", "absent", MULTI_FREQ, "SPL"), reason="no such package")
    return [ours, theirs, absent]


def test_a_ratio_is_taken_within_a_turn() -> None:
    ours, theirs, absent = speed.rows(measured())
    assert ours["ratio_to_us"] == 1
    assert theirs["ratio_to_us"] == pytest.approx(1 / 100)
    assert set(ours) == set(theirs) == KEYS
    assert set(absent) == {*KEYS, "reason"}
    assert absent["ratio_to_us"] is absent["reports_per_second"] is None
    json.dumps([ours, theirs, absent])


@pytest.mark.parametrize(("ratio", "held"), [(1 / 151, True), (1 / 149, False)])
def test_a_missed_bar_is_named(ratio: float, held: bool) -> None:
    row = {"job": "SPL", "subject": MULTI_FREQ.name, "ratio_to_us": ratio}
    assert (speed.missed([row]) == []) == held


def test_a_missing_peer_is_a_row_and_a_reason() -> None:
    rows = speed.rows(measured())
    lines = words.speed(rows).splitlines()
    assert len(lines) == 2 + len(rows)
    assert len({len(line) for line in lines if "---" not in line}) == 1
    assert ["no such package" in reason for reason in words.reasons(rows)] == [True]


def test_every_subject_of_ours_is_a_job_of_our_driver() -> None:
    ours = [each.driven for each in speed.subjects() if each.peer is None]
    ours += [each.driven for each in [*accuracy.FEW_LABELS, *accuracy.MANY_LABELS] if each.peer is None]
    assert set(ours) == set(JOBS)
    assert {each.peer for each in speed.subjects()} == {None, *PEERS}


def test_a_driver_obeys_orders(tmp_path: Path) -> None:
    def shares(population: Population, epsilon: float) -> Work:
        assert epsilon == 2.0
        return lambda: [
            [own.count(code) / population.people for code in range(population.size)] for own in population.columns()
        ]

    write_population(tmp_path / "codes", [0, 1, 1, 1, 2, 0])
    orders = io.StringIO(json.dumps({"job": "shares", "people": 2, "epsilon": 2.0}) + "\n")
    answers = io.StringIO()
    obey({"shares": shares}, orders, answers, tmp_path / "codes", attributes=2, size=3)
    found = json.loads(answers.getvalue())
    assert found["frequencies"] == [[0.5, 0.5, 0], [0, 1, 0]]
    assert found["cpu"] >= 0
    assert found["peak_mb"] > 1


@pytest.mark.parametrize("job", [job for job in JOBS if "stream" not in job])
def test_our_driver_estimates_the_population(job: str) -> None:
    codes = accuracy.four_attributes(20_000)
    truth = np.array([np.bincount(own, minlength=4) for own in codes.T]) / len(codes)
    population = Population(_array(codes), 4, 4)
    found = JOBS[job](population, 4.0)()
    assert np.abs(np.array(found) - truth).max() < 0.25


def _array(codes: NDArray[Any]) -> "array[int]":
    return array("H", codes.ravel().tolist())


@pytest.mark.parametrize("job", MECHANISMS)
def test_reports_survive_the_way_there_and_back(job: str) -> None:
    plan = plan_for(job)
    records = np.random.default_rng(0).integers(0, SIZE, (50, ATTRIBUTES), dtype=np.uint8)
    codes = respond_many(plan, Records(plan.schema, records), seeded(1)).codes
    np.testing.assert_array_equal(to_ours(job, to_theirs(job, codes)), codes)


def test_every_peer_has_pinned_versions() -> None:
    for peer in PEERS:
        assert peer.version
        assert all("==" in line for line in peer.pins.read_text().splitlines())
