"""What taking part gives away, in numbers: guesses of an observer, bits, and what made-up reports can do to totals.

Marginals are those that the observer knows; all numbers are exact up to the rounding of floats, but for bounds that say
so.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import comb, prod
from numbers import Real
from typing import Any

import numpy as np

from privtally.collector.inverse import Inverse, inverse_of
from privtally.collector.together import spread, undoing
from privtally.documents.plan import Plan
from privtally.errors import PlanError, naming_arguments
from privtally.exact.types import Floats
from privtally.mechanisms.channels import Asked
from privtally.mechanisms.fills import Places
from privtally.mechanisms.mechanism import Mechanism, Part, independent
from privtally.mechanisms.together import Together
from privtally.privacy.loss import certify

MAX_CELLS = 1 << 20
"""The most numbers that are looked at for a guess of the pivots: sub-reports times branches."""
MAX_SETS = 2_000
"""The most shown sets that are looked at for it, sets of attributes that look alike counting once."""
MAX_REPORTS = 20_000
"""Sub-reports of a part with decoys are enumerated up to this number for guesses of values."""
MAX_BITS_CELLS = 1 << 22
"""The most records times sub-reports for which bits are computed."""

Marginals = Sequence[Floats]


@dataclass(frozen=True)
class PivotGuess:
    """The chance of naming all asked attributes of a part, or a bound on it."""

    value: float
    exact: bool = True


@dataclass(frozen=True)
class Guess:
    """How often the best guess of an attribute's value is right, without and with the report."""

    before: float
    after: float


@dataclass(frozen=True)
class Leakage:
    """What an observer of a report gains. None stands for what is too large to enumerate.

    `pivot_guess` is the chance of naming all asked attributes of a part, the largest among the parts that do not ask
    all of theirs, and `blind_pivot_guess` that chance without the report; both are None where every part asks all.
    """

    pivot_guess: float | None
    pivot_guess_exact: bool
    blind_pivot_guess: float | None
    values: tuple[Guess, ...] | None
    bits: float | None


def uniform(sizes: Sequence[int]) -> list[Floats]:
    """Every answer equally frequent."""
    return [np.full(size, 1 / size) for size in sizes]


def leakage(mechanism: Mechanism, marginals: Marginals) -> Leakage:
    """What an observer who knows the marginals learns from one report."""
    if isinstance(mechanism, Together):
        return _leakage_together(mechanism, marginals)
    known = [[marginals[attribute] for attribute in part.attributes] for part in mechanism.parts]
    choosing = [(part, own) for part, own in zip(mechanism.parts, known, strict=True) if len(part.branches) > 1]
    guesses = [pivot_guess(part, own) for part, own in choosing]
    named, exact = max((guess.value for guess in guesses), default=None), all(guess.exact for guess in guesses)
    blind = max((1 / len(part.branches) for part, _ in choosing), default=None)
    named = named if exact or named != 1 else None
    if not all(map(_enumerable, mechanism.parts)):
        return Leakage(named, exact, blind, None, None)
    values, bits = zip(*map(_values_and_bits, mechanism.parts, known), strict=True)
    in_order = tuple(values[number][place] for number, place in mechanism.places)
    total = math.fsum(bits)
    return Leakage(named, exact, blind, in_order, None if math.isnan(total) else total)


def _leakage_together(mechanism: Together, marginals: Marginals) -> Leakage:
    """A report says which set it answers: guesses and bits are those of the sets' channels, by their shares."""
    shares = [float(share) for share in mechanism.shares]
    blind = max(shares) if len(shares) > 1 else None
    named = None if blind is None else 1.0
    if any(channel.inputs * channel.outputs > MAX_BITS_CELLS for channel in mechanism.asked):
        return Leakage(named, pivot_guess_exact=True, blind_pivot_guess=blind, values=None, bits=None)
    before = [float(marginal.max()) for marginal in marginals]
    after, bits = [0.0] * len(marginals), 0.0
    for number, (share, channel, places) in enumerate(zip(shares, mechanism.asked, mechanism.sets, strict=True)):
        joint = independent([marginals[place] for place in places])(tuple(range(len(places)))).ravel()
        both = joint[:, None] * channel.push(np.eye(channel.inputs))  # (label, code)
        noise = _entropy(channel.push(np.eye(1, channel.inputs)[0]))
        bits += share * (_entropy(both.sum(axis=0)) - noise)
        cells = both.reshape(*mechanism.shape(number), -1)
        for place in range(len(marginals)):
            if place in places:
                others = tuple(axis for axis, asked in enumerate(places) if asked != place)
                after[place] += share * float(cells.sum(axis=others).max(axis=0).sum())
            else:
                after[place] += share * before[place]
    return Leakage(
        named, pivot_guess_exact=True, blind_pivot_guess=blind, values=tuple(map(Guess, before, after)), bits=bits
    )


