"""The exact privacy loss of a mechanism: how much likelier a report can be under one record than under another.

All of it is rational arithmetic on the integer weights that the sampler uses. For one sub-report y of a part,

    P(y | x) = (1/branches) Σ over branches  G_b(y) Π over its pivots s  R_s(y_s | x_s)

is affine in each R_s. The ratio between two records is therefore largest when each attribute is either the same in both
and as probable or as improbable as it can be, or different, most probable under the one record and least probable under
the other. One pass over sub-reports and those choices finds it; no pair of records is left out. Parts are independent,
so that the largest ratios of parts multiply.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import comb, prod
from operator import itemgetter
from typing import Any

from privtally.documents.plan import Plan
from privtally.exact import canonical
from privtally.exact.rational import log_floor
from privtally.mechanisms.channels import Asked, largest_and_smallest
from privtally.mechanisms.fills import Places
from privtally.mechanisms.mechanism import Mechanism, Part
from privtally.mechanisms.together import Together

MAX_STATES = 1_000_000
"""Parts are enumerated while the sub-reports to try, times the ways in which two records can agree with one (five for
each attribute that it shows), are no more than this, which is what the verifier can try one by one."""


@dataclass(frozen=True)
class Loss:
    """The largest likelihood ratio between records that differ in so many attributes.

    Two records and a report attain it; where there are none, it is a bound that follows from the structure.
    """

    differing: int
    ratio: Fraction
    record: tuple[int, ...] = ()
    other_record: tuple[int, ...] = ()
    report: tuple[int, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the ratio is attained."""
        return bool(self.report)


def losses(mechanism: Mechanism) -> list[Loss]:
    """The largest ratio between records that differ in 1, 2, … d attributes."""
    if isinstance(mechanism, Together):
        return _losses_together(mechanism)
    if any(states(part) > MAX_STATES for part in mechanism.parts):
        # Post-processing of the asked channels, averaged over choices that are made without looking at the record.
        return [Loss(differing, mechanism.ratio) for differing in range(1, mechanism.width + 1)]
    found = [_losses_of(part) for part in mechanism.parts]
    # For each number of differing attributes the largest ratio and each part's share in it. Among parts of a single
    # attribute those with the largest ratios differ first.
    single = sorted((n for n, own in enumerate(found) if len(own) == 2), key=lambda n: found[n][1].ratio, reverse=True)
    best = [(Fraction(1), {number: found[number][0] for number in single})]
    for number in single:
        ratio, shares = best[-1]
        best.append((ratio * found[number][1].ratio, shares | {number: found[number][1]}))
    for number, own in enumerate(found):
        if len(own) > 2:
            more: list[list[tuple[Fraction, dict[int, Loss], Loss]]] = [[] for _ in range(len(best) + len(own) - 1)]
            for (before, (ratio, shares)), loss in product(enumerate(best), own):
                more[before + loss.differing].append((ratio * loss.ratio, shares, loss))
            chosen = (max(choices, key=itemgetter(0)) for choices in more)
            best = [(ratio, shares | {number: loss}) for ratio, shares, loss in chosen]
    return [_whole(mechanism, differing, *best[differing]) for differing in range(1, mechanism.width + 1)]


def _losses_together(mechanism: Together) -> list[Loss]:
    """A report names its set, so that a ratio is one of the set's channel, whose labels differ in any two records that
    differ in the set.
    """
    number = max(range(len(mechanism.sets)), key=lambda number: mechanism.asked[number].ratio)
    channel, places = mechanism.asked[number], mechanism.sets[number]
    record = (0,) * len(mechanism.sizes)
    found = []
    for differing in range(1, len(record) + 1):
        changed = sorted(range(len(record)), key=lambda place: place not in places)[:differing]
        other = tuple(int(place in changed) for place in range(len(record)))
        labels = mechanism.label(number, record), mechanism.label(number, other)
        code = next(
            code
            for code in range(channel.outputs)
            if labels[0] in (holders := channel.holders(code)) and labels[1] not in holders
        )
        found.append(Loss(differing, channel.ratio, record, other, (int(mechanism.starts[number]) + code,)))
    return found


def worst(found: Sequence[Loss]) -> Loss:
    """The largest ratio between any two records."""
    return max(found, key=lambda loss: loss.ratio)


def states(part: Part) -> int:
    """How many ways there are to try a part's sub-reports against two records."""
    return (comb(len(part.attributes), part.shown) if _blind(part) else part.distinct) * int(5**part.shown)


def _blind(part: Part) -> bool:
    """Whether fills say nothing about codes, so that one sub-report for each kind of code stands for all."""
    return part.fill is None or part.fill.even


