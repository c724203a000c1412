"""What a report gives away beyond ε: who sees it, how well they can guess, with what they could guess anyway.

An observer knows the plan and the frequencies of every answer, and takes a person's answers to be independent. Success
rates are exact Bayes rates, in rational arithmetic; bits are floats.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from privtally.mechanisms import Mechanism, Pivot, Sample, Split
from privtally.mechanisms.channel import Keep

Marginals = Sequence[Sequence[Fraction]]

MAX_REPORTS = 20_000
MAX_BITS_CELLS = 1 << 22


@dataclass(frozen=True)
class Guess:
    """How often the best guess of an attribute's value is right, without and with the report."""

    before: Fraction
    after: Fraction


@dataclass(frozen=True)
class Leakage:
    """What an observer of a report gains. None stands for what is too large to enumerate."""

    pivot_guess: Fraction | None
    values: tuple[Guess, ...] | None
    bits: float | None


def uniform(sizes: Sequence[int]) -> list[list[Fraction]]:
    """Every answer equally frequent."""
    return [[Fraction(1, size)] * size for size in sizes]


def leakage(mechanism: Mechanism, marginals: Marginals) -> Leakage:
    """What an observer who knows the marginals learns from one report."""
    match mechanism:
        case Split(channels):
            gains = [_response(channel, own) for channel, own in zip(channels, marginals, strict=True)]
            return Leakage(None, tuple(gains), sum(_bits(c, own) for c, own in zip(channels, marginals, strict=True)))
        case Sample(channels):
            return _sample(channels, marginals)
        case Pivot() as pivot if prod(pivot.outputs) <= MAX_REPORTS:
            return _pivot(pivot, marginals)
        case _:
            return Leakage(None, None, None)


def _response(channel: Keep, marginal: Sequence[Fraction]) -> Guess:
    codes = range(channel.size)
    after = sum(max(marginal[x] * channel.probability(x, y) for x in codes) for y in codes)
    return Guess(max(marginal), Fraction(after))


def _bits(channel: Keep, marginal: Sequence[Fraction]) -> float:
    given = np.array([float(chance) for chance in marginal])
    matrix = channel.push(np.eye(channel.size))
    return _entropy(given @ matrix) - float(given @ [_entropy(row) for row in matrix])


def _sample(channels: Sequence[Keep], marginals: Marginals) -> Leakage:
    share = Fraction(1, len(channels))
    guesses = []
    for channel, marginal in zip(channels, marginals, strict=True):
        asked = _response(channel, marginal)
        guesses.append(Guess(asked.before, share * asked.after + (1 - share) * asked.before))
    bits = float(share) * sum(_bits(channel, own) for channel, own in zip(channels, marginals, strict=True))
    return Leakage(Fraction(1), tuple(guesses), bits)


def _pivot(mechanism: Pivot, marginals: Marginals) -> Leakage:
    attributes = range(len(mechanism.channels))
    private = [
        [
            sum((p * channel.probability(x, y) for x, p in enumerate(marginal)), start=Fraction(0))
            for y in range(channel.size)
        ]
        for channel, marginal in zip(mechanism.channels, marginals, strict=True)
    ]
    pivot_right = Fraction(0)
    right = [Fraction(0)] * len(attributes)
    for report in product(*map(range, mechanism.outputs)):
        rest = [mechanism.rest_probability(own, report) for own in attributes]
        by_pivot = [private[own][report[own]] * rest[own] for own in attributes]
        pivot_right += max(by_pivot)
        for own, channel in enumerate(mechanism.channels):
            others = sum(by_pivot, start=-by_pivot[own])
            right[own] += max(
                chance * (channel.probability(x, report[own]) * rest[own] + others)
                for x, chance in enumerate(marginals[own])
            )
    guesses = tuple(Guess(max(marginals[own]), right[own] / len(attributes)) for own in attributes)
    return Leakage(pivot_right / len(attributes), guesses, _pivot_bits(mechanism, marginals))


def _pivot_bits(mechanism: Pivot, marginals: Marginals) -> float | None:
    """The mutual information of record and report."""
    reports = list(product(*map(range, mechanism.outputs)))
    if len(reports) ** 2 > MAX_BITS_CELLS:
        return None
    attributes = range(len(mechanism.channels))
    codes = np.array(reports)
    law = np.zeros((len(reports), len(reports)))
    for own in attributes:
        matrix = mechanism.channels[own].push(np.eye(mechanism.sizes[own]))
        rest = np.array([float(mechanism.rest_probability(own, report)) for report in reports])
        law += matrix[codes[:, own][:, None], codes[:, own][None, :]] * rest / len(attributes)
    chances = np.array([float(prod(marginals[own][code] for own, code in enumerate(row))) for row in reports])
    return _entropy(chances @ law) - float(chances @ [_entropy(row) for row in law])


def _entropy(distribution: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> float:
    held = distribution[distribution > 0]
    return float(-np.sum(held * np.log2(held)))
