"""What a survey promises to somebody who answers, in numbers that a page can say.

How often an answer that is sent is the true one depends on the other answers where unasked questions are filled from
them, so it is stated over all possible answers alike: a question that is asked is sent truthfully as often as its
channel keeps it, and one that is filled agrees by chance. Where a code stands for many answers, the true one must be
among them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import exp

import numpy as np

from privtally.documents.plan import Plan
from privtally.exact.arrays import Distribution
from privtally.mechanisms import Mechanism, Part
from privtally.mechanisms.fills import Places
from privtally.mechanisms.part import Joint

MOST_EXAMPLE_LABELS = 6


@dataclass(frozen=True)
class Example:
    """An invented answer to one question, and of 100 people who give it how many send each label."""

    question: str
    answer: str
    sent: Sequence[tuple[str, float]]

    @property
    def other(self) -> str:
        """The label that is sent most often in place of the answer."""
        return max((own for own in self.sent if own[0] != self.answer), key=lambda own: own[1])[0]


@dataclass(frozen=True)
class Shown:
    """Of a survey's questions how many a report shows, and of how many of these the answer is the person's own."""

    questions: int
    shown: int
    own: int


@dataclass(frozen=True)
class Promise:
    """Of a report to one of these plans: how much surer it makes anybody, and how often what it says is true."""

    surer: float
    least_true: float
    most_true: float
    """How often an answer that is sent is the true one, for the questions where that is rarest and most frequent."""
    shown: Sequence[Shown]
    """What a report may show, the first plan first."""
    example: Example | None


def promise_of(plans: Sequence[Plan]) -> Promise:
    """The promise of a survey in which somebody may be given any of these plans."""
    shares = [share for plan in plans for share in _shares_of(plan)]
    last = plans[-1]
    return Promise(
        surer=exp(last.epsilon),
        least_true=min(shares),
        most_true=max(shares),
        shown=tuple(dict.fromkeys(map(_shown, plans))),
        example=_example(last),
    )


def _shown(plan: Plan) -> Shown:
    parts = plan.sampler.parts
    return Shown(plan.sampler.width, sum(part.shown for part in parts), sum(part.pivots for part in parts))


@lru_cache(maxsize=256)
def _shares_of(plan: Plan) -> list[float]:
    return true_shares(plan.sampler)


def true_shares(mechanism: Mechanism) -> list[float]:
    """For each attribute how often an answer to it that is sent is the true one, part by part."""
    return [share for part in mechanism.parts for share in _part_shares(part)]


def _part_shares(part: Part) -> list[float]:
    asked = float(part.asked_share)
    shares = []
    for channel, reported in zip(part.asked, part.reported(_independent(part)), strict=True):
        filled = reported - asked * channel.push(_uniform(channel.inputs))
        by_chance = float(filled @ channel.holder_counts()) / channel.inputs
        shares.append(asked * channel.inside * channel.same / channel.total + by_chance)
    return shares


@lru_cache(maxsize=256)
def _example(plan: Plan) -> Example | None:
    """The first answer to the first question with few labels, all other answers being as likely as each other."""
    for part in plan.sampler.parts:
        for place, channel in enumerate(part.asked):
            if channel.inside == 1 and channel.outputs <= MOST_EXAMPLE_LABELS:
                attribute = plan.schema.attributes[part.attributes[place]]
                law = part.reported(_independent(part, certain=place))[place]
                sent = tuple(zip(attribute.labels, law.tolist(), strict=True))
                return Example(attribute.name, attribute.labels[0], sent)
    return None


def _independent(part: Part, certain: int | None = None) -> Joint:
    """The distribution of a part's answers if all are as likely as each other, but one may be its first label."""

    def joint(places: Places) -> Distribution:
        own = [np.eye(part.sizes[place])[0] if place == certain else _uniform(part.sizes[place]) for place in places]
        return reduce(np.multiply.outer, own)

    return joint


def _uniform(size: int) -> Distribution:
    return np.full(size, 1 / size)
