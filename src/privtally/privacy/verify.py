"""A second opinion: whether a certificate is true of a plan, from the plan's JSON alone.

Nothing here imports the mechanisms, their weights or the auditor. The weights are computed anew with `decimal`, the
laws by adding up what each branch contributes, and the largest ratios by trying every way in which two records can
agree with a sub-report and with each other. For plans too large for that it checks the bound that follows from the
structure.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import log
from typing import Any

from privtally.exact import wire
from privtally.privacy.second_model import PlanModel
from privtally.privacy.second_response import CertificateError, exp_of, require


def verify(plan_document: bytes | str, certificate_document: bytes | str) -> None:
    """Return if the certificate is true of the plan; raise a CertificateError that says why if it is not."""
    plan = wire.decode_object(plan_document, CertificateError, "the plan")
    certificate = wire.decode_object(certificate_document, CertificateError, "the certificate")
    try:
        _check(plan, certificate)
    except CertificateError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as fault:
        raise CertificateError(f"the plan or certificate is malformed ({type(fault).__name__})") from None


def _check(plan: dict[str, Any], certificate: dict[str, Any]) -> None:
    claimed = plan.pop("digest")
    require(wire.digest(plan) == claimed, "the plan's content does not match its digest")
    require(plan["format"] == "privtally.plan/1", "the plan has another format")
    require(certificate["format"] == "privtally.certificate/1", "the certificate has another format")
    fields = {"format", "plan", "epsilon", "realised", "ratio", "exact", "by_differing_attributes"}
    require(set(certificate) == fields, "the certificate has other fields than it should")
    require(certificate["plan"] == claimed, "the certificate is of another plan")
    epsilon = plan["epsilon"]
    require(type(epsilon) in (int, float) and 0 < epsilon < 64, "epsilon is not a budget")
    require(certificate["epsilon"] == epsilon, "the certificate promises another epsilon")

    model = PlanModel(plan)
    entries = certificate["by_differing_attributes"]
    differing = [entry["differing"] for entry in entries]
    require(differing == [*range(1, model.width + 1)], "the certificate does not go from 1 to d differing attributes")
    found = model.worst_ratios()
    for place, entry in enumerate(entries, start=1):
        _check_entry(model, entry, None if found is None else found[place])
    worst = max(_ratio(entry) for entry in entries)
    require(_ratio(certificate) == worst, "the ratio is not the largest of those by differing attributes")
    require(certificate["exact"] == (found is not None), "the certificate is wrong about being exact")
    require(_at_most_exp(worst, Fraction(epsilon)), "the realised epsilon exceeds the promise")
    least = Fraction(epsilon) * Fraction(9_999, 10_000)
    require(not _at_most_exp(worst, least), "the realised epsilon is below 0.9999")
    require(_is_log(certificate["realised"], worst), "'realised' is not the logarithm of the ratio")


def _check_entry(model: PlanModel, entry: dict[str, Any], truth: Fraction | None) -> None:
    where = f"at {entry['differing']} differing attributes"
    ratio = _ratio(entry)
    attained = set() if truth is None else {"record", "other_record", "report"}
    fields = {"differing", "realised", "ratio", "exact"} | attained
    require(set(entry) == fields, f"there are other fields than needed {where}")
    require(entry["exact"] == (truth is not None), f"the certificate is wrong about being exact {where}")
    require(_is_log(entry["realised"], ratio), f"'realised' is not the logarithm of the ratio {where}")
    if truth is None:
        require(ratio == model.bound(), f"the bound is not the one that follows from the structure {where}")
        return
    require(ratio == truth, f"the ratio is not the largest one {where}")
    record, other, report = entry["record"], entry["other_record"], entry["report"]
    differing = sum(one != two for one, two in zip(record, other, strict=True))
    require(differing == entry["differing"], f"the records do not differ as said {where}")
    high, low = model.likelihood(record, report), model.likelihood(other, report)
    require(low > 0 and high / low == ratio, f"the records and the report do not attain the ratio {where}")


def _ratio(entry: dict[str, Any]) -> Fraction:
    numerator, denominator = entry["ratio"]
    require(isinstance(numerator, str) and isinstance(denominator, str), "a ratio must be two hexadecimal strings")
    return Fraction(int(numerator, 16), int(denominator, 16))


def _at_most_exp(ratio: Fraction, power: Fraction) -> bool:
    with localcontext(prec=150):
        return Decimal(ratio.numerator) / Decimal(ratio.denominator) <= exp_of(power)


def _is_log(claimed: Any, ratio: Fraction) -> bool:
    return isinstance(claimed, float | int) and abs(claimed - log(ratio)) <= 1e-9 * max(1.0, log(ratio))
