"""A second opinion: whether a certificate is true of a plan, from the plan's JSON alone.

Nothing here imports the mechanisms, their weights or the auditor. The weights are computed anew with `decimal`, the
laws by adding up what each pivot contributes, and the largest ratios by trying every way in which two records can agree
with a report and with each other. For plans too large for that it checks the bound that follows from the structure.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import log, prod
from typing import Any

from privtally.errors import PlanError
from privtally.exact import wire

WORDS = 2**64
UNIT = 2**32
MOST_STATES = 1_000_000
FAMILY = {"rs-fd", "rs-rfd", "corr-rr", "cond-rr"}


class CertificateError(PlanError):
    """A certificate or its plan is not true."""


def verify(plan_document: bytes | str, certificate_document: bytes | str) -> None:
    """Return if the certificate is true of the plan; raise a CertificateError that says why if it is not."""
    plan = wire.decode_object(plan_document, CertificateError, "the plan")
    certificate = wire.decode_object(certificate_document, CertificateError, "the certificate")
    try:
        _check(plan, certificate)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, ZeroDivisionError, ArithmeticError) as fault:
        if isinstance(fault, CertificateError):
            raise
        raise CertificateError(f"the plan or certificate is malformed ({type(fault).__name__})") from None


def _check(plan: dict[str, Any], certificate: dict[str, Any]) -> None:
    claimed = plan.pop("digest")
    _require(wire.digest(plan) == claimed, "the plan's content does not match its digest")
    _require(plan["format"] == "privtally.plan/1", "the plan has another format")
    _require(certificate["format"] == "privtally.certificate/1", "the certificate has another format")
    _require(
        set(certificate) == {"format", "plan", "epsilon", "realised", "ratio", "exact", "by_differing_attributes"},
        "the certificate has other fields than it should",
    )
    _require(certificate["plan"] == claimed, "the certificate is of another plan")
    epsilon = plan["epsilon"]
    _require(type(epsilon) in (int, float) and 0 < epsilon < 64, "epsilon is not a budget")
    _require(certificate["epsilon"] == epsilon, "the certificate promises another epsilon")

    model = _Model(plan)
    entries = certificate["by_differing_attributes"]
    _require(
        [entry["differing"] for entry in entries] == list(range(1, len(model.sizes) + 1)),
        "the certificate does not go from 1 to d differing attributes",
    )
    found = model.worst_ratios()
    for place, entry in enumerate(entries):
        _check_entry(model, entry, None if found is None else found[place])
    worst = max(_ratio(entry) for entry in entries)
    _require(_ratio(certificate) == worst, "the ratio is not the largest of those by differing attributes")
    _require(certificate["exact"] == (found is not None), "the certificate is wrong about being exact")
    _require(_at_most_exp(worst, Fraction(epsilon)), "the realised epsilon exceeds the promise")
    _require(
        not _at_most_exp(worst, Fraction(epsilon) * Fraction(9_999, 10_000)), "the realised epsilon is below 0.9999"
    )
    _require(_is_log(certificate["realised"], worst), "'realised' is not the logarithm of the ratio")


def _check_entry(model: "_Model", entry: dict[str, Any], truth: Fraction | None) -> None:
    where = f"at {entry['differing']} differing attributes"
    ratio = _ratio(entry)
    _require(entry["exact"] == (truth is not None), f"the certificate is wrong about being exact {where}")
    _require(_is_log(entry["realised"], ratio), f"'realised' is not the logarithm of the ratio {where}")
    if truth is None:
        _require(ratio == model.bound(), f"the bound is not the one that follows from the structure {where}")
        return
    _require(ratio == truth, f"the ratio is not the largest one {where}")
    record, other, report = entry["record"], entry["other_record"], entry["report"]
    differing = sum(one != two for one, two in zip(record, other, strict=True))
    _require(differing == entry["differing"], f"the records do not differ as said {where}")
    high, low = model.likelihood(record, report), model.likelihood(other, report)
    _require(low > 0 and high / low == ratio, f"the records and the report do not attain the ratio {where}")


def _ratio(entry: dict[str, Any]) -> Fraction:
    numerator, denominator = entry["ratio"]
    _require(isinstance(numerator, str) and isinstance(denominator, str), "a ratio must be two decimal strings")
    return Fraction(int(numerator), int(denominator))


def _require(holds: bool, otherwise: str) -> None:  # noqa: FBT001  # an assertion under another name
    if not holds:
        raise CertificateError(f"the certificate is refused: {otherwise}")


class _Model:
    """A plan as a mixture: parts with a share, own weights, and what they give the rest of a report."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.kind = plan["mechanism"]
        _require(self.kind in FAMILY | {"spl", "smp"}, "the mechanism is unknown")
        self.sizes = [len(attribute["labels"]) for attribute in plan["schema"]["attributes"]]
        _require(len(self.sizes) >= 1 and min(self.sizes) >= 2, "the schema is not one")
        budget = Fraction(plan["epsilon"]) / (len(self.sizes) if self.kind == "spl" else 1)
        self.weights = [_weights(budget, size) for size in self.sizes]
        self._plan = plan
        self._check_parameters()

    def bound(self) -> Fraction:
        """What follows from the structure alone."""
        ratios = [Fraction(same, other) for same, other in self.weights]
        return prod(ratios, start=Fraction(1)) if self.kind == "spl" else max(ratios)

    def likelihood(self, record: Sequence[int], report: Sequence[int]) -> Fraction:
        """The probability of a report given a record."""
        codes = zip(record, report, self.sizes, strict=True)
        _require(all(0 <= x < size and 0 <= y <= size for x, y, size in codes), "a code is out of range")
        return self._mix([x == y for x, y in zip(record, report, strict=True)], report)

    def worst_ratios(self) -> list[Fraction] | None:
        """The largest ratio for each number of differing attributes, or None if there is too much to try."""
        if self.kind in FAMILY and prod(self.sizes) * 5 ** len(self.sizes) > MOST_STATES:
            return None
        if self.kind in ("spl", "smp"):
            return self._by_hand()
        worst: list[Fraction] = [Fraction(0)] * len(self.sizes)
        ways = list(self._ways())
        for report in product(*map(range, self.sizes)):
            chances: dict[tuple[bool, ...], Fraction] = {}
            for agree in product((False, True), repeat=len(self.sizes)):
                chances[agree] = self._mix(agree, report)
            for differing, one, two in ways:
                if chances[one] > 0:
                    worst[differing - 1] = max(worst[differing - 1], chances[one] / chances[two])
        return worst

    def _by_hand(self) -> list[Fraction]:
        ratios = sorted((Fraction(same, other) for same, other in self.weights), reverse=True)
        if self.kind == "smp":
            return [ratios[0]] * len(ratios)
        return [prod(ratios[:differing], start=Fraction(1)) for differing in range(1, len(ratios) + 1)]

    def _ways(self) -> Iterator[tuple[int, tuple[bool, ...], tuple[bool, ...]]]:
        """How two records can agree with a report: for each attribute the same, or different in some way."""
        options = []
        for size in self.sizes:
            ways = [(0, False, False), (0, True, True), (1, True, False), (1, False, True)]
            options.append([*ways, (1, False, False)] if size > 2 else ways)
        for choice in product(*options):
            differing = sum(way[0] for way in choice)
            if differing:
                yield differing, tuple(way[1] for way in choice), tuple(way[2] for way in choice)

    def _mix(self, agree: Sequence[bool], report: Sequence[int]) -> Fraction:
        own = [
            Fraction(same if agrees else other, same + (size - 1) * other)
            for agrees, (same, other), size in zip(agree, self.weights, self.sizes, strict=True)
        ]
        if self.kind == "spl":
            return prod(own, start=Fraction(1))
        if self.kind == "smp":
            asked = [place for place, (code, size) in enumerate(zip(report, self.sizes, strict=True)) if code < size]
            _require(len(asked) == 1, "an smp report answers one attribute")
            return own[asked[0]] / len(own)
        total = Fraction(0)
        for pivot, chance in enumerate(own):
            others = [place for place in range(len(own)) if place != pivot]
            total += prod((self._fill(pivot, other, report) for other in others), start=chance)
        return total / len(own)

    def _fill(self, pivot: int, other: int, report: Sequence[int]) -> Fraction:
        given, code, size = report[pivot], report[other], self.sizes[other]
        if self.kind == "rs-fd":
            return Fraction(1, size)
        if self.kind == "rs-rfd":
            return Fraction(self._plan["priors"][other][code])
        if self.kind == "cond-rr":
            return Fraction(self._plan["conditional_tables"][pivot][other][given][code])
        copied = Fraction(self._plan["copy_probability"][pivot][other])
        return copied if given == code else (1 - copied) / (size - 1)

    def _check_parameters(self) -> None:
        """Fills must be probabilities; beyond that they cannot hurt, since they never see a record."""
        d, plan = len(self.sizes), self._plan
        rows: list[tuple[Sequence[float], int]] = []
        if self.kind == "rs-rfd":
            _require(len(plan["priors"]) == d, "there must be a prior for each attribute")
            rows = list(zip(plan["priors"], self.sizes, strict=True))
        if self.kind == "cond-rr":
            for pivot, other in product(range(d), repeat=2):
                table = plan["conditional_tables"][pivot][other]
                _require((table is None) == (pivot == other), "there must be a table for each pair")
                if table is not None:
                    _require(len(table) == self.sizes[pivot], "a table must have a row for each code")
                    rows += [(row, self.sizes[other]) for row in table]
        if self.kind == "corr-rr":
            _require(len(set(self.sizes)) == 1, "copying needs equal sizes")
            rows = [(row, d) for row in plan["copy_probability"]]
            _require(len(rows) == d, "there must be a copy probability for each pair")
        for row, length in rows:
            _require(len(row) == length, "a row of probabilities has the wrong length")
            exact = [Fraction(value) for value in row]
            _require(
                all(0 <= value <= 1 and (value * UNIT).denominator == 1 for value in exact), "a probability is none"
            )
            _require(self.kind == "corr-rr" or sum(exact) == 1, "a distribution does not sum to 1")


def _weights(budget: Fraction, size: int) -> tuple[int, int]:
    """The two integer weights of randomized response, from the definition, with decimal arithmetic."""
    with localcontext() as context:
        context.prec = 150
        power = (Decimal(budget.numerator) / Decimal(budget.denominator)).exp()
        slack = Decimal(10) ** -120
        other = _sure_floor(Decimal(WORDS) / (power + size - 1), slack)
        return _sure_floor(power * other, slack), other


def _sure_floor(value: Decimal, slack: Decimal) -> int:
    margin = slack * (value + 1)
    low, high = int(value - margin), int(value + margin)
    _require(low == high, "a weight is too close to call")
    return low


def _at_most_exp(ratio: Fraction, power: Fraction) -> bool:
    with localcontext() as context:
        context.prec = 150
        exact = (Decimal(power.numerator) / Decimal(power.denominator)).exp()
        return Decimal(ratio.numerator) / Decimal(ratio.denominator) <= exact


def _is_log(claimed: Any, ratio: Fraction) -> bool:
    return isinstance(claimed, float | int) and abs(claimed - log(ratio)) <= 1e-9 * max(1.0, log(ratio))
