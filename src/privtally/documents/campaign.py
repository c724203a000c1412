"""Campaign: the order of plans, of which the last may be open for answers. Pure transitions; whoever stores campaigns
stores values.

    draft -> open -> closed -> open (the next plan) -> closed -> …

Plans come in rounds. The first plan of a round asks as the campaign's first plan did and is learned from nothing; the
plans after it are learned from all earlier counts.

`Asking` is what people choose about a campaign beside its questions and its budget: how its first plan asks, and with
what its later plans are learned.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from typing import Any, TypedDict, Unpack

import msgspec

from privtally.documents.counts import Counts
from privtally.documents.plan import Plan, Priors, check_people, check_pivots, design, mechanism_named
from privtally.errors import CampaignError, LearningError, PlanError, PrivtallyError
from privtally.exact.randomness import Source
from privtally.mechanisms.named import NAMED
from privtally.names import RULES, MechanismName, Rule, without_effect
from privtally.schema import Schema

USUAL_PHASE1_SHARE = 0.1
"""The share of people in Phase I where it is not given."""

GroupNames = Sequence[Sequence[str]]
"""Groups of attributes by their names."""


class Learning(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """With what the later phases of a campaign are learned; refused where a number or a name cannot be."""

    rule: Rule | None = None
    """How corr-rr learns; the first of the rules if not given."""
    people: int | None = None
    """How many people the next phase will have; the rest of all people if not given, Phase I being its share."""
    groups: tuple[tuple[str, ...], ...] | str | None = None
    """The groups of later phases by the names of their attributes, or how they are chosen: "auto", or "correlation:T",
    T being the association above which two belong together; the last plan's if none are given.
    """
    pivots: int = 1
    """How many questions of a group a report of a later phase answers."""
    phase1_share: float | None = None
    """The share of all people who are asked in Phase I; a tenth if not given."""

    def __post_init__(self) -> None:
        if self.rule is not None and self.rule not in RULES:
            raise LearningError(f"the rule must be one of {', '.join(RULES)}")
        if self.people is not None:
            check_people(self.people)
        check_pivots(self.pivots)
        _ = self.least_association  # refuses other words
        if isinstance(self.groups, str) and self.pivots > 1:
            raise LearningError(
                f"groups are chosen ({self.groups}) for one question a report; name the groups, or ask for one pivot"
            )
        if not 0 < self.share < 1:
            raise CampaignError(
                f"the share of people in the first phase (phase1_share) must be between 0 and 1, got {self.share}"
            )

    @property
    def share(self) -> float:
        """The share of all people who are asked in Phase I."""
        return USUAL_PHASE1_SHARE if self.phase1_share is None else self.phase1_share

    @property
    def least_association(self) -> float | None:
        """Above which association two attributes belong together, where that is how groups are chosen."""
        if not isinstance(self.groups, str) or self.groups == "auto":
            return None
        kind, _, text = self.groups.partition(":")
        with suppress(ValueError):
            if kind == "correlation" and 0 <= (least := float(text)) < 1:
                return least
        raise LearningError(
            "groups must be named, or chosen by auto or correlation:T, T being a number from 0 to 1 (correlation:0.2)"
        )

    def check(self, mechanism: MechanismName, *, priors: bool = False) -> None:
        """Refuse what the campaigns of a mechanism, which may start with `priors`, do not use."""
        named = {"rule": self.rule, "phase1_share": self.phase1_share, "later_groups": self.groups}
        if found := without_effect(
            mechanism, [name for name, value in named.items() if value is not None], priors=priors
        ):
            raise CampaignError(f"{found[0]} has no effect {found[1]}; leave it out")
        kind = None if priors else NAMED[mechanism].learned
        if self.pivots > 1 and kind is None:
            raise CampaignError(f"pivots of later phases have no effect with {mechanism}, which has one phase")
        if self.pivots > 1 and kind is not None and kind.one_pivot:
            raise PlanError(
                f"{mechanism} answers one question a report (pivots = 1); use rs-rfd or cond-rr for several"
            )

    def phase1_people(self, people: int) -> int:
        """How many of the people are asked in Phase I; refused unless both phases get somebody."""
        first = round(self.share * people)
        if not 0 < first < people:
            raise CampaignError(
                f"{people:,} people are too few for two phases with a share of {self.share:g} in the first; "
                "each phase needs at least one person"
            )
        return first


USUAL_LEARNING = Learning()
"""What is usual, where nobody says with what to learn."""


class AskingOptions(TypedDict, total=False):
    """The keywords of `Asking.of`."""

    groups: GroupNames | None
    pivots: int
    decoys: int | None
    together: int | None
    single: float | None
    pairs_of: GroupNames | None
    priors: Priors | None
    rule: Rule | None
    later_groups: GroupNames | str | None
    phase1_share: float | None


class Asking(msgspec.Struct, frozen=True):
    """How a campaign asks: its mechanism, the groups of attributes, pivots and decoys of its first plan, and with what
    its later plans are learned. What the mechanism does not use is refused.
    """

    mechanism: MechanismName
    groups: tuple[tuple[str, ...], ...] | None = None
    pivots: int = 1
    decoys: int | None = None
    """How many attributes a report shows beside its pivots; as many as is usual if not given."""
    together: int | None = None
    """How many questions the mechanism pairs asks together; two if not given."""
    single: float | None = None
    """The share of people whom the mechanism pairs asks a single question instead."""
    pairs_of: tuple[tuple[str, ...], ...] | None = None
    """The questions that the mechanism pairs asks together by their names; all if not given."""
    priors: Priors | None = None
    """The shares from which rs-rfd draws its decoys, in one phase; learned in a first one if not given."""
    learning: Learning = USUAL_LEARNING

    def __post_init__(self) -> None:
        self.learning.check(self.mechanism, priors=self.priors is not None)

    @classmethod
    def of(cls, mechanism: str, **options: Unpack[AskingOptions]) -> "Asking":
        """How a campaign asks, from what people say: the mechanism's name as they write it, and pivots, which are those
        of later phases where the mechanism learns.
        """
        named, pivots = mechanism_named(mechanism), options.get("pivots", 1)
        check_pivots(pivots)
        groups, later = options.get("groups"), options.get("later_groups")
        priors = options.get("priors")
        first, then = (1, pivots) if NAMED[named].learns and priors is None else (pivots, 1)
        learning = Learning(
            rule=options.get("rule"),
            groups=later if later is None or isinstance(later, str) else tuple(map(tuple, later)),
            pivots=then,
            phase1_share=options.get("phase1_share"),
        )
        pairs = options.get("pairs_of")
        return cls(
            named,
            None if groups is None else tuple(map(tuple, groups)),
            first,
            options.get("decoys"),
            options.get("together"),
            options.get("single"),
            None if pairs is None else tuple(map(tuple, pairs)),
            priors,
            learning,
        )

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `design`."""
        own = {"together": self.together, "single": self.single, "pairs_of": self.pairs_of, "priors": self.priors}
        return {
            "mechanism": self.mechanism,
            "groups": self.groups,
            "pivots": self.pivots,
            "decoys": self.decoys,
            **{name: value for name, value in own.items() if value is not None},
        }

    @property
    def keywords(self) -> dict[str, Any]:
        """The arguments of `of` that say the same, and of `run`."""
        learning = self.learning
        return {
            **self.options,
            "pivots": max(self.pivots, learning.pivots),
            "rule": learning.rule,
            "later_groups": learning.groups,
            "phase1_share": learning.phase1_share,
        }

    def first_plan(self, schema: Schema, epsilon: float, *, answers: int = 1, source: Source | None = None) -> Plan:
        """The first plan of a new campaign that asks so."""
        return design(schema, epsilon, answers=answers, source=source, **self.options)


