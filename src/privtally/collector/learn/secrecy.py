"""The bound on guessing which attributes were asked: the one rule, and the fills that keep to it.

A guess keeps to G if it is at most G, computed for the fill as the plan states it, in multiples of 2^-32. Blind
guessing is right 1/branches of the time, so a smaller G is refused. Where G is that, a fill may exceed it by what the
multiples of 2^-32 leave open. If no G is given it is one half, or the guess of even fills where that is more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from privtally.collector.learn.wanted import Found, Wanted
from privtally.errors import LearningError
from privtally.exact.arrays import Floats
from privtally.exact.probability import PROBABILITY_UNIT
from privtally.mechanisms import Part
from privtally.mechanisms.channel import Asked
from privtally.mechanisms.fills import AnyFill, Places, UniformFill
from privtally.mechanisms.named import asking
from privtally.mechanisms.pivot_guess import pivot_guess
from privtally.names import MAX_PIVOT_GUESS, PIVOT_GUESS_BOUND

STEPS = 20
"""The weight of the least telling fill is found to 2^-20."""


class UnattainableGuessError(LearningError):
    """Which attributes were asked can be guessed more often than allowed, whatever is learned."""

    def __init__(self, most: float, part: Part, least: float) -> None:
        self.least = least
        asked = "question was asked" if part.pivots == 1 else f"{part.pivots} questions were asked"
        super().__init__(
            f"{PIVOT_GUESS_BOUND} is {most:g}, but this mechanism cannot keep anybody from guessing {least:.1%} of the "
            f"time which {asked} out of {len(part.attributes)}; choose at least {ceil(least * 1e4) / 1e4}"
        )


@dataclass(frozen=True)
class Secrecy:
    """What the fills of a group with this budget must keep to; `sizes` are of all attributes."""

    group: Places
    sizes: Sequence[int]
    budget: Fraction
    wanted: Wanted

    def part(self, fill: AnyFill) -> Part:
        """The group as a part with this fill."""
        planned = asking(self.group, self.sizes, self.budget, fill, pivots=self.wanted.pivots)
        return planned.build(self.sizes, self.budget)

    def guess(self, part: Part) -> float:
        """How often the observer names the asked attributes, or a bound on it."""
        return pivot_guess(part, self.wanted.known(self.group, self.sizes)).value

    def allowed(self, part: Part, least: float, usual: float) -> float:
        """The largest guess that keeps to the bound; refused if even the least one that can be had exceeds it.

        If no bound was given, fills that are guessed as often as the `usual` ones are allowed.

        Rows rounded to multiples of 2^-32 differ from what they should be by at most 2^-32 for each code, so the laws
        of B branches that should be equal differ by at most Σ codes · 2^-32 from a common one, and the guess exceeds
        1/B by at most the factor 1 + B · Σ codes · 2^-32.
        """
        branches, most = len(part.branches), self.wanted.max_pivot_guess
        blind = (1 + branches * sum(part.answers) / PROBABILITY_UNIT) / branches
        if most is None:
            return max(MAX_PIVOT_GUESS, usual, blind)
        if most < 1 / branches or least > max(most, blind):
            attained = 1 / branches if least <= blind else least
            raise UnattainableGuessError(most, part, attained)
        return max(most, blind)


def keep_secret(secrecy: Secrecy, fill_at: Callable[[float], AnyFill]) -> Found:
    """The fill with the least weight of the least telling one that keeps to the bound.

    `fill_at(0)` is the fill that was learned, `fill_at(1)` the least telling one. Whatever the guess does between, the
    weight that is taken is one at which it was seen to keep to the bound.
    """
    fill, learned = fill_at(1.0), fill_at(0.0)
    part = secrecy.part(fill)
    guess, of_learned = secrecy.guess(part), secrecy.guess(secrecy.part(learned))
    most = secrecy.allowed(part, guess, guess)
    if of_learned <= most:
        return Found(learned, pivot_guess=of_learned, pivots=secrecy.wanted.pivots)
    too_little, enough = 0.0, 1.0
    for _ in range(STEPS):
        middle = (too_little + enough) / 2
        tried = fill_at(middle)
        of_tried = secrecy.guess(secrecy.part(tried))
        if of_tried <= most:
            enough, fill, guess = middle, tried, of_tried
        else:
            too_little = middle
    return Found(fill, pivot_guess=guess, pivots=secrecy.wanted.pivots)


def evenly(secrecy: Secrecy) -> Found:
    """Even fills, where more cannot be weighed; refused if they do not keep to the bound."""
    found = keep_secret(secrecy, lambda _: UniformFill())
    return replace(found, rule=secrecy.wanted.rule, people=secrecy.wanted.people)


def least_telling(channel: Asked, marginal: Floats) -> Floats:
    """The row of labels whose fill looks most like a private code to an observer who knows the marginal.

    A private code is one of the label's set with the probability `kept`, else any code.
    """
    kept = channel.inside * (channel.same - channel.other) / channel.total
    row: Floats = kept * marginal + (1 - kept) / channel.inputs
    return row