def pivot_guess(part: Part, marginals: Marginals) -> PivotGuess:
    """How often somebody who sees a sub-report names the attributes that were asked."""
    if part.fill is None:
        return PivotGuess(1.0)
    private = _private(part, marginals)
    sets = list(islice(part.alike_sets(_kinds(part, marginals)), MAX_SETS + 1))
    if len(sets) > MAX_SETS:
        return PivotGuess(distance_bound(part, private), exact=False)
    total, exact = 0.0, True
    for number, places in sets:
        guess = _of_shown(part.showing(places), [private[place] for place in places])
        total, exact = total + number * guess.value, exact and guess.exact
    return PivotGuess(min(total / sum(number for number, _ in sets), 1.0), exact)


def _private(part: Part, marginals: Marginals) -> list[Floats]:
    """The law of each attribute's private code where it is asked."""
    return [channel.push(marginal) for channel, marginal in zip(part.asked, marginals, strict=True)]


def _kinds(part: Part, marginals: Marginals) -> list[Hashable]:
    """Attributes of one kind look alike to the observer, where fills depend on nothing."""
    if part.fill is not None and part.fill.conditional:
        return list(range(len(marginals)))
    return [
        (channel, marginal.tobytes(), part.decoy_law(place).tobytes())
        for place, (channel, marginal) in enumerate(zip(part.asked, marginals, strict=True))
    ]


def distance_bound(part: Part, private: Sequence[Floats]) -> float:
    """A bound where there are too many shown sets to look at: 1/c + the mean distance of a private code from a fill.

    With fills r_j that depend on nothing, one pivot and c shown attributes, Σ_y max_s h_s = E_r max_s π_s/r_s is at
    most 1 + Σ_s E_r (π_s/r_s − 1)⁺, and E_r (π_s/r_s − 1)⁺ is the distance in total variation of π_s from r_s.
    """
    assert part.fill is not None
    if part.fill.conditional or part.pivots > 1:
        return 1.0
    distances = [np.maximum(codes - part.decoy_law(place), 0).sum() for place, codes in enumerate(private)]
    return min(1 / part.shown + float(np.mean(distances)), 1.0)


def _of_shown(part: Part, private: Sequence[Floats]) -> PivotGuess:
    """The guess where every attribute is shown; 1 where that is too much to enumerate."""
    assert part.fill is not None
    if part.pivots == 1 and not part.fill.conditional:
        return PivotGuess(_independent(part, private))
    if prod(part.answers) * len(part.branches) > MAX_CELLS:
        return PivotGuess(1.0, exact=False)
    largest: Floats = np.zeros(part.answers)
    for law in _branch_laws(part, _fill_laws(part), private):
        np.maximum(largest, law, out=largest)
    return PivotGuess(float(largest.sum()))


def _independent(part: Part, private: Sequence[Floats]) -> float:
    """The guess with fills r_j that depend on nothing, and one pivot.

    Then h_s(y) = Π_j r_j(y_j) · π_s(y_s)/r_s(y_s): the expected largest of independent ratios, from the product of
    their distribution functions. A code that is never filled names the pivot.
    """
    values, places, chances, certain = [], [], [], 0.0
    for attribute, codes in enumerate(private):
        row = part.decoy_law(attribute)
        filled = row > 0
        certain += float(codes[~filled].sum())
        values.append(codes[filled] / row[filled])
        chances.append(row[filled])
        places.append(np.full(int(filled.sum()), attribute))
    ratio, place, chance = map(np.concatenate, (values, places, chances))
    order = np.argsort(ratio, kind="stable")
    reached: Floats = np.ones(len(order))
    for attribute in range(len(private)):
        reached *= np.cumsum(np.where(place[order] == attribute, chance[order], 0.0))
    largest = float(ratio[order] @ np.diff(reached, prepend=0.0))
    return (largest + certain) / len(part.branches)


