"""A second opinion: whether a certificate is true of a plan, from the plan's JSON alone.

Nothing here imports the mechanisms, their weights or the auditor. The weights are computed anew with `decimal`, the
laws by adding up what each branch contributes, and the largest ratios by trying every way in which two records can
agree with a sub-report and with each other. For plans too large for that it checks the bound that follows from the
structure.
"""

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, combinations, product
from math import comb, log, prod
from operator import mul
from pathlib import Path
from typing import Any, Literal, cast

from privtally.errors import PlanError
from privtally.exact import canonical

WORDS = 2**64


class CertificateError(PlanError):
    """A certificate or its plan is not true."""


def require(holds: bool, otherwise: str) -> None:  # noqa: FBT001  # an assertion under another name
    """Refuse the certificate unless this holds."""
    if not holds:
        raise CertificateError(f"the certificate is refused: {otherwise}")


class Response:
    """How one attribute is randomised: codes that belong to a label have one weight, all others another.

    With "grr" a code belongs to the label that it is; with "pg" codes and labels are points of a projective space over
    a prime field, and a code belongs to the labels whose vectors have the product 0 with its own.
    """

    def __init__(self, channel: dict[str, Any], size: int, budget: Fraction) -> None:
        self.inputs = self.outputs = size
        self.inside, self.order, self.dimension = 1, 0, 0
        self._points: dict[int, list[int]] = {}
        if channel != {"kind": "grr"}:
            require(set(channel) == {"kind", "order", "dimension"} and channel["kind"] == "pg", "a channel is unknown")
            self.order, self.dimension = channel["order"], channel["dimension"]
            whole = type(self.order) is int and type(self.dimension) is int
            bounded = whole and 2 <= self.order <= 406 and 3 <= self.dimension <= 26
            require(bounded and self.order**self.dimension <= 2**26, "a geometry is out of range")
            require(all(self.order % n for n in range(2, self.order)), "a geometry needs a prime")
            powers = [self.order**power for power in range(self.dimension)]
            self.outputs, self.inside = sum(powers), sum(powers[:-1])
            require(self.outputs >= size, "a geometry has too few points")
        with localcontext(prec=150):
            power = exp_of(budget)
            self.other = _sure_floor(WORDS / (self.inside * power + self.outputs - self.inside))
            self.same = _sure_floor(power * self.other)
        self.total = self.inside * self.same + (self.outputs - self.inside) * self.other

    def holds(self, label: int, code: int) -> bool:
        """Whether the code belongs to the label."""
        if not self.order:
            return label == code
        for number in {label, code} - set(self._points):
            self._points[number] = self._point(number)
        return bool(sum(map(mul, self._points[label], self._points[code])) % self.order == 0)

    def _point(self, number: int) -> list[int]:
        """The coordinates of a point: zeros, a one, and the digits of what is left of its number."""
        for zeros in range(self.dimension):
            behind = self.dimension - 1 - zeros
            if number < self.order**behind:
                digits = [number // self.order**power % self.order for power in range(behind - 1, -1, -1)]
                return [0] * zeros + [1, *digits]
            number -= self.order**behind
        raise IndexError


def exp_of(power: Fraction) -> Decimal:
    """The exponential function of a rational, in the precision of the context."""
    return (Decimal(power.numerator) / Decimal(power.denominator)).exp()


def _sure_floor(value: Decimal) -> int:
    margin = (value + 1) * Decimal("1e-120")
    low, high = int(value - margin), int(value + margin)
    require(low == high, "a weight is too close to call")
    return low


UNIT = 2**32
MOST_STATES = 1_000_000


class PlanModel:
    """A plan as a product of mixtures, read from its JSON."""

    def __init__(self, plan: dict[str, Any]) -> None:
        sizes = [len(attribute["labels"]) for attribute in plan["schema"]["attributes"]]
        require(len(sizes) >= 1 and min(sizes) >= 2, "the schema has no attribute, or one without two labels")
        self.width = len(sizes)
        require(("together" in plan) == (plan["mechanism"] == "pairs"), "only pairs asks questions together")
        require(("together" in plan) != bool(plan.get("parts")), "a plan has either parts or questions asked together")
        self.together = _Together(plan["together"], sizes, Fraction(plan["epsilon"])) if "together" in plan else None
        parts = plan.get("parts", [])
        if self.together is not None:
            self.parts: list[_Mixture] = []
            return
        owners = [own for part in parts for own in part["attributes"]]
        require(sorted(owners) == list(range(self.width)), "every attribute must belong to exactly one part")
        budget = Fraction(plan["epsilon"]) / len(parts)
        self.parts = [_Mixture(part, [sizes[own] for own in part["attributes"]], budget) for part in parts]

    def bound(self) -> Fraction:
        """What follows from the structure alone: the product of what each part gives away at most."""
        if self.together is not None:
            return self.together.bound()
        return prod((part.bound() for part in self.parts), start=Fraction(1))

    def likelihood(self, record: Sequence[int], report: Sequence[int]) -> Fraction:
        """The probability of a report given a record."""
        if self.together is not None:
            return self.together.likelihood(record, report)
        codes = [[(record[own], report[own]) for own in part.attributes] for part in self.parts]
        return prod((part.likelihood(own) for part, own in zip(self.parts, codes, strict=True)), start=Fraction(1))

    def worst_ratios(self) -> list[Fraction] | None:
        """The largest ratio for 0, 1, … d differing attributes, or None if there is too much to try."""
        if self.together is not None:
            return [Fraction(1)] + [self.together.bound()] * self.width
        if any(part.states() > MOST_STATES for part in self.parts):
            return None
        alone = sorted((part.bound() for part in self.parts if part.size == 1), reverse=True)
        best: list[Fraction] = [*accumulate(alone, mul, initial=Fraction(1))]
        for part in self.parts:
            if part.size > 1:
                more = part.worst_ratios()
                best = [
                    max(best[k] * more[total - k] for k in range(len(best)) if 0 <= total - k < len(more))
                    for total in range(len(best) + len(more) - 1)
                ]
        return best


class _Together:
    """Sets of attributes of which a report answers one: the number of its code, codes of all sets end to end.

    Two records that differ in an attribute of a set have different labels in it, and some code belongs to one label and
    not to the other. So the largest ratio is that of the channel which gives away most, however many attributes differ.
    """

    def __init__(self, stated: dict[str, Any], sizes: list[int], budget: Fraction) -> None:
        require(set(stated) <= {"channels", "size", "sets", "single"}, "what is asked together is unknown")
        size, single = stated.get("size", 2), Fraction(stated.get("single", 0))
        require(size in (2, 3) and size <= len(sizes), "an impossible number of questions is asked together")
        require("sets" in stated or comb(len(sizes), size) <= 2**22 // 2**size, "there are too many sets")
        require(0 <= single < 1 and (single * UNIT).denominator == 1, "the share of single questions is no multiple")
        self.sizes = sizes
        joint = [tuple(own) for own in stated["sets"]] if "sets" in stated else [*combinations(range(len(sizes)), size)]
        ordered = all(len(own) == size and list(own) == sorted(set(own)) for own in joint)
        require(ordered and 0 < len(joint) == len(set(joint)), "a set is not one, or stands twice")
        self.sets = joint + ([(own,) for own in range(len(sizes))] if single else [])
        require({own for places in self.sets for own in places} == {*range(len(sizes))}, "a question is never asked")
        labels = [prod(sizes[own] for own in places) for places in self.sets]
        require(max(labels) <= 65_536, "a set has too many labels")
        numbers = sorted(set(labels))
        require(len(numbers) == len(stated["channels"]), "each number of labels needs a channel")
        responses = {
            number: Response(channel, number, budget)
            for number, channel in zip(numbers, stated["channels"], strict=True)
        }
        self.channels = [responses[number] for number in labels]
        many = len(self.sets) - len(joint)
        self.shares = [(1 - single) / len(joint)] * len(joint) + [single / max(many, 1)] * many

    def bound(self) -> Fraction:
        """The largest ratio of a set's channel."""
        return max(Fraction(channel.same, channel.other) for channel in self.channels)

    def likelihood(self, record: Sequence[int], report: Sequence[int]) -> Fraction:
        """The probability of a report given a record."""
        require(len(record) == len(self.sizes) and len(report) == 1 and report[0] >= 0, "a code is out of range")
        require(all(0 <= code < size for code, size in zip(record, self.sizes, strict=True)), "a code is out of range")
        code = report[0]
        for places, channel, share in zip(self.sets, self.channels, self.shares, strict=True):
            if code < channel.outputs:
                label = 0
                for own in places:
                    label = label * self.sizes[own] + record[own]
                return share * Fraction(channel.same if channel.holds(label, code) else channel.other, channel.total)
            code -= channel.outputs
        raise IndexError


class _Mixture:
    """One part: branches of asked attributes, and a fill for the others."""

    def __init__(self, part: dict[str, Any], sizes: list[int], budget: Fraction) -> None:
        self.attributes: list[int] = part["attributes"]
        self.size, self.sizes, self.pivots = len(sizes), sizes, part["pivots"]
        require(type(self.pivots) is int and 1 <= self.pivots <= self.size, "a part asks an impossible number")
        require(len(part["channels"]) == self.size, "a part must state a channel for each attribute")
        self.decoys = part.get("decoys", 0)
        fit = type(self.decoys) is int and 0 <= self.decoys <= self.size - self.pivots
        require(fit, "a part shows an impossible number of decoys")
        self.fill: dict[str, Any] = part.get("fill", {"kind": "none"})
        self.kind: str = self.fill["kind"]
        require((self.kind == "none") == (self.decoys == 0), "a fill must be there if and only if there are decoys")
        budget /= self.pivots
        self.channels = [Response(own, size, budget) for own, size in zip(part["channels"], sizes, strict=True)]
        self.outputs = [channel.outputs for channel in self.channels]
        self.ratios = sorted((Fraction(channel.same, channel.other) for channel in self.channels), reverse=True)
        require(comb(self.size, self.pivots) <= 100_000, "a part has too many choices of pivots")
        self.branches = list(combinations(range(self.size), self.pivots))
        self._check_fill()

    def bound(self) -> Fraction:
        """The largest product of the ratios of as many channels as a branch asks."""
        return prod(self.ratios[: self.pivots], start=Fraction(1))

    def states(self) -> int:
        """How many ways there are to try: what is shown, with which codes, and how two records agree with it."""
        shown = self.pivots + self.decoys
        if self.kind in ("none", "uniform"):
            return int(comb(self.size, shown) * 5**shown)
        by_number = [1] + [0] * shown
        for size in self.outputs:
            for number in range(shown, 0, -1):
                by_number[number] += by_number[number - 1] * size
        return int(by_number[shown] * 5**shown)

    def likelihood(self, codes: Sequence[tuple[int, int]]) -> Fraction:
        """The probability of a sub-report given a record, both as the codes (record, report) of each attribute."""
        own = list(zip(codes, self.channels, strict=True))
        fit = (0 <= x < channel.inputs and 0 <= y <= channel.outputs for (x, y), channel in own)
        require(all(fit), "a code is out of range")
        shown = [place for place, ((_, y), channel) in enumerate(own) if y < channel.outputs]
        require(len(shown) == self.pivots + self.decoys, "a report shows another number of attributes than it must")
        agree = [place in shown and self.channels[place].holds(*codes[place]) for place in range(self.size)]
        return self._mix(shown, agree, [y for _, y in codes]) / comb(self.size, len(shown))

    def worst_ratios(self) -> list[Fraction]:
        """The largest ratio for 0, 1, … differing attributes, over all that a report may show."""
        shown = self.pivots + self.decoys
        worst = [Fraction(1)] + [Fraction(0)] * self.size
        tried = set()
        for places in combinations(range(self.size), shown):
            alike = tuple(
                sorted((c.inputs, c.order, c.dimension, c.same) for c in map(self.channels.__getitem__, places))
            )
            if self.kind in ("none", "uniform") and alike in tried:
                continue
            tried.add(alike)
            for number, ratio in enumerate(self._worst_of(places)):
                for more in range(self.size - shown + 1):  # what is not shown may differ as well
                    worst[number + more] = max(worst[number + more], ratio)
        return worst

    def _worst_of(self, places: tuple[int, ...]) -> list[Fraction]:
        """The same over the reports that show these attributes."""
        worst = [Fraction(1)] + [Fraction(0)] * len(places)
        alike = self.kind in ("none", "uniform")  # one sub-report stands for all
        for codes in product(*(range(1 if alike else self.outputs[place]) for place in places)):
            report = list(self.outputs)
            for place, code in zip(places, codes, strict=True):
                report[place] = code
            chances = {}
            for agreeing in product((False, True), repeat=len(places)):
                agree = [False] * self.size
                for place, agrees in zip(places, agreeing, strict=True):
                    agree[place] = agrees
                chances[agreeing] = self._mix(places, agree, report)
            for differing, one, two in self._ways(places, None if alike else report):
                if chances[one] > 0:
                    worst[differing] = max(worst[differing], chances[one] / chances[two])
        return worst

    def _ways(
        self, places: Sequence[int], report: Sequence[int] | None
    ) -> Iterator[tuple[int, tuple[bool, ...], tuple[bool, ...]]]:
        """How two records can agree with a sub-report: for each attribute the same, or different in some way.

        Without a report it is one whose codes belong to one label each.
        """
        options = []
        for place in places:
            channel = self.channels[place]
            labels = range(channel.inputs)
            holding = 1 if report is None else sum(channel.holds(label, report[place]) for label in labels)
            count = {True: holding, False: channel.inputs - holding}
            ways = [(0, one, one) for one in count if count[one]]
            pairs = product(count, repeat=2)
            options.append([*ways, *((1, one, two) for one, two in pairs if count[one] and count[two] > (one == two))])
        for choice in product(*options):
            differing, one, two = zip(*choice, strict=True)
            yield sum(differing), one, two

    def _mix(self, shown: Sequence[int], agree: Sequence[bool], report: Sequence[int]) -> Fraction:
        """The probability of a sub-report given what it shows: each choice of pivots among that is as likely."""
        own = [
            Fraction(channel.same if agrees else channel.other, channel.total)
            for agrees, channel in zip(agree, self.channels, strict=True)
        ]
        total = Fraction(0)
        for branch in combinations(shown, self.pivots):
            chance = prod((own[place] for place in branch), start=Fraction(1))
            decoys = (place for place in shown if place not in branch)
            total += prod((self._filled(branch, decoy, report) for decoy in decoys), start=chance)
        return total / comb(len(shown), self.pivots)

    def _filled(self, branch: tuple[int, ...], other: int, report: Sequence[int]) -> Fraction:
        code, size, channel = report[other], self.outputs[other], self.channels[other]
        if self.kind == "uniform":
            return Fraction(1, size)
        if self.kind == "row":
            labels = enumerate(self.fill["rows"][other])
            belonging = (Fraction(chance) for label, chance in labels if channel.holds(label, code))
            return sum(belonging, start=Fraction(0)) / channel.inside
        if self.kind == "copy":
            copied = Fraction(self.fill["probability"][branch[0]][other])
            return copied if report[branch[0]] == code else (1 - copied) / (size - 1)
        if self.kind == "aligned":
            return self._aligned(branch[0], other, report)
        row = 0
        for place in branch:
            row = row * self.sizes[place] + report[place]
        return Fraction(self._tables[branch, other][row][code])

    def _aligned(self, pivot: int, other: int, report: Sequence[int]) -> Fraction:
        """A label of the pivot's class with the stated chance, else one of another class; all codes alike if there is
        no chance stated.
        """
        code, channel = report[other], self.channels[other]
        given, classes, stated = self._pairs.get((pivot, other), ([], [], None))
        if stated is None:
            return Fraction(1, self.outputs[other])
        own, many = given[report[pivot]], len(set(classes))
        total = Fraction(0)
        for label in range(channel.inputs):
            if channel.holds(label, code):
                chance = Fraction(stated) if classes[label] == own else (1 - Fraction(stated)) / (many - 1)
                total += (chance if own in classes else Fraction(1, many)) / classes.count(classes[label])
        return total / channel.inside

    def _check_aligned(self) -> Iterator[float]:
        """The chances of pairs of attributes whose labels have classes, once the classes fit."""
        self._pairs: dict[tuple[int, int], tuple[list[int], list[int], float | None]] = {}
        require(self.pivots == 1, "alignments need one pivot")
        for entry in self.fill["pairs"]:
            (one, two), (first, second), chances = entry["pair"], entry["classes"], entry["probability"]
            require(0 <= one < two < self.size and (one, two) not in self._pairs, "a pair is not one, or stands twice")
            fit = len(first) == self.sizes[one] and len(second) == self.sizes[two] and len(chances) == 2
            require(fit and len(set(first) & set(second)) > 1, "an alignment does not fit the labels")
            self._pairs[one, two] = first, second, chances[0]
            self._pairs[two, one] = second, first, chances[1]
            for place, chance in zip((one, two), chances, strict=True):
                require(chance is None or self.channels[place].inside == 1, "a match needs a pivot with labels")
                if chance is not None:
                    yield chance

    def _check_fill(self) -> None:
        """Fills must be probabilities; beyond that they cannot hurt, since they never see a record."""
        rows: list[tuple[Sequence[float], int]] = []
        if self.kind == "row":
            require(len(self.fill["rows"]) == self.size, "there must be a row for each attribute")
            rows = list(zip(self.fill["rows"], self.sizes, strict=True))
        elif self.kind == "copy":
            require(len(set(self.outputs)) == 1 and self.pivots == 1, "copying needs equal sizes and one pivot")
            rows = [(row, self.size) for row in self.fill["probability"]]
            require(len(rows) == self.size, "there must be a copy probability for each pair")
        elif self.kind == "aligned":
            rows = [([chance], 1) for chance in self._check_aligned()]
        elif self.kind == "table":
            require(self.outputs == self.sizes, "tables need channels that report labels")
            self._tables = {(tuple(t["pivots"]), t["other"]): t["rows"] for t in self.fill["tables"]}
            wanted = {(b, other) for b in self.branches for other in range(self.size) if other not in b}
            require(set(self._tables) == wanted and len(self.fill["tables"]) == len(wanted), "a table is missing")
            for (branch, other), table in self._tables.items():
                require(len(table) == prod(self.sizes[place] for place in branch), "a table lacks a row")
                rows += [(row, self.sizes[other]) for row in table]
        else:
            require(self.kind in ("none", "uniform"), "the fill is unknown")
        for row, length in rows:
            require(len(row) == length, "a row of probabilities has the wrong length")
            exact = [Fraction(value) for value in row]
            multiples = all(0 <= value <= 1 and (value * UNIT).denominator == 1 for value in exact)
            require(multiples, "a value is not a multiple of 2^-32 between 0 and 1")
            require(self.kind in ("copy", "aligned") or sum(exact) == 1, "a distribution does not sum to 1")


def verify(plan: Any, certificate: Any) -> Literal[True]:
    """True if the certificate is true of the plan; else a CertificateError says why not.

    Each is a document as bytes or text, the path of one, plain values, or what dumps itself as a plan does.
    """
    plan = canonical.decode_object(_document(plan), CertificateError, "the plan")
    certificate = canonical.decode_object(_document(certificate), CertificateError, "the certificate")
    try:
        _check(plan, certificate)
    except CertificateError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as fault:
        raise CertificateError(f"the plan or certificate is malformed ({type(fault).__name__})") from None
    return True


def _document(given: Any) -> bytes | str:
    if isinstance(given, Path) or (isinstance(given, str) and not given.lstrip().startswith("{")):
        try:
            return Path(given).read_bytes()
        except OSError as fault:
            raise CertificateError(f"cannot read {given}: {fault.strerror}") from None
    if isinstance(given, dict):
        return json.dumps(given)
    found = given.dump() if hasattr(given, "dump") else given
    require(isinstance(found, bytes | str), f"a plan and its certificate are expected, got {type(given).__name__}")
    return cast("bytes | str", found)


def _check(plan: dict[str, Any], certificate: dict[str, Any]) -> None:
    claimed = plan.pop("digest")
    require(canonical.digest(plan) == claimed, "the plan's content does not match its digest")
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
