"""The participant's side, and the only module that turns answers into reports."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from privtally.documents.plan import Plan
from privtally.documents.report import ID_BYTES, Report, Reports
from privtally.errors import LedgerError, RecordError
from privtally.exact.source import Source, Stream, SystemSource
from privtally.participant.ledger import answer_once
from privtally.schema import Record, Records, Schema, code_type


def encode(schema: Schema, answers: Mapping[str, str | float | None]) -> Record:
    """A participant's answers as a record: a label for each attribute, or a number where the schema has bins.

    An optional attribute counts as skipped if its answer is blank or None, or missing where no answer has another name,
    which may be the same name misspelled.
    """
    missing = [each for each in schema.attributes if each.name not in answers]
    needed = [each.name for each in missing if not each.optional]
    if needed:
        raise RecordError(f"no answer for {_quoted(needed)}; every question that is not optional needs one")
    if missing and set(answers) - set(schema.names):
        names = _quoted([each.name for each in missing])
        raise RecordError(
            f"no answer for {names}, and answers to questions that the schema does not name; spell names as the schema "
            "does, or answer None to skip a question"
        )
    return Record(tuple(schema.codes_of([answers.get(name) for name in schema.names])))


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def respond(
    plan: Plan,
    record: Record,
    source: Source | None = None,
    *,
    ledger: str | Path | None = None,
    most_epsilon: float = 4.0,
    device_cap: float | None = None,
) -> Report:
    """The report of one participant, by the operating system's randomness unless told otherwise.

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

    def make() -> Report:
        record.check(plan.schema)
        records = Records(plan.schema, np.array([record.codes], dtype=code_type(plan.schema.sizes)))
        (report,) = respond_many(plan, records, source or SystemSource())
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
    return Reports(plan, ids, plan.sampler.privatise(records.codes, source))