def _fill_laws(part: Part) -> list[Floats]:
    """For each branch the chance of what all possible sub-reports show beside it, over their codes."""
    laws = []
    for branch in part.branches:
        law: Floats = np.full(part.answers, 1 / len(part.branches))
        given = [part.answers[place] for place in branch]
        for other in part.others(branch):
            table = part.filling(branch, other).push(np.eye(prod(given))).reshape(*given, part.answers[other])
            law *= _on(table, (*branch, other), len(part.answers))
        laws.append(law)
    return laws


def _branch_laws(part: Part, fill_laws: Sequence[Floats], private: Sequence[Floats]) -> Iterator[Floats]:
    """For each branch the chance that it is taken and gives each possible sub-report, by the laws of private codes."""
    for branch, fill_law in zip(part.branches, fill_laws, strict=True):
        law = fill_law
        for place in branch:
            law = law * _on(private[place], (place,), len(part.answers))
        yield law


def _on(table: Floats, axes: Places, width: int) -> Floats:
    """A table with its axes at these places among so many."""
    shape = [1] * width
    for axis, size in zip(axes, table.shape, strict=True):
        shape[axis] = size
    return table.transpose(np.argsort(axes)).reshape(shape)


def _enumerable(part: Part) -> bool:
    large = any(channel.inside > 1 and channel.inputs * channel.outputs > MAX_BITS_CELLS for channel in part.asked)
    return not large and (not part.decoys or part.distinct <= MAX_REPORTS)


def _values_and_bits(part: Part, marginals: Marginals) -> tuple[list[Guess], float]:
    """The guesses of a part's values, and the bits, over all that sub-reports may show; not a number for bits where
    they are too much to compute.
    """
    kinds = _kinds(part, marginals)
    members = Counter(kinds)
    # How often a report shows an attribute, and is right about it then, added up over the sets of its kind.
    shown: dict[Hashable, float] = defaultdict(float)
    right: dict[Hashable, float] = defaultdict(float)
    bits, sets = 0.0, comb(len(part.attributes), part.shown)
    for number, places in part.alike_sets(kinds):
        guesses, shown_bits = (_hidden if part.decoys else _open)(
            part.showing(places), [marginals[place] for place in places]
        )
        bits += number / sets * shown_bits
        for place, guess in zip(places, guesses, strict=True):
            share = number / sets / members[kinds[place]]
            right[kinds[place]] += share * guess
            shown[kinds[place]] += share
    before = [float(marginal.max()) for marginal in marginals]
    after = [right[kind] + (1 - shown[kind]) * blind for kind, blind in zip(kinds, before, strict=True)]
    return list(map(Guess, before, after)), bits


def _open(part: Part, marginals: Marginals) -> tuple[list[float], float]:
    """Guesses and bits where every attribute is asked."""
    guesses, bits = [], 0.0
    for channel, marginal in zip(part.asked, marginals, strict=True):
        right = np.maximum(_inside(channel, marginal) * channel.same, marginal.max() * channel.other)
        guesses.append(float(right.sum()) / channel.total)
        # Every input's outputs have the same entropy.
        bits += _entropy(channel.push(marginal)) - _entropy(channel.push(np.eye(1, channel.inputs)[0]))
    return guesses, bits


def _inside(channel: Asked, marginal: Floats) -> Floats:
    """For each output code the largest frequency among the inputs to whose set it belongs."""
    return np.array([max(marginal[list(channel.holders(code))], default=0.0) for code in range(channel.outputs)])