class State(Enum):
    """Where a campaign's last plan stands."""

    DRAFT = "draft"
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True)
class Campaign:
    """The plans of a campaign so far; all but the last are closed."""

    plans: tuple[Plan, ...]
    state: State = State.DRAFT

    @classmethod
    def draft(cls, plan: Plan) -> "Campaign":
        """A campaign that nobody can answer yet, from its first plan."""
        if plan.phase != 1:
            raise CampaignError(f"a campaign starts with its first plan, this one is of phase {plan.phase}")
        return cls((plan,))

    @property
    def open_plan(self) -> Plan | None:
        """The plan that takes answers now, if any."""
        return self.plans[-1] if self.state is State.OPEN else None

    def open(self) -> "Campaign":
        """Take answers to the first plan."""
        return self._move(State.DRAFT, State.OPEN)

    def close(self) -> "Campaign":
        """Take no more answers to the open plan."""
        return self._move(State.OPEN, State.CLOSED)

    def follow(self, plan: Plan) -> "Campaign":
        """Take answers to the next plan of the campaign."""
        plans = check_one_campaign((*self.plans, plan), CampaignError)
        if plan.phase != self.plans[-1].phase + 1:
            raise CampaignError(f"phase {plan.phase} cannot follow phase {self.plans[-1].phase}")
        return replace(self._move(State.CLOSED, State.OPEN), plans=tuple(plans))

    def _move(self, start: State, end: State) -> "Campaign":
        if self.state is not start:
            raise CampaignError(f"the campaign is in state '{self.state.value}'; this step starts from '{start.value}'")
        return replace(self, state=end)


