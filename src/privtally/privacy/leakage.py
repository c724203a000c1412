"""What a report gives away beyond ε: who sees it, how well they can guess, with what they could guess anyway.

An observer knows the plan and the frequencies of every answer, and takes a person's answers to be independent. Success
rates are exact Bayes rates, in rational arithmetic; bits are floats. Parts are independent given that, so each part is
looked at by itself.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb, prod

import numpy as np

from privtally.exact.arrays import Floats
from privtally.mechanisms import Mechanism, Part
from privtally.mechanisms.channel import Asked

Marginals = Sequence[Sequence[Fraction]]

MAX_REPORTS = 20_000
"""Sub-reports of a part with decoys are enumerated up to this number."""
MAX_BITS_CELLS = 1 << 22


@dataclass(frozen=True)
class Guess:
    """How often the best guess of an attribute's value is right, without and with the report."""

    before: Fraction
    after: Fraction


@dataclass(frozen=True)
class Leakage:
    """What an observer of a report gains. None stands for what is too large to enumerate.

    `pivot_guess` is the chance of naming all asked attributes of a part, the largest among the parts that do not ask
    all of theirs, and `blind_pivot_guess` that chance without the report; both are None where every part asks all.
    """

    pivot_guess: Fraction | None
    blind_pivot_guess: Fraction | None
    values: tuple[Guess, ...] | None
    bits: float | None


def uniform(sizes: Sequence[int]) -> list[list[Fraction]]:
    """Every answer equally frequent."""
    return [[Fraction(1, size)] * size for size in sizes]


def leakage(mechanism: Mechanism, marginals: Marginals) -> Leakage:
    """What an observer who knows the marginals learns from one report."""
    choosing = [part for part in mechanism.parts if len(part.branches) > 1]
    blind = max((Fraction(1, len(part.branches)) for part in choosing), default=None)
    bits: float | None = 0.0
    named, values = [], []
    for part in mechanism.parts:
        found = _of_part(part, [marginals[attribute] for attribute in part.attributes])
        if found is None:
            return Leakage(None, blind, None, None)
        pivot_guess, guesses, own_bits = found
        named += [pivot_guess] if part in choosing else []
        values.append(guesses)
        bits = None if bits is None or own_bits is None else bits + own_bits
    in_order = tuple(values[number][place] for number, place in mechanism.places)
    return Leakage(max(named, default=None), blind, in_order, bits)


_OfPart = tuple[Fraction, list[Guess], float | None]
"""The chance of naming a part's pivots, the guesses of its values, and the bits."""


def _of_part(part: Part, marginals: Marginals) -> _OfPart | None:
    """What the reports to a part say, over all that they may show; None where that is too much to enumerate."""
    large = any(channel.inside > 1 and channel.inputs * channel.outputs > MAX_BITS_CELLS for channel in part.asked)
    if large or (part.decoys and part.distinct > MAX_REPORTS):
        return None
    alike = part.fill is None or not part.fill.conditional
    rows = getattr(part.fill, "rows", None)
    kinds: list[Hashable] = [
        (channel, tuple(marginal), rows and rows[own]) if alike else own
        for own, (channel, marginal) in enumerate(zip(part.asked, marginals, strict=True))
    ]
    before = [max(marginal) for marginal in marginals]
    # What a report that shows an attribute says about it, added up over the sets of its kind.
    after: dict[Hashable, Fraction] = dict.fromkeys(kinds, Fraction(0))
    times: dict[Hashable, Fraction] = dict.fromkeys(kinds, Fraction(0))
    members = Counter(kinds)
    named, bits, sets = Fraction(0), 0.0, comb(len(part.attributes), part.shown)
    for number, places in part.alike_sets(kinds):
        own_marginals = [marginals[own] for own in places]
        found = (_hidden_part if part.decoys else _open_part)(part.showing(places), own_marginals)
        named += number * found[0]
        bits = bits + number * found[2] if found[2] is not None else float("nan")
        for own, guess in zip(places, found[1], strict=True):
            share = Fraction(number, sets * members[kinds[own]])
            after[kinds[own]] += share * guess
            times[kinds[own]] += share
    values = [Guess(known, after[kind] + (1 - times[kind]) * known) for known, kind in zip(before, kinds, strict=True)]
    return named / sets, values, None if np.isnan(bits) else bits / sets