def _hidden(part: Part, marginals: Marginals) -> tuple[list[float], float]:
    """Guesses and bits where decoys hide the pivots, from the chances of all sub-reports."""
    private, fill_laws = _private(part, marginals), _fill_laws(part)
    by_branch = list(_branch_laws(part, fill_laws, private))
    total: Floats = np.sum(by_branch, axis=0)
    guesses = []
    for place, (channel, marginal) in enumerate(zip(part.asked, marginals, strict=True)):
        asked = np.sum([law for branch, law in zip(part.branches, by_branch, strict=True) if place in branch], axis=0)
        # Given that it was asked, the report's code is worth R(code | x) / private[code] for the input x.
        odds = np.moveaxis(asked, place, -1) / private[place] / channel.total
        others = np.moveaxis(total - asked, place, -1)
        inside = _inside(channel, marginal) * (odds * channel.same + others)
        guesses.append(float(np.maximum(inside, marginal.max() * (odds * channel.other + others)).sum()))
    if prod(part.sizes) * prod(part.answers) > MAX_BITS_CELLS:
        return guesses, math.nan
    noise = 0.0
    matrices = [channel.push(np.eye(channel.inputs)) for channel in part.asked]
    for record in product(*map(range, part.sizes)):
        chance = prod(float(marginal[code]) for marginal, code in zip(marginals, record, strict=True))
        rows = [matrix[code] for matrix, code in zip(matrices, record, strict=True)]
        noise += chance * _entropy(np.sum(list(_branch_laws(part, fill_laws, rows)), axis=0))
    return guesses, _entropy(total) - noise


def _entropy(distribution: Floats) -> float:
    positive = distribution[distribution > 0]
    return float(-np.sum(positive * np.log2(positive)))


ROUNDING = 1e-9
"""Differences below this are the computer's."""
MOST_CELLS = 4_000_000
"""With more labels times codes in an attribute, what each code adds to each frequency is not computed."""


@dataclass(frozen=True)
class Poisoning:
    """The most that colluders can do to one attribute's frequencies."""

    code: int
    """The label that moves most."""
    shift: float
    """By how much, if the colluders care for nothing else."""
    quiet_shift: float
    """By how much, if they choose their questions as the plan says; the same where reports do not name the question."""
    hidden_below: float
    """The share of colluders up to which the quiet attack leaves one-way counts that honest people could have left."""
    reports: Sequence[Floats]
    """The frequencies of the colluders' codes, for each attribute of its part among those not silent about it."""


def poison(mechanism: Mechanism, frequencies: Sequence[Floats], share: float) -> list[Poisoning | None]:
    """What a share of colluders can do to each attribute; None where its one-way counts do not determine it, or
    it has too many labels.
    """
    if isinstance(mechanism, Together):
        return _poison_together(mechanism, frequencies, share)
    found = [_poison_part(part, [frequencies[own] for own in part.attributes], share) for part in mechanism.parts]
    return [found[number][place] for number, place in mechanism.places]


def _poison_together(mechanism: Together, frequencies: Sequence[Floats], share: float) -> list[Poisoning | None]:
    """What colluders do who answer the set that moves an attribute most, or the set that the plan gives them.

    A report counts by the precision that its set has for the attribute at uniform answers, as in the estimate.
    """
    return [_poison_asked_together(mechanism, place, own, share) for place, own in enumerate(frequencies)]


def _poison_asked_together(mechanism: Together, place: int, frequencies: Floats, share: float) -> Poisoning | None:
    sets = [
        (
            undoing(mechanism.asked[number], mechanism.shape(number)),
            places.index(place),
            float(mechanism.shares[number]),
        )
        for number, places in enumerate(mechanism.sets)
        if place in places
    ]
    if any(channel.channel.inputs * channel.channel.outputs > MOST_CELLS for channel, _, _ in sets):
        return None
    moved = [channel.rows(channel.kept([axis])) for channel, axis, _ in sets]
    precision = [1 / spread(rows, own[0].even).trace() for rows, own in zip(moved, sets, strict=True)]
    whole = sum(weight * float(own[2]) for weight, own in zip(precision, sets, strict=True))
    found = []
    for rows, (channel, _, _), weight in zip(moved, sets, precision, strict=True):
        code, most = _strongest([rows], 1 / len(frequencies) - rows @ channel.even, frequencies)
        shift = most - float(frequencies[code])
        made_up = _made_up([rows[code] * np.sign(shift)], [channel.even])
        found.append((share * weight / (share * weight + (1 - share) * whole) * shift, shift, code, made_up))
    strongest = max(found, key=lambda effect: abs(effect[0]))
    quiet = (
        sum(weight * float(own[2]) * effect[1] for weight, own, effect in zip(precision, sets, found, strict=True))
        / whole
    )
    return Poisoning(strongest[2], float(strongest[0]), float(share * quiet), 0.0, strongest[3])


