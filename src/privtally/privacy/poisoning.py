"""What people who make up their reports can do to a phase's totals.

Undoing a mechanism is linear, so that each report adds a known amount to each frequency, whoever sent it. Honest
reports add it on average as often as they should; a made-up one is chosen to add most. The more noise a mechanism
adds, the more one report weighs, and the better made-up ones hide: the counts of every attribute look like those of
honest people with other frequencies, until some frequency would have to be negative. Beyond that share the attack at
full strength shows, given enough reports; a weaker one still hides.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privtally.collector.estimate.inverse import Inverse, inverse_of
from privtally.exact.arrays import Floats
from privtally.mechanisms import Mechanism, Part, independent

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
    found = [_poison_part(part, [frequencies[own] for own in part.attributes], share) for part in mechanism.parts]
    return [found[number][place] for number, place in mechanism.places]


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