_OfShown = tuple[Fraction, list[Fraction], float | None]
"""The same where every attribute is shown, with the guesses that a report allows alone."""


def _open_part(part: Part, marginals: Marginals) -> _OfShown:
    """A part that asks every attribute."""
    bits = 0.0
    for channel, marginal in zip(part.asked, marginals, strict=True):
        # Every input's outputs have the same entropy.
        noise = _entropy(channel.push(np.eye(1, channel.inputs)[0]))
        bits += _entropy(channel.push(np.array(marginal, dtype=float))) - noise
    return Fraction(1), list(map(_best_guess, part.asked, marginals)), bits


def _best_guess(channel: Asked, marginal: Sequence[Fraction]) -> Fraction:
    """How often the most probable input, given the output, is the right one."""
    anywhere = max(marginal) * channel.other
    total = Fraction(0)
    for output in range(channel.outputs):
        inside = max((marginal[code] for code in channel.holders(output)), default=Fraction(0))
        total += max(inside * channel.same, anywhere)
    return total / channel.total


def _hidden_part(part: Part, marginals: Marginals) -> _OfShown:
    """A part whose decoys hide the pivots, sub-report by sub-report."""
    named, right = Fraction(0), [Fraction(0)] * len(part.attributes)
    private = [channel.push(np.array(own, dtype=object)) for channel, own in zip(part.asked, marginals, strict=True)]
    largest = [max(marginal) for marginal in marginals]
    for report in part.reports():
        by_branch = {}
        for branch in part.branches:
            rest = part.rest_probability(branch, report)
            by_branch[branch] = rest * prod((private[own][report[own]] for own in branch), start=Fraction(1))
        named += max(by_branch.values())
        total = sum(by_branch.values(), start=Fraction(0))
        for own, channel in enumerate(part.asked):
            asked = sum((chance for branch, chance in by_branch.items() if own in branch), start=Fraction(0))
            others, code = total - asked, report[own]
            # Given that it was asked, the report's code is worth R(code | x) / private[code] for the input x.
            odds = asked / private[own][code] / channel.total
            inside = max((marginals[own][x] for x in channel.holders(code)), default=Fraction(0))
            right[own] += max(inside * (odds * channel.same + others), largest[own] * (odds * channel.other + others))
    branches = len(part.branches)
    return named / branches, [after / branches for after in right], _hidden_bits(part, marginals)


def _hidden_bits(part: Part, marginals: Marginals) -> float | None:
    """The mutual information of record and sub-report, where the table of both is small enough."""
    if prod(part.sizes) * prod(part.answers) > MAX_BITS_CELLS:
        return None
    records = np.array(list(product(*map(range, part.sizes))))
    reports = list(part.reports())
    codes = np.array(reports)
    law = np.zeros((len(records), len(reports)))
    matrices = [channel.push(np.eye(channel.inputs)) for channel in part.asked]
    for branch in part.branches:
        rest: Floats = np.array([float(part.rest_probability(branch, report)) for report in reports])
        asked = np.ones_like(law)
        for own in branch:
            asked *= matrices[own][records[:, own][:, None], codes[:, own][None, :]]
        law += asked * rest / len(part.branches)
    chances = np.array([float(prod(marginals[own][code] for own, code in enumerate(row))) for row in records.tolist()])
    return _entropy(chances @ law) - float(chances @ [_entropy(row) for row in law])


def _entropy(distribution: Floats) -> float:
    held = distribution[distribution > 0]
    return float(-np.sum(held * np.log2(held)))
