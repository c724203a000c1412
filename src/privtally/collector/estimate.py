"""estimate: a campaign's history of (plan, counts) -> Estimate."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

import numpy as np
from msgspec import UNSET

from privtally.collector import likelihood
from privtally.collector.diagnostics import about_conditions, about_fit, about_limits
from privtally.collector.inverse import project_to_simplex
from privtally.collector.likelihood import Alone, Reports, SingleQuestions, part_likelihood
from privtally.collector.rounds import (
    Track,
    about_changes,
    changed,
    changes_of,
    drift_of,
    in_order,
    in_rounds,
    repeats,
    sampling_covariance,
)
from privtally.collector.sparse import shrink
from privtally.collector.spread import PhaseEstimate, as_randomized_response, invert, phase_covariance
from privtally.collector.summaries import Found, attribute_estimate, frequencies_of, interval, wilson
from privtally.collector.together import Answers, answers_of
from privtally.documents.campaign import History
from privtally.documents.counts import Counts
from privtally.documents.estimate import Change, Estimate, PhaseUsed, Provenance, RoundEstimate
from privtally.errors import EstimateError, LearningError
from privtally.exact.types import Floats
from privtally.names import METHODS, Method
from privtally.version import SOFTWARE

MOST_LABELS = 1_000
"""Schemas with more labels in all are too large for matrices over all of them."""
MANY_LABELS = 40
"""An attribute with more labels is shrunk label by label: pseudo-answers would drown a long tail (twice the error at 64
labels of Zipf's law, six times at 256)."""


def _asked_together(answers: Answers) -> Found:
    """The frequencies of questions that were asked together, from all tables that hold them."""
    places = range(len(answers.sizes))
    variances = [answers.covariance(place, place).diagonal() for place in places]
    for place in answers.unasked:
        variances[place] = np.full(answers.sizes[place], np.inf)

    def covariance(one: int, two: int) -> Floats | None:
        return None if {one, two} & {*answers.unasked} else answers.covariance(one, two)

    return Found([answers.frequencies(place) for place in places], variances, covariance)


def _paper(history: History, notes: list[str]) -> Found:
    """The paper's estimators, the phases weighted by their numbers of reports.

    Where fills depend on the pivot it is Section 3.2's for Corr-RR, and the same for Cond-RR, for which the paper gives
    none. RS+RFD's second phase is clipped to [0, 1] and divided by its sum, as the published numbers have it.
    """
    if answers_of(history) is not None:
        raise EstimateError("the paper asks no questions together; use the method likelihood or unbiased")
    found: list[PhaseEstimate] = []
    for plan, counts in history:
        conditional = any(part.fill is not None and part.fill.conditional for part in plan.mechanism.parts)
        phase = invert(plan, counts, as_randomized_response(plan) if conditional else None)
        if plan.learned is not None and not conditional:
            clipped = [np.clip(f, 0, 1) for f in phase.frequencies]
            if any((held != f).any() for held, f in zip(clipped, phase.frequencies, strict=True)):
                notes.append(
                    f"Phase {plan.phase} was clipped to [0, 1]; its standard errors are those before, an upper bound."
                )
            phase = replace(phase, frequencies=[f / f.sum() for f in clipped])
        found.append(_with_returns(phase, counts, repeats(history)))
    total = sum(counts.reports for _, counts in history)
    weights = [[counts.reports / total] * plan.mechanism.width for plan, counts in history]
    return _weigh(history, found, weights)


def unbiased(history: History, notes: list[str]) -> Found:
    """Each phase's exact operator undone, the phases weighted for each attribute by the inverse of their variances."""
    if (together := answers_of(history)) is not None:
        if together.unasked:
            name = history[-1][0].schema.names[together.unasked[0]]
            raise EstimateError(f"nobody was asked question '{name}'; collect more, or use the method likelihood")
        return _asked_together(together)
    found = [_with_returns(invert(plan, counts), counts, repeats(history)) for plan, counts in history]
    precisions = np.array(
        [
            [1 / variance.sum() if known else 0.0 for variance, known in zip(phase.variances, phase.known, strict=True)]
            for phase in found
        ]
    )
    if not precisions.sum(axis=0).all():
        raise EstimateError(
            "these reports do not determine the shares of the answers (the operator is singular); "
            "give the first phase's plan and counts as well, or use the method 'paper'"
        )
    notes += about_conditions(history[0][0].schema.names, [plan.phase for plan, _ in history], found)
    return _weigh(history, found, (precisions / precisions.sum(axis=0)).tolist())


def _likelihood(history: History, notes: list[str]) -> Found:
    """Expectation maximisation on whole reports, with the intervals of the likelihood alone."""
    for plan, counts in history:
        notes += about_limits(plan, counts)
    if (together := answers_of(history)) is not None:
        found = _asked_together(together)
        frequencies = list(map(project_to_simplex, found.frequencies))
        return _with_intervals(frequencies, found, notes=notes, names=history[-1][0].schema.names)
    if not all(part.linear for plan, _ in history for part in plan.mechanism.parts):
        notes.append("With several hidden pivots the estimate is the unbiased one, moved to the nearest proper one.")
        found = unbiased(history, notes)
        return _with_intervals(list(map(project_to_simplex, found.frequencies)), found)
    sizes = history[0][0].schema.sizes
    if sum(sizes) > MOST_LABELS:
        return _many_labels(history, notes)
    reports = reports_of(history)
    if reports.impossible:
        notes.append(f"{reports.impossible:,} reports cannot come from their plans and were left out.")
    frequencies = likelihood.estimate(reports)
    said = _open(history) if len(history) == 1 else None
    if said is None and reports.informative:
        said = _allowing_for_returns(_split(likelihood.alone(reports, frequencies), sizes), history, frequencies)
    said = said or _linear(history, notes)
    frequencies = [_shrunk(said, own) if size > MANY_LABELS else frequencies[own] for own, size in enumerate(sizes)]
    found = _with_intervals(frequencies, said, _own_intervals(history), notes, history[0][0].schema.names)
    many = [place for place, size in enumerate(sizes) if size > MANY_LABELS]
    if many and any(part.decoys for plan, _ in history for part in plan.mechanism.parts):
        # With few reports a label the likelihood's intervals miss frequent labels, those of the linear inverse rare
        # ones: what is printed covers both.
        linear = _with_intervals(frequencies, _linear(history, []))
        assert found.bounds is not None
        assert linear.bounds is not None
        for place in many:
            for mine, others, reach in zip(found.bounds, linear.bounds, (np.minimum, np.maximum), strict=True):
                mine[place] = reach(mine[place], others[place])
    return found


def _shrunk(said: Found, own: int) -> Floats:
    """The frequencies of an attribute with many labels, from what the reports alone say."""
    noise = float(said.variances[own].sum()) / (len(said.frequencies[own]) - 1)
    if not 0 < noise < np.inf:
        return project_to_simplex(said.frequencies[own])
    return project_to_simplex(shrink(said.frequencies[own], noise)[0])


def reports_of(history: History) -> Reports:
    """The reports of some phases as a likelihood."""
    labels = [attribute.labels for attribute in history[0][0].schema.attributes]
    parts = [
        (part.attributes, part_likelihood(counts, part)) for plan, counts in history for part in plan.mechanism.parts
    ]
    return Reports(labels, parts)


def _many_labels(history: History, notes: list[str]) -> Found:
    """Too many labels for matrices over all of them: every attribute is estimated by itself."""
    schema = history[0][0].schema
    notes.append(f"There are more than {MOST_LABELS:,} answers in all, so that each question is estimated by itself.")
    said = _linear(history, notes)
    parts_of = [part for plan, _ in history for part in plan.mechanism.parts]
    drawn = {own for part in parts_of if part.fill is not None and part.fill.conditional for own in part.attributes}
    few = [own for own, size in enumerate(schema.sizes) if size <= MANY_LABELS and own not in drawn]
    frequencies = [_shrunk(said, own) for own in range(len(schema.sizes))]
    parts = [
        (tuple(few.index(part.attributes[place]) for place in places), SingleQuestions(part, counts, places))
        for plan, counts in history
        for part in plan.mechanism.parts
        if (places := [place for place, own in enumerate(part.attributes) if own in few])
    ]
    if parts:
        found = likelihood.estimate(Reports([schema.attributes[own].labels for own in few], parts))
        for own, each in zip(few, found, strict=True):
            frequencies[own] = each
    return _with_intervals(frequencies, said, _own_intervals(history), notes, schema.names)


def _open(history: History) -> Found | None:
    """What the reports of one phase alone say where they answer openly: the unbiased estimate, if all were answered."""
    ((plan, _),) = history
    if any(part.decoys for part in plan.mechanism.parts):
        return None
    try:
        return unbiased(history, [])
    except EstimateError:
        return None


def _linear(history: History, notes: list[str]) -> Found:
    """The unbiased estimate; where the reports do not determine it, uniform frequencies that anything may be."""
    try:
        return unbiased(history, notes)
    except EstimateError as why:
        notes.append(f"The intervals are the whole range: {why}.")
        uniform = [np.full(size, 1 / size) for size in history[0][0].schema.sizes]
        return Found(uniform, [np.full(len(own), np.inf) for own in uniform], lambda *_: None)


def _own_intervals(history: History) -> dict[int, tuple[Floats, Floats]]:
    """Wilson's intervals for the attributes that reports of one phase answer openly."""
    if len(history) > 1:
        return {}
    ((plan, counts),) = history
    return {
        own: wilson(counts.attributes[own], channel)
        for part in plan.mechanism.parts
        if not part.decoys
        for own, channel in zip(part.attributes, part.asked, strict=True)
    }


def _with_intervals(
    frequencies: list[Floats],
    said: Found,
    own: Mapping[int, tuple[Floats, Floats]] | None = None,
    notes: list[str] | None = None,
    names: Sequence[str] = (),
) -> Found:
    """Frequencies with intervals of what the reports alone say, or such of an attribute's own where there are some."""
    bounds = [
        (own or {}).get(place) or interval(point, np.sqrt(variances))
        for place, (point, variances) in enumerate(zip(said.frequencies, said.variances, strict=True))
    ]
    unknown = [name for name, variances in zip(names, said.variances, strict=False) if np.isinf(variances).any()]
    if unknown and notes is not None:
        notes.append(f"These reports do not determine {', '.join(unknown[:4])}; anything may be true of them.")
    # Pseudo-answers can move an estimate out of the interval; the interval then reaches as far.
    low = [np.minimum(each, start) for each, (start, _) in zip(frequencies, bounds, strict=True)]
    high = [np.maximum(each, end) for each, (_, end) in zip(frequencies, bounds, strict=True)]
    return Found(frequencies, said.variances, said.covariance, (low, high), said)


def _split(found: Alone, sizes: Sequence[int]) -> Found:
    """What the reports alone say, attribute by attribute; what they do not determine has no end."""
    bounds = np.cumsum([0, *sizes])
    places = [slice(start, end) for start, end in pairwise(bounds.tolist())]
    variances = np.where(found.determined, found.covariance.diagonal(), np.inf)

    def covariance(one: int, two: int) -> Floats | None:
        known = found.determined[places[one]].all() and found.determined[places[two]].all()
        return found.covariance[places[one], places[two]] if known else None

    return Found([found.frequencies[place] for place in places], [variances[place] for place in places], covariance)


def _allowing_for_returns(said: Found, history: History, frequencies: Sequence[Floats]) -> Found:
    """What reports alone say, with the errors that they have if people answered several of these phases."""
    again, people = repeats(history), sum(counts.reports for _, counts in history)
    if not again:
        return said
    sampling = [again / people * sampling_covariance(own) for own in frequencies]

    def covariance(one: int, two: int) -> Floats | None:
        known = said.covariance(one, two) if one == two else None
        return None if known is None else known + sampling[one]

    variances = [own + more.diagonal() for own, more in zip(said.variances, sampling, strict=True)]
    return Found(said.frequencies, variances, covariance)


def _likelihood_in_rounds(rounds: Sequence[History], wanted: Sequence[int], notes: list[str]) -> list[Found]:
    """Every round from its own reports, and from those of other rounds as far as they still count."""
    alone = {number: _likelihood(rounds[number], notes) for number in wanted}
    tracks = _tracks_of(rounds) if len(rounds) > 1 else None
    if tracks is None:
        if len(rounds) > 1:
            notes.append("Each round is estimated from its own reports alone.")
        return [alone[number] for number in wanted]
    still = {name: track for name, track in tracks.items() if not changed(track)}
    if not still:
        return [alone[number] for number in wanted]
    drift = drift_of(list(still.values()))
    own = [reports_of(history) for history in rounds]
    names = rounds[0][0][0].schema.names
    estimates = []
    for number in wanted:
        weights = [
            np.mean([track.discount(number, other, drift.best) for track in still.values()])
            for other in range(len(rounds))
        ]
        parts = [part for reports in own for part in reports.parts]
        counting = [float(weight) for weight, reports in zip(weights, own, strict=True) for _ in reports.parts]
        frequencies = likelihood.estimate(Reports(own[0].labels, parts, counting))
        smoothed = {names.index(name): track.smoothed(number, drift.most) for name, track in still.items()}
        said = _replacing(alone[number].alone or alone[number], smoothed)
        bounds = {}
        for place, (low, high) in enumerate(zip(*(alone[number].bounds or ()), strict=True)):
            if place not in smoothed:
                frequencies[place], bounds[place] = alone[number].frequencies[place], (low, high)
            elif len(low) > MANY_LABELS:
                frequencies[place] = _shrunk(said, place)
        estimates.append(_with_intervals(frequencies, said, bounds))
    return estimates


def _replacing(said: Found, smoothed: Mapping[int, tuple[Floats, Floats]]) -> Found:
    """What a round's reports alone say, but for some attributes frequencies and covariances of all rounds."""
    frequencies, variances = list(said.frequencies), list(said.variances)
    for place, (point, spread) in smoothed.items():
        frequencies[place], variances[place] = point, np.maximum(spread.diagonal(), 0)

    def covariance(one: int, two: int) -> Floats | None:
        if one != two:
            return None
        return smoothed[one][1] if one in smoothed else said.covariance(one, one)

    return Found(frequencies, variances, covariance)


def _tracks_of(rounds: Sequence[History]) -> dict[str, Track] | None:
    """Every attribute over the rounds; None where the rounds cannot be compared.

    All rounds are looked at near what they say together, as if nothing had changed.
    """
    schema = rounds[0][0][0].schema
    if answers_of(rounds[0]) is not None:
        return None
    linear = all(part.linear for history in rounds for plan, _ in history for part in plan.mechanism.parts)
    if not linear or sum(schema.sizes) > MOST_LABELS:
        return None
    everything = [phase for history in rounds for phase in history]
    own = [reports_of(history) for history in rounds]
    if not all(reports.informative for reports in own):
        return None
    together = likelihood.estimate(reports_of(everything))
    said = [_split(likelihood.alone(reports, together, steps=1), schema.sizes) for reports in own]
    again = repeats(everything)
    tracks = {}
    for place, name in enumerate(schema.names):
        covariances = [found.covariance(place, place) for found in said]
        if any(covariance is None for covariance in covariances):
            return None
        sampling = again * sampling_covariance(together[place])
        people = [sum(counts.reports for _, counts in history) for history in rounds]
        allowed = [np.asarray(own) + sampling / number for own, number in zip(covariances, people, strict=True)]
        tracks[name] = Track.of([found.frequencies[place] for found in said], allowed)
    return tracks


def changes(rounds: Sequence[History]) -> dict[str, Change]:
    """Whether each attribute changed between rounds."""
    tracks = _tracks_of(rounds)
    if tracks is None and answers_of(rounds[0]) is not None:
        raise EstimateError("rounds of questions asked together are not compared")
    if tracks is None:
        raise EstimateError("a round by itself does not determine the answers, or there are too many of them")
    return changes_of(tracks)


def _alone(method: Callable[[History, list[str]], Found]) -> "InRounds":
    """A method that estimates every round from its own reports."""
    return lambda rounds, wanted, notes: [method(rounds[number], notes) for number in wanted]


InRounds = Callable[[Sequence[History], Sequence[int], list[str]], list[Found]]
"""The estimates of the wanted rounds, numbered from 0."""

IN_ROUNDS: Mapping[Method, InRounds] = {
    "paper": _alone(_paper),
    "unbiased": _alone(unbiased),
    "likelihood": _likelihood_in_rounds,
}


def _with_returns(phase: PhaseEstimate, counts: Counts, again: int) -> PhaseEstimate:
    """A phase's estimate, its variances allowing for people who answer so many other phases too."""
    if not again:
        return phase
    variances = [
        variance + again / counts.reports * sampling_covariance(own).diagonal()
        for own, variance in zip(phase.frequencies, phase.variances, strict=True)
    ]
    return replace(phase, variances=variances)


def _weigh(history: History, found: Sequence[PhaseEstimate], weights: Sequence[Sequence[float]]) -> Found:
    """The weighted mean of the phases and its variance, attribute by attribute; weights[phase][attribute]."""
    again, pairs = repeats(history), list(zip(found, weights, strict=True))

    def covariance(one: int, two: int) -> Floats | None:
        if again and one != two:  # how the answers of people who come again go together is not known
            return None
        total = np.zeros(())
        for (_, counts), (phase, weight) in zip(history, pairs, strict=True):
            if weight[one] * weight[two]:
                spread = phase_covariance(counts, phase.parts, one, two)
                if spread is None:
                    return None
                sampling = sampling_covariance(phase.frequencies[one]) if again else np.zeros(())
                total = total + weight[one] * weight[two] * (spread + again / counts.reports * sampling)
        return total

    def mean(values: Callable[[PhaseEstimate], Sequence[Floats]], power: int) -> list[Floats]:
        return [
            sum((weight[own] ** power * values(phase)[own] for phase, weight in pairs), np.array(0.0))
            for own in range(len(weights[0]))
        ]

    return Found(mean(lambda phase: phase.frequencies, 1), mean(lambda phase: phase.variances, 2), covariance)


@contextmanager
def refusing_numerical_failure(refusal: type[EstimateError | LearningError]) -> Iterator[None]:
    """Turn a matrix that cannot be inverted, or a number that is not finite, into a refusal."""
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            yield
    except (ArithmeticError, np.linalg.LinAlgError) as failure:
        raise refusal(
            f"the computation fails on these reports ({type(failure).__name__}), which happens at a large epsilon and "
            "with made-up reports; collect more reports, or estimate with the method unbiased"
        ) from None


@refusing_numerical_failure(EstimateError)
def estimate(history: History, method: Method = "likelihood", *, by_round: bool = False) -> Estimate:
    """Frequencies of every attribute from the counts of one phase or of several phases of a campaign.

    With several rounds they are those of the last one; `by_round` adds every round's.
    """
    if method not in METHODS:
        raise EstimateError(f"the method must be one of {', '.join(METHODS)}")
    history = in_order(history)
    rounds = in_rounds(history)
    notes = about_fit(history)
    wanted = range(len(rounds)) if by_round else [len(rounds) - 1]
    each = IN_ROUNDS[method](rounds, wanted, notes)
    found, first = each[-1], history[0][0]
    used = history if by_round else rounds[-1]
    # The paper's estimate of a learned phase has an offset that its spread does not show.
    offset = method == "paper" and any(plan.learned is not None for plan, _ in used)
    changed = _changes(rounds, notes) if len(rounds) > 1 else {}
    attributes = {
        attribute.name: attribute_estimate(attribute, own, found, notes, intervals=not offset)
        for own, attribute in enumerate(first.schema.attributes)
    }
    return Estimate(
        attributes=attributes,
        method=method,
        biased=offset or method == "likelihood",
        notes=tuple(notes),
        provenance=Provenance(
            campaign=first.campaign_id,
            mechanism=first.name,
            phases=tuple(
                PhaseUsed(plan.phase, plan.epsilon, counts.reports, plan.digest, counts.digest)
                for plan, counts in history
            ),
            software=SOFTWARE,
        ),
        changes=changed or UNSET,
        rounds=_round_estimates(rounds, each, intervals=not offset) if by_round else UNSET,
    )


def _round_estimates(rounds: Sequence[History], each: Sequence[Found], *, intervals: bool) -> tuple[RoundEstimate, ...]:
    """Every round's frequencies as a document states them."""
    schema = rounds[0][0][0].schema
    return tuple(
        RoundEstimate(
            history[0][0].round,
            tuple(plan.phase for plan, _ in history),
            {
                attribute.name: frequencies_of(attribute, own, found, intervals=intervals)
                for own, attribute in enumerate(schema.attributes)
            },
        )
        for history, found in zip(rounds, each, strict=True)
    )


def _changes(rounds: Sequence[History], notes: list[str]) -> dict[str, Change]:
    """The test for change between rounds, if there can be one."""
    try:
        found = changes(rounds)
    except EstimateError as why:
        notes.append(f"Whether the answers changed between rounds is not tested: {why}.")
        return {}
    notes += about_changes(found)
    return found


def one_way(history: History, method: Method) -> Found:
    """The frequencies of every attribute by itself in one round, with covariances."""
    return IN_ROUNDS[method]([history], [0], [])[0]
