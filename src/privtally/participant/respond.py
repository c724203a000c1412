"""Answers become reports here and nowhere else: one person's, many people's, or batches on several cores."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import numpy as np

from privtally.documents.plan import Plan
from privtally.documents.report import ID_BYTES, Report, Reports
from privtally.errors import LedgerError, RecordError
from privtally.exact.randomness import Source, Stream, SystemSource
from privtally.exact.types import Codes
from privtally.participant.ledger import answer_once
from privtally.schema import Record, Records, Schema, code_type


def encode(schema: Schema, answers: Mapping[str, str | float | None], source: Source | None = None) -> Record:
    """A participant's answers as a record: a label for each attribute, or a number where the schema has bins or a grid.

    A number of a grid is rounded at random, by the operating system's randomness unless told otherwise.
    An optional attribute counts as skipped if its answer is blank or None, or missing where no answer has another name,
    which may be the same name misspelled.
    """
    if not isinstance(answers, Mapping):
        raise RecordError(f"answers must be given by question, as in {{'{schema.names[0]}': …}}")
    missing = [attribute for attribute in schema.attributes if attribute.name not in answers]
    needed = [attribute.name for attribute in missing if not attribute.optional]
    if needed:
        raise RecordError(f"no answer for {_quoted(needed)}; every question that is not optional needs one")
    if missing and set(answers) - set(schema.names):
        raise RecordError(
            f"no answer for {_quoted(attribute.name for attribute in missing)}, and answers to questions that the "
            "schema does not name; spell names as the schema does, or answer None to skip a question"
        )
    return Record(tuple(schema.codes_of([answers.get(name) for name in schema.names], source or SystemSource())))


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def respond(
    plan: Plan,
    record: Record | Mapping[str, str | float | None],
    source: Source | None = None,
    *,
    ledger: str | Path | None = None,
    most_epsilon: float = 4.0,
    device_cap: float | None = None,
) -> Report:
    """The report of one participant, by the operating system's randomness unless told otherwise.

    The answers are a record, or by question as `encode` takes them.
    `most_epsilon` is the largest budget, over all answers to the campaign, that the participant agrees to; `device_cap`
    that of all reports in the ledger, over all campaigns, if there is such a limit.
    The plan's digest and shape were checked when it was loaded, and the weights are computed here from its epsilon and
    sizes. With a ledger a plan is answered once: asked again, the same report comes back, whatever the record is.
    """
    if not plan.total_epsilon <= most_epsilon:
        raise LedgerError(
            f"the campaign asks for a budget of {plan.total_epsilon:g} in all ({plan.answers} answers of "
            f"{plan.epsilon:g}), you allow {most_epsilon:g}; answer only if you agree to the larger one"
        )

    source = source or SystemSource()
    record = record if isinstance(record, Record) else encode(plan.schema, record, source)

    def make() -> Report:
        record.check(plan.schema)
        records = Records(plan.schema, np.array([record.codes], dtype=code_type(plan.schema.sizes)))
        (report,) = respond_many(plan, records, source)
        return report

    if ledger is not None:
        return answer_once(ledger, plan, make, device_cap)
    if device_cap is not None:
        raise LedgerError("a cap over all campaigns needs a ledger, which knows what was given away so far")
    return make()


def respond_many(plan: Plan, records: Records, source: Source | None = None) -> Reports:
    """The reports of many participants: the same weights, the same steps, a faster source."""
    source = source or Stream.from_system()
    if records.schema != plan.schema:
        raise RecordError("the records were encoded for another schema than the plan's")
    ids = source.words(len(records) * ID_BYTES // 8).view(np.uint8).reshape(len(records), ID_BYTES)
    return Reports(plan, ids, plan.mechanism.privatise(records.codes, source))


WAITING = 2
"""How many batches a worker has at most, the one that it works on included."""


def respond_in_bulk(plan: Plan, batches: Iterable[Codes], workers: int = 1) -> Iterator[Reports]:
    """The reports of batches of raw codes (person, attribute), in the order of the batches.

    Each worker is a thread with a stream of its own, under a key from the operating system. No more than `WAITING`
    batches a worker are in memory; batches of some 100,000 people or more keep the workers busy.
    """
    if workers < 1:
        raise ValueError(f"there must be at least one worker, got {workers}")
    streams: SimpleQueue[Stream] = SimpleQueue()
    for _ in range(workers):
        streams.put(Stream.from_system())

    def privatise(codes: Codes) -> Reports:
        stream = streams.get()
        try:
            return respond_many(plan, Records(plan.schema, codes), stream)
        finally:
            streams.put(stream)

    waiting: deque[Future[Reports]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for codes in batches:
                waiting.append(pool.submit(privatise, codes))
                if len(waiting) >= WAITING * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
