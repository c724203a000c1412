"""A certificate: what a plan promises and what it realises, in a form that somebody else can check.

`privtally.privacy.verify` checks it without any of the code that made it.
"""

from fractions import Fraction
from typing import Any

from privtally.documents.plan import Plan
from privtally.exact import wire
from privtally.exact.exponential import log_floor
from privtally.privacy.loss import Loss, losses, worst

FORMAT = "privtally.certificate/1"


def certify(plan: Plan) -> dict[str, Any]:
    """The certificate of a plan, as plain values; a ratio is two hexadecimal strings, too long for JSON's numbers."""
    found = losses(plan.sampler)
    largest = worst(found)
    return {
        "format": FORMAT,
        "plan": plan.digest,
        "epsilon": plan.epsilon,
        "realised": log_floor(largest.ratio),
        "ratio": _pair(largest.ratio),
        "exact": largest.exact,
        "by_differing_attributes": [_entry(loss) for loss in found],
    }


def dump_certificate(certificate: dict[str, Any]) -> bytes:
    """A certificate as a document."""
    return wire.canonical(certificate) + b"\n"


def _entry(loss: Loss) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "differing": loss.differing,
        "realised": log_floor(loss.ratio),
        "ratio": _pair(loss.ratio),
        "exact": loss.exact,
    }
    if loss.record is not None and loss.other_record is not None and loss.report is not None:
        entry |= {"record": loss.record, "other_record": loss.other_record, "report": loss.report}
    return entry


def _pair(ratio: Fraction) -> list[str]:
    return [f"{ratio.numerator:x}", f"{ratio.denominator:x}"]
