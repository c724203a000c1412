"""What malicious collectors hand out, for every client: replies to the requests for the plans and for the open plan."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec

from privtally.documents.campaign import refresh
from privtally.documents.plan import Plan, design
from privtally.mechanisms.fills import CopyFill, RowFill
from privtally.mechanisms.named import each_alone
from privtally.schema import Attribute, Schema
from tests.participant.collector import published
from tests.support import Scripted, later_plan

LABELS = ("never", "now and then", "daily")
SCHEMA = Schema.of({"smokes": LABELS, "drinks": LABELS})
RECORDS = [{"smokes": one, "drinks": two} for one in LABELS for two in LABELS]
"""Every record that the pinned questions allow."""
FIRST = design(SCHEMA, 0.1, "corr-rr", source=Scripted([7, 7]))
ONE_PHASE = design(SCHEMA, 0.1, "rs-fd", source=Scripted([7, 7]))

EVEN = (0.25, 0.25, 0.5)
WITH_PRIORS = design(
    SCHEMA,
    0.1,
    "rs-rfd",
    priors={name: dict(zip(LABELS, EVEN, strict=True)) for name in SCHEMA.names},
    source=Scripted([7, 7]),
)


def _copying(probability: float) -> CopyFill:
    return CopyFill(((1.0, probability), (probability, 1.0)))


SECOND = later_plan(FIRST, _copying(0.75))
"""What an honest collector could hand out next."""


@dataclass(frozen=True)
class Malice:
    """What a collector hands out at each visit, the last again and again."""

    opened: tuple[bytes, ...]
    listed: Callable[[bytes], bytes]
    """The list of plans that goes with an open one."""
    broken: str | None
    """The part of the pinned contract that is broken, which the refusal names; None if no plan can be read."""
    pinned: Plan = FIRST


def _changed(plan: Plan, **fields: Any) -> bytes:
    return msgspec.structs.replace(plan, **fields).dump()


def _with(first: Plan) -> Callable[[bytes], bytes]:
    """A list of a first plan and the open one, as if everybody got that."""
    return lambda opened: b"[" + first.dump() + b"," + opened + b"]"


def _asking(answer: str) -> bytes:
    """A plan that only somebody with this answer could encode."""
    return _changed(SECOND, schema=Schema((Attribute("smokes", (answer, "-", "--")), SCHEMA.attributes[1])))


FOREIGN = design(SCHEMA, 0.1, "corr-rr", source=Scripted([8, 8]))
GREEDY = msgspec.structs.replace(
    SECOND, epsilon=4.0, parts=later_plan(msgspec.structs.replace(FIRST, epsilon=4.0), _copying(0.75)).parts
)
ROUND = refresh([FIRST, SECOND])

MALICE: dict[str, Malice] = {
    "questions that one answer fits": Malice((_asking("never"),), _with(FIRST), "schema"),
    "questions that change between tries": Malice(
        (_asking("never"), _asking("daily"), _asking("now and then")), _with(FIRST), "schema"
    ),
    "a larger budget": Malice((GREEDY.dump(),), _with(FIRST), "epsilon"),
    "more answers": Malice((_changed(SECOND, answers=9),), _with(FIRST), "answers"),
    "another mechanism": Malice((_changed(SECOND, name="cond-rr"),), _with(FIRST), "mechanism"),
    "another campaign": Malice((FOREIGN.dump(),), _with(FIRST), "campaign"),
    "a later plan of another campaign": Malice((_changed(SECOND, campaign=FOREIGN.digest),), _with(FIRST), "campaign"),
    "another first plan": Malice((SECOND.dump(),), _with(FOREIGN), "first"),
    "a later plan in place of the first": Malice((SECOND.dump(),), _with(SECOND), "first"),
    "a round that asks otherwise": Malice((_changed(ROUND, parts=SECOND.parts),), _with(FIRST), "parts"),
    "a round too many": Malice((_changed(SECOND, round=2),), _with(FIRST), "round"),
    "what a mechanism without phases cannot learn": Malice(
        (
            _changed(
                ONE_PHASE,
                phase=2,
                parts=each_alone(SCHEMA.sizes, Fraction(0.1)),
                nonce=None,
                campaign=ONE_PHASE.digest,
                learned=SECOND.learned,
            ),
        ),
        _with(ONE_PHASE),
        "learned",
        ONE_PHASE,
    ),
    "what a campaign with priors cannot learn": Malice(
        (later_plan(WITH_PRIORS, RowFill((EVEN, EVEN))).dump(),), _with(WITH_PRIORS), "learned", WITH_PRIORS
    ),
    "a plan for each visitor": Malice(
        tuple(later_plan(FIRST, _copying(visit / 8)).dump() for visit in range(3)),
        lambda _: published([FIRST, SECOND]),
        None,
    ),
    "an edited plan": Malice((SECOND.dump().replace(b'"answers":1', b'"answers":2'),), _with(FIRST), None),
    "no plan": Malice((b"null",), lambda _: published([FIRST]), None),
    "half a plan": Malice((SECOND.dump()[:-9],), lambda _: published([FIRST]), None),
    "endless nesting": Malice((b'{"a":' * 100_000,), lambda _: published([FIRST]), None),
    "a list without plans": Malice((SECOND.dump(),), lambda _: b"[]", None),
    "a list of something else": Malice((SECOND.dump(),), lambda _: b'["x"]', None),
    "a list that is none": Malice((SECOND.dump(),), lambda _: b"<html>", None),
}
