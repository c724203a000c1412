"""Speed side by side: medians of repetitions that take turns, in CPU time, and ratios within each turn."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.side_by_side.environments import DIFFPRIVLIB, MULTI_FREQ, OPENDP, PURE, MissingError, Peer
from benchmarks.side_by_side.running import Data, Running, population_file

ATTRIBUTES, SIZE, EPSILON = 4, 4, 1.0
SHARES = (0.4, 0.3, 0.2, 0.1)
MOST_PEOPLE = 4_000_000
TRIAL = 2_000
TURN_SECONDS = 0.5
US = "privtally unbiased"
"""What ratios are to: the same estimate as the peers' matrix inversion."""
LIMIT = "random stream alone"
BARS = {"SPL": 150, "RS+FD": 150, "SMP": 50}
"""How many times as fast as multi-freq-ldpy privtally has to be."""


@dataclass(frozen=True)
class Subject:
    """Who does a job, by which of its driver's jobs; `peer` is None for privtally."""

    job: str
    name: str
    peer: Peer | None
    driven: str


def subjects() -> list[Subject]:
    """Everybody who does each job."""
    found = []
    for job in BARS:
        ours = {US: "unbiased", "privtally likelihood": "likelihood"}
        found += [Subject(job, name, None, f"{job}, {driven}") for name, driven in ours.items()]
        found += [Subject(job, LIMIT, None, f"{job}, stream alone"), Subject(job, MULTI_FREQ.name, MULTI_FREQ, job)]
    found += [Subject("SPL", f"{PURE.name} {oracle}", PURE, oracle) for oracle in ("GRR", "OUE", "OLH")]
    found.append(Subject("SPL", OPENDP.name, OPENDP, "randomized response"))
    found.append(Subject("SPL", DIFFPRIVLIB.name, DIFFPRIVLIB, "exponential"))
    return found


@dataclass
class Measured:
    """The repetitions of one subject at one job, or why there are none."""

    subject: Subject
    people: int = 0
    rates: Sequence[float] = ()
    peak_mb: float | None = None
    reason: str | None = None


def round_down(number: float) -> int:
    """The largest number with one significant digit that is not above a number of at least 1."""
    power: int = 10 ** (len(str(int(number))) - 1)
    return int(number) // power * power


def people_for(rate: float) -> int:
    """How many people keep a subject of this rate busy for a turn."""
    return round_down(min(max(rate * TURN_SECONDS, TRIAL), MOST_PEOPLE))


def measure(turns: int, wanted: Iterable[Subject] | None = None) -> list[Measured]:
    """Every subject at its job, turn by turn."""
    codes = np.random.default_rng(0).choice(SIZE, (MOST_PEOPLE, ATTRIBUTES), p=SHARES).astype(np.uint16)
    with population_file(codes, SIZE) as data:
        del codes
        return _take_turns([Measured(each) for each in wanted or subjects()], data, turns)


def _take_turns(measured: list[Measured], data: Data, turns: int) -> list[Measured]:
    with ExitStack() as stack:
        running = []
        for each in measured:
            try:
                driver = stack.enter_context(Running(each.subject.peer, each.subject.driven, data))
                each.people = suitable(driver)
                running.append((each, driver))
            except MissingError as why:
                each.reason = str(why)
        for _ in range(turns):
            for each, driver in running:
                found = driver.run(each.people, EPSILON)
                each.rates = [*each.rates, each.people / found["cpu"]]
                each.peak_mb = found["peak_mb"]
    return measured


def suitable(driver: Running) -> int:
    """How many people keep a driver busy for a turn, by two trials; before them it compiles what it has to."""
    driver.run(TRIAL, EPSILON)
    people = TRIAL
    for _ in range(2):
        people = people_for(people / driver.run(people, EPSILON)["cpu"])
    return people


def rows(measured: Sequence[Measured]) -> list[dict[str, Any]]:
    """The figures as a program reads them; `ratio_to_us` is the median over turns of a subject's rate by ours."""
    ours = {each.subject.job: each.rates for each in measured if each.subject.name == US}
    found = []
    for each in measured:
        row: dict[str, Any] = {"job": each.subject.job, "subject": each.subject.name}
        row |= {"reports_per_second": None, "peak_mb": each.peak_mb, "ratio_to_us": None}
        if each.rates:
            row["reports_per_second"] = statistics.median(each.rates)
            pairs = zip(each.rates, ours[each.subject.job], strict=True)
            row["ratio_to_us"] = statistics.median(own / us for own, us in pairs)
        if each.reason is not None:
            row["reason"] = each.reason
        found.append(row)
    return found


def missed(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """The bars that were not reached, in words."""
    said = []
    for row in found:
        ratio = row["ratio_to_us"]
        if row["subject"] == MULTI_FREQ.name and ratio is not None and 1 / ratio < BARS[row["job"]]:
            said.append(f"{row['job']} {1 / ratio:.0f} of {BARS[row['job']]} times multi-freq-ldpy")
    return said