def _poison_part(part: Part, frequencies: Sequence[Floats], share: float) -> list[Poisoning | None]:
    if not part.linear:
        return [None] * len(frequencies)
    inverse = inverse_of(part)
    honest = part.reported(independent(frequencies))
    # Colluders all answer the same attribute; of the honest people only those who are asked do.
    visible_share = share / (share + (1 - share) * float(part.answer_share))
    found: list[Poisoning | None] = []
    for own, known in enumerate(inverse.known):
        if not known or part.sizes[own] * part.answers[own] > MOST_CELLS:
            found.append(None)
            continue
        adds, nothing = _added(inverse, part, own)
        code, most = _strongest(adds, nothing, frequencies[own])
        shift = most - float(frequencies[own][code])
        reports = _made_up([each[code] * np.sign(shift) for each in adds], honest)
        hidden_below = _hidden_below(inverse, part, reports, frequencies)
        found.append(Poisoning(code, visible_share * shift, share * shift, hidden_below, reports))
    return found


def _added(inverse: Inverse, part: Part, own: int) -> tuple[list[Floats], Floats]:
    """For each attribute the matrix (own label, code): what a code adds to a frequency; and what no code adds.

    One column stands for all codes where none adds anything. Frequencies are made to sum to 1, as in an estimate.
    """
    nothing = np.full(part.sizes[own], 1 / part.sizes[own])
    adds = []
    for back, start, channel in zip(inverse.back(own), inverse.start, part.asked, strict=True):
        if not back.any():
            adds.append(np.zeros((len(back), 1)))
            continue
        moved, away = back @ channel.members(), back @ start
        adds.append(moved - moved.mean(axis=0))
        nothing -= away - away.mean()
    return adds, nothing


def _made_up(wanted: Sequence[Floats], honest: Sequence[Floats]) -> list[Floats]:
    """One-way frequencies of reports that earn most; what earns nothing is reported as honest people do."""
    nothing = ROUNDING * max(np.abs(own).max() for own in wanted)
    law = []
    for own, reported in zip(wanted, honest, strict=True):
        best = own >= own.max() - nothing
        law.append(reported if best.all() else best / best.sum())
    return law


def _strongest(adds: Sequence[Floats], nothing: Floats, frequencies: Floats) -> tuple[int, float]:
    """The label that a made-up report moves most, and what the report adds to its frequency."""
    highest = nothing + sum(each.max(axis=1) for each in adds)
    lowest = nothing + sum(each.min(axis=1) for each in adds)
    up, down = int(np.argmax(highest - frequencies)), int(np.argmax(frequencies - lowest))
    if highest[up] - frequencies[up] >= frequencies[down] - lowest[down]:
        return up, float(highest[up])
    return down, float(lowest[down])


def _hidden_below(inverse: Inverse, part: Part, reports: Sequence[Floats], frequencies: Sequence[Floats]) -> float:
    """A share γ of colluders imitates honest people with (1 − γ)·true + γ·imitated: until one of them is negative.

    A singular operator, or one to more codes than labels, does not reach every report; what no frequencies imitate is
    never hidden.
    """
    imitated = inverse.apply([channel.support(codes) for channel, codes in zip(part.asked, reports, strict=True)])
    pairs = zip(part.reported(independent(imitated)), reports, strict=True)
    if not all(np.allclose(reported, seen, rtol=0, atol=ROUNDING) for reported, seen in pairs):
        return 0.0
    true, wanted = np.concatenate(list(frequencies)), np.concatenate(imitated)
    negative = wanted < -ROUNDING
    return float(np.min(true[negative] / (true[negative] - wanted[negative]), initial=1.0))


Frequencies = Mapping[str, Sequence[float] | Mapping[str, float]]
"""The share of every label by attribute: in the labels' order, or by label as an estimate has them."""

COLLUDERS = 0.01
"""The share of colluding participants whose effect an audit states."""


class Audit(dict[str, Any]):
    """What one report to a plan gives away, as plain values; it prints what matters most of them."""

    def __repr__(self) -> str:
        how = "exactly" if self["exact"] else "at most"
        lines = [f"Plan {self['plan'][:12]}…: ε = {self['epsilon']:g} promised, {how} {self['realised']:.6g} realised"]
        if self["pivot_guess"] is not None:
            lines.append(f"Whoever sees a report names the question really used {_percent(self['pivot_guess'])}")
        for name, guess in (self["value_guesses"] or {}).items():
            often, before = _percent(guess["with_report"]), _percent(guess["without_report"])
            lines.append(f"Whoever sees a report guesses the answer to '{name}' {often}, without it {before}")
        return "\n".join(lines)


