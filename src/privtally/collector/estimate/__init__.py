"""estimate: a campaign's history of (plan, counts) -> Estimate."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from msgspec import UNSET

from privtally.collector.estimate.attribute import Found, attribute_estimate, frequencies_of
from privtally.collector.estimate.fit import about_fit
from privtally.collector.estimate.history import History, Phase, in_order, in_rounds
from privtally.collector.estimate.methods import IN_ROUNDS, changes, unbiased
from privtally.collector.estimate.rounds import about_changes
from privtally.documents.estimate import Change, Estimate, PhaseUsed, Provenance, RoundEstimate
from privtally.errors import EstimateError, LearningError
from privtally.names import METHODS, Method
from privtally.version import SOFTWARE

__all__ = ["History", "Phase", "estimate", "in_order", "one_way", "refusing_numerical_failure", "unbiased"]


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
            mechanism=first.mechanism,
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
