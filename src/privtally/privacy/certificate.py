"""A certificate: what a plan promises and what it realises, in a form that somebody else can check.

`privtally.privacy.verify` checks it without any of the code that made it.
"""

from typing import Any

from privtally.documents.plan import Plan
from privtally.exact import wire
from privtally.exact.exponential import log_floor
from privtally.privacy.loss import Loss, losses, worst


def certify(plan: Plan) -> dict[str, Any]:
    """The certificate of a plan, as plain values."""
    found = losses(plan.sampler)
    return {
        "format": "privtally.certificate/1",
        "plan": plan.digest,
        "epsilon": plan.epsilon,
        **_ratio(worst(found)),
        "by_differing_attributes": [_entry(loss) for loss in found],
    }


def dump_certificate(certificate: dict[str, Any]) -> bytes:
    """A certificate as a document."""
    return wire.canonical(certificate) + b"\n"


def _entry(loss: Loss) -> dict[str, Any]:
    entry = {"differing": loss.differing, **_ratio(loss)}
    if loss.exact:
        entry |= {"record": loss.record, "other_record": loss.other_record, "report": loss.report}
    return entry


def _ratio(loss: Loss) -> dict[str, Any]:
    """A ratio is two hexadecimal strings, too long for JSON's numbers."""
    ratio = [f"{loss.ratio.numerator:x}", f"{loss.ratio.denominator:x}"]
    return {"realised": log_floor(loss.ratio), "ratio": ratio, "exact": loss.exact}
