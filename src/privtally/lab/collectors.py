"""People of simulated campaigns and the counts of their reports: exactly by multinomials, or user by user."""

from typing import Any, Protocol, TypeVar

import numpy as np

from privtally.collector.tally import count, count_times
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.documents.sub_reports import SubReports
from privtally.lab.population import Tensor, marginals, resample, split_table, table_of
from privtally.lab.seed import seeded
from privtally.lab.simulate import simulate
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
        reports = simulate(plan.sampler, from_table(people), self._generator)
        return count_times(plan, reports.codes, reports.times)


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


def from_table(table: Tensor) -> SubReports:
    """How often each record or report occurs, as distinct rows with their numbers."""
    return SubReports(np.argwhere(table), table[table > 0])
