"""What people should know about an estimate: phases that hardly tell attributes apart, and reports not kept whole."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from privtally.collector.likelihood import Weighed, anyway_of
from privtally.collector.spread import PhaseEstimate
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.exact.types import Distribution, Floats
from privtally.mechanisms.channels import Asked
from privtally.mechanisms.mechanism import Part
from privtally.mechanisms.together import Together

FALSE_ALARM = 1e-6
"""The chance that an estimate from honest reports carries a warning, over all events together."""


@dataclass(frozen=True)
class Finding:
    """The event that honest reports explain worst: how often it was seen, and how often it can occur."""

    what: str
    seen: float
    possible: float
    log_chance: float


def about_fit(history: Sequence[tuple[Plan, Counts]]) -> list[str]:
    """A warning for each phase whose counts honest reports cannot explain."""
    tests = sum(_tests(plan, counts) for plan, counts in history)
    notes = []
    for plan, counts in history:
        worst = min(_findings(plan, counts), key=lambda finding: finding.log_chance)
        if worst.log_chance < log(FALSE_ALARM) - log(tests):
            bound = "at most" if worst.seen > worst.possible else "at least"
            notes.append(
                f"WARNING: phase {plan.phase} has reports that its plan does not explain, whatever the answers: "
                f"{worst.what} makes up {worst.seen:.2%} of them, {bound} {worst.possible:.2%} can be expected. "
                "They may be made up or damaged; nothing was left out."
            )
    return notes


def _tests(plan: Plan, counts: Counts) -> int:
    """How many events are looked at; it depends on the plan and on what is kept, not on what was seen."""
    mechanism = plan.mechanism
    return (
        2 * sum(mechanism.outputs)
        + sum(counts.pairs[pair].size for pair in _across_parts(plan, counts))
        + sum(part.distinct for part in mechanism.parts if counts.parts.get(part.attributes) is not None)
    )


def _findings(plan: Plan, counts: Counts) -> Iterator[Finding]:
    names, attributes = plan.schema.names, plan.schema.attributes
    if isinstance(plan.mechanism, Together):
        yield from _findings_together(plan.mechanism, names, counts)
        return
    high: dict[int, Floats] = {}
    for part in plan.mechanism.parts:
        for own, (low, most) in zip(part.attributes, code_bounds(part), strict=True):
            high[own] = most
            for bound, sign in ((most, 1), (low, -1)):
                code, finding = _worst(counts.attributes[own], counts.reports, bound, sign)
                label = attributes[own].labels[code] if code < attributes[own].size else f"code {code}"
                where = "no answer to" if code == plan.mechanism.silences[own] else f"'{label}' of"
                yield Finding(f"{where} '{names[own]}'", *finding)
        subs = counts.parts.get(part.attributes)
        if subs is not None and part.pivots == 1:
            row, finding = _worst(subs.times, counts.reports, _report_bounds(part, subs.codes), 1)
            yield Finding(f"one and the same report ({', '.join(map(str, subs.codes[row].tolist()))})", *finding)
    for one, two in _across_parts(plan, counts):
        _, finding = _worst(counts.pairs[one, two].ravel(), counts.reports, np.outer(high[one], high[two]).ravel(), 1)
        yield Finding(f"one pair of codes of '{names[one]}' and '{names[two]}'", *finding)


def _findings_together(mechanism: Together, names: Sequence[str], counts: Counts) -> Iterator[Finding]:
    bounds = [
        [float(share) * bound for bound in _asked_bounds(channel)]
        for channel, share in zip(mechanism.asked, mechanism.shares, strict=True)
    ]
    for sign, ends in ((-1, [low for low, _ in bounds]), (1, [high for _, high in bounds])):
        code, finding = _worst(counts.attributes[0], counts.reports, np.concatenate(ends), sign)
        places, _ = mechanism.told(code)
        yield Finding(f"one code of '{', '.join(names[place] for place in places)}'", *finding)


def _across_parts(plan: Plan, counts: Counts) -> list[tuple[int, int]]:
    """The pairs of attributes of different parts, whose codes are independent given the record."""
    places = plan.mechanism.places
    return [(one, two) for one, two in counts.pairs if places[one][0] != places[two][0]]


def _worst(times: Distribution, reports: int, bounds: Floats, sign: int) -> tuple[int, tuple[float, float, float]]:
    """The event that exceeds (sign 1) or falls below (sign −1) its bound most: its place, share, bound, log chance."""
    seen = times / reports
    beyond = (seen - bounds) * sign > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.where(seen > 0, seen * np.log(seen / bounds), 0.0)
        divergence += np.where(seen < 1, (1 - seen) * np.log((1 - seen) / (1 - bounds)), 0.0)
    log_chances = np.where(beyond, -reports * divergence, 0.0)
    place = int(np.argmin(log_chances))
    return place, (float(seen[place]), float(bounds[place]), float(log_chances[place]))


def code_bounds(part: Part) -> list[tuple[Floats, Floats]]:
    """For each attribute of a part the least and largest probability of every code, over all records."""
    asked, shown = float(part.asked_share), float(part.answer_share)
    bounds = []
    for own, channel in enumerate(part.asked):
        low, high = (asked * bound for bound in _asked_bounds(channel))
        if part.fill is None or not part.fill.conditional:
            row = (1 - asked) * part.decoy_law(own)
            low, high = low + row, high + row
        else:
            filling = [branch for branch in part.branches if own not in branch]
            for branch in filling:
                least, most = _filled_bounds(part, branch, own)
                low, high = low + (1 - asked) / len(filling) * least, high + (1 - asked) / len(filling) * most
        if part.silent:
            low, high = (np.append(shown * bound, 1 - shown) for bound in (low, high))
        bounds.append((low, high))
    return bounds


def _asked_bounds(channel: Asked) -> tuple[Floats, Floats]:
    holders = channel.holder_counts()
    same, other = channel.same / channel.total, channel.other / channel.total
    return np.where(holders == channel.inputs, same, other), np.where(holders > 0, same, other)


def _filled_bounds(part: Part, branch: tuple[int, ...], own: int) -> tuple[Floats, Floats]:
    """The least and largest probability of every code of a filled attribute, over all records."""
    filling = part.filling(branch, own)
    if len(branch) > 1:
        table = filling.push(np.eye(int(np.prod([part.answers[pivot] for pivot in branch]))))
        return table.min(axis=0), table.max(axis=0)
    channel = part.asked[branch[0]]
    if filling.scale is None:
        table = filling.push(channel.push(np.eye(channel.inputs)))
        return table.min(axis=0), table.max(axis=0)
    scale, anyway = float(filling.scale), anyway_of(filling)
    if not scale:
        return anyway, anyway
    ends = [anyway + scale * bound for bound in _asked_bounds(channel)]
    return np.minimum(*ends), np.maximum(*ends)


def _report_bounds(part: Part, codes: Distribution) -> Floats:
    """The largest probability of each sub-report over all records."""
    high = np.concatenate([_asked_bounds(channel)[1] for channel in part.asked])
    return np.maximum(Weighed.of(part, codes).probability(high), np.finfo(float).tiny)


NEARLY_SINGULAR = 1e2
"""A condition number from which on people should be told."""


def about_conditions(names: Sequence[str], phases: Sequence[int], found: Sequence[PhaseEstimate]) -> list[str]:
    """Which phases cannot, or can hardly, tell attributes apart."""
    notes = []
    for number, phase in zip(phases, found, strict=True):
        lost = [name for name, known in zip(names, phase.known, strict=True) if not known]
        if lost:
            notes.append(
                f"Phase {number} cannot tell {', '.join(lost)} apart from the others (its operator is singular); "
                "those frequencies rest on the other phases alone."
            )
        elif phase.condition > NEARLY_SINGULAR:
            rest = "; the frequencies rest mostly on the other phases" if len(found) > 1 else "; its errors are large"
            notes.append(
                f"Phase {number} hardly tells the attributes apart (its operator is nearly singular, condition "
                f"{phase.condition:.0f}){rest}."
            )
    return notes


def about_limits(plan: Plan, counts: Counts) -> list[str]:
    """Which parts have more different reports than are kept."""
    return [
        f"Phase {plan.phase} has more than {counts.limit:,} different reports, so that the estimate rests on the "
        "counts of single questions; whole reports would say more."
        for part in plan.mechanism.parts
        if counts.parts.get(part.attributes, True) is None
    ]
