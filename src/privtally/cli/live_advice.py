"""Advice for the page on which a survey is written."""

from privtally.lab.advise import Adviser
from privtally.lab.expectation import prior_populations
from privtally.lab.offers import Question
from privtally.schema import Schema
from privtally.service.pages import Advice


def live_advice(schema: Schema, epsilon: float, people: int) -> Advice:
    """What `privtally advise` recommends, over its stated prior."""
    chosen = Adviser(schema, list(prior_populations(schema).values())).recommend(Question(people, epsilon))
    return Advice(chosen.mechanism, chosen.phase1_share, chosen.error)
