"""privtally in bulk: `respond_many`, `count` and `estimate`, and the random stream alone."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.side_by_side.driver import Frequencies, Job, Population, Work, main
from privtally.collector.estimate import estimate
from privtally.collector.tally import count, nothing
from privtally.documents.plan import Plan, design
from privtally.documents.report import Reports
from privtally.exact.randomness import Source, Stream, Words
from privtally.names import MechanismName, Method
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema, code_type


def schema_of(attributes: int, size: int) -> Schema:
    """Attributes that all have the same number of labels."""
    return Schema.of({f"q{own}": [str(code) for code in range(size)] for own in range(attributes)})


def records_of(population: Population, plan: Plan) -> Records:
    """The population as the plan's records, column by column as in a data frame."""
    codes = np.frombuffer(population.codes, dtype=np.uint16).reshape(-1, population.attributes)
    return Records(plan.schema, codes.astype(code_type(plan.schema.sizes), order="F"))


def in_pieces(plan: Plan, records: Records, source: Source) -> Iterator[Reports]:
    """Everybody's reports, `PIECE` at a time, so that memory stays the same."""
    for start in range(0, len(records), PIECE):
        piece = Records(plan.schema, records.codes[start : start + PIECE])
        yield respond_many(plan, piece, source)


def bulk(mechanism: MechanismName, method: Method, population: Population, epsilon: float) -> Work:
    """Everybody's reports, their counts and the estimate."""
    plan = design(schema_of(population.attributes, population.size), epsilon, mechanism)
    records = records_of(population, plan)

    def work() -> Frequencies:
        pieces = in_pieces(plan, records, Stream.from_system())
        counts = sum((count(plan, reports.codes) for reports in pieces), start=nothing(plan))
        found = estimate([(plan, counts)], method)
        return [own.frequencies for own in found.attributes.values()]

    return work


class Counting:
    """A stream that remembers how many words were taken from it."""

    def __init__(self) -> None:
        self.stream, self.taken = Stream.from_system(), [0]

    def words(self, count: int) -> Words:
        self.taken.append(count)
        return self.stream.words(count)


def stream_alone(mechanism: MechanismName, population: Population, epsilon: float) -> Work:
    """The random words that the reports of everybody take, in the same portions, and nothing else: the limit."""
    plan = design(schema_of(population.attributes, population.size), epsilon, mechanism)
    counting, stream = Counting(), Stream.from_system()
    for _ in in_pieces(plan, records_of(population, plan), counting):
        pass

    def work() -> Frequencies:
        for portion in counting.taken:
            stream.words(portion)
        return []

    return work


PIECE = 1 << 19
"""How many people report at a time."""

MECHANISMS: dict[str, MechanismName] = {"SPL": "spl", "SMP": "smp", "RS+FD": "rs-fd"}

JOBS: dict[str, Job] = {
    **{f"{name}, unbiased": partial(bulk, mechanism, "unbiased") for name, mechanism in MECHANISMS.items()},
    **{f"{name}, likelihood": partial(bulk, mechanism, "likelihood") for name, mechanism in MECHANISMS.items()},
    **{f"{name}, stream alone": partial(stream_alone, mechanism) for name, mechanism in MECHANISMS.items()},
}

if __name__ == "__main__":
    main(JOBS)
