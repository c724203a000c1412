"""Corr-RR between any label sets: how likely a filled label is of the class that matches the pivot's private label."""

from fractions import Fraction
from itertools import combinations

from privtally.collector.estimate import History
from privtally.collector.estimate.current import current_frequencies, current_likelihoods
from privtally.collector.learn.lean import Alignments, aligned_fill, choose_matches
from privtally.collector.learn.rules import PairError
from privtally.collector.learn.secrecy import Secrecy, evenly
from privtally.collector.learn.wanted import Found, Wanted
from privtally.errors import LearningError
from privtally.exact.arrays import Floats
from privtally.exact.probability import nearest_probability
from privtally.mechanisms.aligned import AlignedPair
from privtally.mechanisms.alignment import Classes, alignment_of
from privtally.mechanisms.channel import Asked
from privtally.mechanisms.fills import AlignedFill, Places, UniformFill
from privtally.mechanisms.named import RandomizedResponse
from privtally.names import RULES_LABEL_BY_LABEL
from privtally.schema import Schema

MOST_LABELS, MOST_MATCHED = 256, 4_096
"""With more labels in a group the rule `robust` takes even fills, and with still more every rule."""


def learn_matches(history: History, group: Places, budget: Fraction, wanted: Wanted) -> Found:
    """Probabilities of matches by the rule; even fills between attributes that are not aligned."""
    schema = history[-1][0].schema
    alignments = _alignments(schema, group)
    if wanted.rule in RULES_LABEL_BY_LABEL:
        raise LearningError(
            f"the rule '{wanted.rule}' is for questions whose answers correspond one by one; use robust or proposition"
        )
    secrecy, labels_in_all = Secrecy(group, schema.sizes, budget, wanted), sum(schema.sizes[own] for own in group)
    if not alignments or labels_in_all > MOST_MATCHED:
        return evenly(secrecy)
    if wanted.rule == "robust":
        if labels_in_all > MOST_LABELS:
            return evenly(secrecy)
        labels = [schema.attributes[own].labels for own in group]
        fill, pivot_guess = choose_matches(secrecy, alignments, labels, current_likelihoods(history, group))
        return Found(fill, wanted.rule, wanted.people, pivot_guess)
    # The paper's rules are for randomized response, whatever the number of labels.
    asked = [RandomizedResponse().channel(budget, schema.sizes[own]) for own in group]
    frequencies = current_frequencies(history)
    fill = _by_proposition([frequencies[own] for own in group], asked, alignments, wanted.people)
    return Found(fill, wanted.rule, wanted.people, channels=(RandomizedResponse(),) * len(group))


def _alignments(schema: Schema, group: Places) -> Alignments:
    found = {
        (one, two): alignment_of(schema, group[one], group[two]) for one, two in combinations(range(len(group)), 2)
    }
    return {pair: classes for pair, classes in found.items() if classes is not None}


def _by_proposition(
    frequencies: list[Floats], asked: list[Asked], alignments: Alignments, people: int
) -> AlignedFill | UniformFill:
    """For each pair and direction the probability with the least error in the paper's estimator, or an even fill."""
    errors = [
        PairError(own, float(channel.scale or 0), people) for own, channel in zip(frequencies, asked, strict=True)
    ]

    def best(pair: tuple[int, int], classes: Classes, pivot: int, other: int) -> float | None:
        private = asked[pivot].push(frequencies[pivot])
        fills = [AlignedPair.of(pair, classes, (p, p)).channel(pivot) for p in (0.0, 1.0)]
        never, always = (fill.push(private) for fill in fills if fill is not None)
        found = errors[other].best_match(never, always)
        return None if found is None else nearest_probability(found)

    matches = {pair: (best(pair, own, *pair), best(pair, own, *pair[::-1])) for pair, own in alignments.items()}
    return aligned_fill(alignments, matches)