def _whole(mechanism: Mechanism, differing: int, ratio: Fraction, shares: dict[int, Loss]) -> Loss:
    """The loss of the parts together, codes in the order of the attributes."""
    attained = [(shares[number], place) for number, place in mechanism.places]
    return Loss(
        differing,
        ratio,
        tuple(loss.record[place] for loss, place in attained),
        tuple(loss.other_record[place] for loss, place in attained),
        tuple(loss.report[place] for loss, place in attained),
    )


def _losses_of(part: Part) -> list[Loss]:
    """The largest ratio of a part between records that differ in 0, 1, 2, … of its attributes."""
    best: dict[int, Loss] = {}
    attributes = range(len(part.attributes))
    # For each attribute whether both records have its most (0) or least (1) probable code, or one record each. With one
    # pivot an attribute that is the same in both only weakens the ratio, the less the less probable it is.
    ways = ((1, 1), (0, 1)) if part.pivots == 1 else ((0, 0), (1, 1), (0, 1))
    for shown, report in _reports(part):
        branches = combinations(shown, part.pivots)
        rest = {branch: chance for branch in branches if (chance := part.rest_probability(branch, report))}
        relevant = sorted({place for branch in rest for place in branch})
        free = [place for place in attributes if place not in relevant]
        ends = [largest_and_smallest(part.asked[place], report[place]) for place in relevant]
        for choice in product(ways, repeat=len(relevant)) if rest else ():
            record, other = [0] * len(attributes), [0] * len(attributes)
            for place, end, (one, two) in zip(relevant, ends, choice, strict=True):
                record[place], other[place] = end[one], end[two]
            ratio = _weight(part, rest, report, record) / _weight(part, rest, report, other)
            differing = sum(one != two for one, two in choice)
            # Attributes without effect on this sub-report may differ as well.
            for more in range(len(free) + 1):
                known = best.get(differing + more)
                if known is None or ratio > known.ratio:
                    changed = tuple(1 if place in free[:more] else code for place, code in enumerate(other))
                    best[differing + more] = Loss(differing + more, ratio, tuple(record), changed, report)
    return [best[differing] for differing in sorted(best)]


def _reports(part: Part) -> Iterator[tuple[Places, tuple[int, ...]]]:
    """The sub-reports to try with what each shows; where fills say nothing about codes, one for all that look alike."""
    blind = _blind(part)
    kinds: list[Hashable] = [*part.asked] if blind else [*range(len(part.attributes))]
    for _, shown in part.alike_sets(kinds):
        codes: list[Sequence[int]] = [(answers,) for answers in part.answers]
        for place in shown:
            codes[place] = _kinds(part.asked[place]) if blind else range(part.answers[place])
        yield from ((shown, report) for report in product(*codes))


def _weight(
    part: Part, rest: dict[tuple[int, ...], Fraction], report: Sequence[int], record: Sequence[int]
) -> Fraction:
    """The probability of a sub-report given a record, times the number of branches."""
    total = Fraction(0)
    for branch, chance in rest.items():
        total += prod((part.asked[own].probability(record[own], report[own]) for own in branch), start=chance)
    return total


def _kinds(channel: Asked) -> list[int]:
    """An output code in the sets of some inputs only; where there is none, one of no input's set and one of all."""
    kinds: dict[int, int] = {}
    for code in range(channel.outputs):
        holders = len(channel.holders(code))
        if 0 < holders < channel.inputs:
            return [code]
        kinds.setdefault(holders, code)
    return list(kinds.values())


def certify(plan: Plan) -> dict[str, Any]:
    """The certificate of a plan, as plain values."""
    found = losses(plan.mechanism)
    return {
        "format": "privtally.certificate/1",
        "plan": plan.digest,
        "epsilon": plan.epsilon,
        **_ratio(worst(found)),
        "by_differing_attributes": [_entry(loss) for loss in found],
    }


def dump_certificate(certificate: dict[str, Any]) -> bytes:
    """A certificate as a document."""
    return canonical.canonical(certificate) + b"\n"


def _entry(loss: Loss) -> dict[str, Any]:
    entry = {"differing": loss.differing, **_ratio(loss)}
    if loss.exact:
        entry |= {"record": loss.record, "other_record": loss.other_record, "report": loss.report}
    return entry


def _ratio(loss: Loss) -> dict[str, Any]:
    """A ratio is two hexadecimal strings, too long for JSON's numbers."""
    ratio = [f"{loss.ratio.numerator:x}", f"{loss.ratio.denominator:x}"]
    return {"realised": log_floor(loss.ratio), "ratio": ratio, "exact": loss.exact}
