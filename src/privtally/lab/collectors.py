"""People of simulated campaigns and the counts of their reports: exactly by multinomials, or user by user."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from privtally.documents.counts import WHOLE_REPORT_LIMIT, Counts, WholeReports, count, from_whole
from privtally.documents.plan import Plan
from privtally.lab.population import Tensor, marginals, resample, split_table, table_of
from privtally.lab.seed import seeded
from privtally.lab.simulate import Fills, pivot_whole, private_pivots, spl_whole
from privtally.mechanisms import Pivot, Sample, Split
from privtally.mechanisms.channel import Keep
from privtally.participant.respond import respond_many
from privtally.schema import Records

People = TypeVar("People")


class Collector(Protocol[People]):
    """People, and the counts of their reports."""

    def everybody(self) -> People:
        """The people of one run."""
        ...

    def phases(self, first: int) -> tuple[People, People]:
        """The people of one run, so many of them chosen at random for Phase I."""
        ...

    def truth(self, *parts: People) -> list[Any]:
        """The true frequencies of every attribute among them."""
        ...

    def count(self, plan: Plan, people: People) -> Counts:
        """The counts of their reports to a plan."""
        ...


class Exact:
    """People as tables of different records; counts from multinomials."""

    def __init__(self, records: Records, users: int | None, generator: np.random.Generator) -> None:
        self._generator = generator
        self._users = users
        self._table = table_of(records)

    def everybody(self) -> Tensor:
        return self._table if self._users is None else self._drawn(self._users)

    def phases(self, first: int) -> tuple[Tensor, Tensor]:
        if self._users is None:
            one, two = split_table(self._table[None], first, self._generator)
            return one[0], two[0]
        # People drawn with replacement need no splitting: each phase draws its own.
        return self._drawn(first), self._drawn(self._users - first)

    def _drawn(self, people: int) -> Tensor:
        drawn: Tensor = resample(self._table, people, 1, self._generator)[0]
        return drawn

    def truth(self, *parts: Tensor) -> list[Any]:
        people = sum(parts, start=np.zeros_like(self._table))
        return [margin[0] / people.sum() for margin in marginals(people[None])]

    def count(self, plan: Plan, people: Tensor) -> Counts:
        sampler, tables = plan.sampler, people[None]
        if isinstance(sampler, Split):
            return from_tensor(plan, spl_whole(tables, scales(sampler.channels), self._generator)[0])
        if isinstance(sampler, Sample):
            return from_answers(plan, private_pivots(tables, scales(sampler.channels), self._generator))
        assert isinstance(sampler, Pivot)
        private = private_pivots(tables, scales(sampler.channels), self._generator)
        return from_tensor(plan, pivot_whole(private, matrices(sampler), self._generator)[0])


class UserByUser:
    """People as records; counts from privatising each of them."""

    def __init__(self, records: Records, users: int | None, seed: int) -> None:
        self._records = records
        self._users = users
        self._generator = np.random.default_rng(seed)
        self._source = seeded(seed)

    def everybody(self) -> Records:
        if self._users is None:
            return self._records
        return self._chosen(self._records, self._generator.integers(0, len(self._records), self._users))

    def phases(self, first: int) -> tuple[Records, Records]:
        people = self.everybody()
        order = self._generator.permutation(len(people))
        return self._chosen(people, order[:first]), self._chosen(people, order[first:])

    def _chosen(self, people: Records, places: Any) -> Records:
        return Records(people.schema, people.codes[places])

    def truth(self, *parts: Records) -> list[Any]:
        people = Records(parts[0].schema, np.concatenate([part.codes for part in parts]))
        return [np.array(values) for values in people.frequencies().values()]

    def count(self, plan: Plan, people: Records) -> Counts:
        return count(plan, respond_many(plan, people, self._source).codes)


def scales(channels: Sequence[Keep]) -> list[float]:
    """What each channel lets through."""
    return [float(channel.scale) for channel in channels]


def matrices(sampler: Pivot) -> Fills:
    """Each fill as a matrix: what it does to each certain code."""
    sizes = sampler.sizes
    return [
        [
            None if pivot == other else sampler.fills[pivot][other].push(np.eye(sizes[pivot]))
            for other in range(len(sizes))
        ]
        for pivot in range(len(sizes))
    ]


def from_tensor(plan: Plan, tensor: Tensor) -> Counts:
    """Counts from how often each whole report occurs."""
    codes = np.argwhere(tensor)
    return from_whole(plan.digest, plan.sampler.outputs, WholeReports(codes, tensor[tensor > 0]), WHOLE_REPORT_LIMIT)


def from_answers(plan: Plan, private: Sequence[Tensor]) -> Counts:
    """SMP: the private pivot is all there is, the rest says "not asked"."""
    sizes = np.array(plan.sampler.sizes)
    rows, times = [], []
    for pivot, margin in enumerate(private):
        for code in np.flatnonzero(margin[0]):
            rows.append([*sizes[:pivot], code, *sizes[pivot + 1 :]])
            times.append(margin[0, code])
    order = np.lexsort(np.array(rows).T[::-1])
    whole = WholeReports(np.array(rows, dtype=np.int64)[order], np.array(times, dtype=np.int64)[order])
    return from_whole(plan.digest, plan.sampler.outputs, whole, WHOLE_REPORT_LIMIT)