def check_one_campaign(plans: Sequence[Plan], error: type[PrivtallyError]) -> list[Plan]:
    """The plans in order of their phases, refused unless all belong to one campaign and each is there once."""
    ordered = sorted(plans, key=lambda plan: plan.phase)
    for one, two in pairwise(ordered):
        if one.phase == two.phase:
            raise error(f"two plans are of phase {one.phase}; give each phase once (counts of one plan add)")
        if one.campaign_id != two.campaign_id:
            raise error(f"phases {one.phase} and {two.phase} belong to different campaigns; give the plans of one")
        for name in ("schema", "epsilon", "name", "answers", "decoys", "together"):
            if getattr(one, name) != getattr(two, name):
                written = "mechanism" if name == "name" else name
                place = f"phase {two.phase} differs from phase {one.phase} in '{written}'"
                raise error(f"{place}; the plans of a campaign agree in it")
        if two.learned is not None and not one.learns:
            raise error(f"phase {two.phase} cannot be 'learned': {two.name} learns nothing")
        _check_rounds(one, two, error)
    _check_starts(ordered, error)
    return ordered


def check_campaign(pin: str, first: Plan, plan: Plan) -> None:
    """Refuse a plan that breaks the contract of a pinned campaign; the refusal names the part that it breaks.

    `pin` is the campaign's id, the digest of its first plan, known from elsewhere than the collector. `first` is the
    campaign's first plan and `plan` the one to answer, as the collector handed them out. No answer plays a part. The
    browser client has the same function.
    """
    if first.phase != 1 or first.digest != pin:
        raise CampaignError("the collector's 'first' plan is not the one that the campaign's id pins; do not answer")
    if plan.campaign_id != pin:
        raise CampaignError("the plan's 'campaign' is another one than the pinned one; do not answer")
    if plan.digest != pin:
        check_one_campaign((first, plan), CampaignError)


def _check_starts(plans: Sequence[Plan], error: type[PrivtallyError]) -> None:
    """Refuse rounds that do not start alike."""
    starts = [plan for plan in plans if plan.learned is None]
    if any(plan.parts != starts[0].parts for plan in starts):
        raise error("the rounds of a campaign start with different 'parts'; each asks as the first one did")


def _check_rounds(one: Plan, two: Plan, error: type[PrivtallyError]) -> None:
    """Refuse a later plan of an earlier round, or one that skips a round."""
    phases, rounds = two.phase - one.phase, two.round - one.round
    started = int(two.learned is None)  # a plan that is learned stays in the round of the plan before it
    if rounds < started or rounds > phases - 1 + started:
        raise error(f"phase {two.phase} cannot be of 'round' {two.round} after phase {one.phase} of round {one.round}")


def refresh(plans: Sequence[Plan]) -> Plan:
    """The first plan of a campaign's next round, from its plans so far: it asks as the campaign's first plan did."""
    if not plans:
        raise CampaignError("a refresh needs the campaign's plans so far")
    ordered = check_one_campaign(plans, CampaignError)
    first, last = ordered[0], ordered[-1]
    if first.phase != 1:
        raise CampaignError("a refresh needs the campaign's first plan: the next round asks as that did")
    return msgspec.structs.replace(
        last,
        phase=last.phase + 1,
        round=last.round + 1,
        parts=first.parts,
        groups=first.groups,
        nonce=None,
        campaign=first.digest,
        learned=None,
    )


Phase = tuple[Plan, Counts]
"""A plan and the counts of the reports to it."""
History = Sequence[Phase]
"""Every phase of a campaign so far."""


def drive(
    first: Plan, collect: Callable[[Plan], Counts], follow: Callable[[History], Plan], *, rounds: int = 1
) -> list[Phase]:
    """Every phase of a campaign, from its first plan to its last: the history that `estimate` takes.

    `collect` gives the counts of the reports to a plan, whoever is asked and however: people in a table, simulated
    ones, a service's. `follow` gives the plan that is learned from the history so far, once in a round and where the
    mechanism learns. Every round but the first asks anew as the first plan did.
    """
    history: list[Phase] = []
    for _ in range(rounds):
        plan = refresh([own for own, _ in history]) if history else first
        history.append((plan, collect(plan)))
        if plan.learns:
            plan = follow(history)
            history.append((plan, collect(plan)))
    return history