def _percent(chance: float) -> str:
    return f"{100 * chance:.1f} % of the time"


@naming_arguments
def audit(plan: Plan, frequencies: Frequencies | None = None) -> Audit:
    """What one report to a plan gives away: its exact loss, and what an observer can guess from it.

    The observer knows how frequent every answer is by `frequencies`; if they are not given, nothing: every answer is as
    likely.
    """
    if not isinstance(plan, Plan):
        raise PlanError(f"audit takes a plan, as privtally.load reads it from a file, got {type(plan).__name__}")
    certificate = certify(plan)
    marginals = _marginals(plan, frequencies)
    gained = leakage(plan.mechanism, marginals)
    blind = gained if frequencies is None else leakage(plan.mechanism, uniform(plan.schema.sizes))
    return Audit(
        {
            "plan": plan.digest,
            "mechanism": plan.name,
            "phase": plan.phase,
            "epsilon": plan.epsilon,
            "answers": plan.answers,
            "total_epsilon": plan.total_epsilon,
            **{name: certificate[name] for name in ("realised", "exact", "by_differing_attributes")},
            "pivot_guess": gained.pivot_guess,
            "pivot_guess_exact": gained.pivot_guess_exact,
            "observer": "knows-nothing" if frequencies is None else "knows-totals",
            "pivot_guess_knowing_nothing": blind.pivot_guess,
            "pivot_guess_without_report": gained.blind_pivot_guess,
            "value_guesses": gained.values
            and {
                name: {"without_report": guess.before, "with_report": guess.after}
                for name, guess in zip(plan.schema.names, gained.values, strict=True)
            },
            "bits": gained.bits,
            "poisoning": _poisoning(plan, marginals),
        }
    )


def audit_campaign(plans: Sequence[Plan], frequencies: Frequencies | None = None) -> dict[str, Any]:
    """What a person who answers every one of the plans gives away: budgets add up."""
    parts: list[dict[str, Any]] = [audit(plan, frequencies) for plan in plans]
    if len(parts) == 1:
        return parts[0]
    if any(plan.schema != plans[0].schema for plan in plans):
        raise PlanError("the plans have different schemas; audit the plans of one campaign together")
    rows = zip(*(part["by_differing_attributes"] for part in parts), strict=True)
    realised = [sum(entry["realised"] for entry in row) for row in rows]
    return {
        "epsilon": sum(part["epsilon"] for part in parts),
        "realised": sum(part["realised"] for part in parts),
        "exact": False,
        "by_differing_attributes": [
            {"differing": differing, "realised": total, "exact": False} for differing, total in enumerate(realised, 1)
        ],
        "plans": parts,
    }


def _marginals(plan: Plan, frequencies: Frequencies | None) -> list[Floats]:
    if frequencies is None:
        return uniform(plan.schema.sizes)
    marginals = []
    for attribute in plan.schema.attributes:
        stated = frequencies.get(attribute.name, ())
        given = [stated.get(label, 0) for label in attribute.labels] if isinstance(stated, Mapping) else stated
        if not all(isinstance(value, Real) and math.isfinite(value) for value in given):
            raise PlanError(f"the frequencies of '{attribute.name}' must be finite numbers")
        values = np.maximum(np.array(given, dtype=float), 0)
        if len(values) != attribute.size or not values.any():
            raise PlanError(
                f"the frequencies of '{attribute.name}' do not fit the plan; give an estimate of the same questions"
            )
        marginals.append(values / values.sum())
    return marginals


def _poisoning(plan: Plan, marginals: Marginals) -> dict[str, Any]:
    """What a few colluders can do to the totals of this phase alone, each undone by its exact operator."""
    poisoned = poison(plan.mechanism, marginals, COLLUDERS)
    effects = {
        attribute.name: effect
        and {
            "label": attribute.labels[effect.code],
            "shift_points": 100 * effect.shift,
            "quiet_shift_points": 100 * effect.quiet_shift,
            "hidden_below_share": effect.hidden_below,
        }
        for attribute, effect in zip(plan.schema.attributes, poisoned, strict=True)
    }
    return {"share": COLLUDERS, "attributes": effects}
