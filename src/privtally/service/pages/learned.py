"""What a later plan has learned about which answers go together, as numbers that a page can draw."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from privtally.documents.plan import Plan
from privtally.mechanisms import Part

MOST_LABELS = 64
"""Questions with more answers are not compared."""
NOTICED = 0.1
MOST_PAIRS = 3
"""How many pairs of questions a page names."""


@dataclass(frozen=True)
class Likeness:
    """How much a filled question follows each other one: 0 not at all, 1 completely; follows[chosen][filled]."""

    names: Sequence[str]
    follows: Sequence[Sequence[float]]

    def strongest(self) -> list[tuple[str, str]]:
        """The pairs of questions that go together most, those that hardly do left out."""
        pairs = [
            (max(self.follows[one][two], self.follows[two][one]), self.names[one], self.names[two])
            for one in range(len(self.names))
            for two in range(one)
        ]
        noticed = sorted((own for own in pairs if own[0] >= NOTICED), reverse=True)
        return [(two, one) for _, one, two in noticed[:MOST_PAIRS]]


def likenesses(plan: Plan) -> list[Likeness]:
    """One for each part of a plan that fills questions from one chosen question."""
    comparable = (part for part in plan.sampler.parts if part.fill is not None and part.fill.conditional)
    return [_likeness(plan, part) for part in comparable if part.pivots == 1 and max(part.answers) <= MOST_LABELS]


def _likeness(plan: Plan, part: Part) -> Likeness:
    count = len(part.attributes)
    follows = np.eye(count)
    for pivot, other in permutations(range(count), 2):
        laws = part.filling((pivot,), other).push(np.eye(part.answers[pivot]))
        # The largest total variation between the laws of the filled answer under two chosen answers.
        follows[pivot, other] = np.abs(laws[:, None] - laws[None]).sum(axis=-1).max() / 2
    return Likeness([plan.schema.names[own] for own in part.attributes], follows.tolist())
