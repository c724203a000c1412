"""Plan: one phase of a campaign as a public, immutable document.

A participant who holds a plan knows everything about how their answers will be made private; its digest names it in
every report and every count, and its meaning never changes. The digest of a campaign's first plan is the campaign's id.
"""

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property

import msgspec
import numpy as np

from privtally.documents.estimate import Estimate
from privtally.errors import PlanError, meant
from privtally.exact import canonical
from privtally.exact.randomness import Source, SystemSource
from privtally.exact.rational import nearest_distribution, rounded_up
from privtally.mechanisms.fills import Row, RowFill
from privtally.mechanisms.mechanism import Mechanism
from privtally.mechanisms.named import NAMED, Groups, PartPlan, build
from privtally.mechanisms.together import TogetherPlan, together
from privtally.names import MECHANISMS, MechanismName, Rule, plain_name
from privtally.schema import Schema, label_text

Priors = Mapping[str, Mapping[str, float]] | Estimate
"""The share of every label of every attribute that the public knows, or believes, before anybody is asked."""
CLOSE_TO_WHOLE = 1e-6
"""By how much the priors of an attribute may miss 1 in sum: they were rounded by whoever wrote them down."""

MOST_PIVOTS = 3
"""The largest number of questions that a report may answer in a group."""


class LearnedFrom(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Counts that a plan was learned from."""

    plan: str
    counts: str
    reports: int

    def __post_init__(self) -> None:
        canonical.check_digest(self.plan, "the plan that was learned from", PlanError)
        canonical.check_digest(self.counts, "the counts that were learned from", PlanError)
        check_people(self.reports)


class Learned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a later phase's parameters came from: the counts of earlier phases, and how they were used."""

    history: tuple[LearnedFrom, ...]
    rule: Rule | None = None
    people: int | None = None
    """How many people the phase was planned for, where that matters."""
    pivots: int | msgspec.UnsetType = msgspec.UNSET
    """How many pivots were wanted in every group, if several; a part has fewer where that is all that was supported."""

    def __post_init__(self) -> None:
        if not self.history:
            raise PlanError("a plan that was learned must name the counts that it was learned from")
        if self.people is not None:
            check_people(self.people)
        if self.pivots is not msgspec.UNSET:
            check_pivots(self.pivots)

    @property
    def reports(self) -> int:
        """How many reports the parameters rest on."""
        return sum(source.reports for source in self.history)


def check_people(people: int) -> None:
    """Refuse a number of people that no document can hold."""
    if isinstance(people, bool) or not isinstance(people, int) or not 1 <= people <= canonical.MAX_INTEGER:
        raise PlanError(
            f"a number of people must be a whole number between 1 and {canonical.MAX_INTEGER:,}, got {people}"
        )


def check_pivots(pivots: int) -> None:
    """Refuse a number of pivots that no group can have."""
    if isinstance(pivots, bool) or not isinstance(pivots, int) or not 1 <= pivots <= MOST_PIVOTS:
        raise PlanError(f"the number of pivots must be a whole number from 1 to {MOST_PIVOTS}, got {pivots}")


def several(groups: Groups) -> Groups | None:
    """Groups as a plan states them: not at all if there is one."""
    return None if len(groups) == 1 else groups


def group_places(schema: Schema, groups: Sequence[Sequence[str]]) -> Groups:
    """Groups of attributes by their places; refused unless they name every attribute once."""
    names, known = [name for group in groups for name in group], schema.names
    if not all(groups):
        raise PlanError("a group must name at least one question")
    if unknown := [name for name in names if name not in known]:
        raise PlanError(f"there is no question '{unknown[0]}' to put into a group; the names are those of the schema")
    if twice := [name for name in known if names.count(name) > 1]:
        raise PlanError(f"question '{twice[0]}' is named twice in the groups; each belongs to one")
    if missing := [name for name in known if name not in names]:
        raise PlanError(f"question '{missing[0]}' is in no group; each belongs to one")
    return tuple(tuple(map(known.index, group)) for group in groups)


SMALLEST_EPSILON, LARGEST_EPSILON = 1e-6, 32.0
MOST_ANSWERS = 1_000
"""The largest number of answers that a campaign may ask of one person."""
NONCE = re.compile(r"[0-9a-f]{32}")


class Plan(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    dict=True,
    tag_field="format",
    tag="privtally.plan/1",
):
    """One phase: who is asked what, and the exact randomness between an answer and a report."""

    schema: Schema
    epsilon: float
    name: MechanismName = msgspec.field(name="mechanism")
    """The name of the campaign's mechanism, for people; `parts` state what this phase does."""
    phase: int
    answers: int
    """How many phases of the campaign one person may answer."""
    parts: tuple[PartPlan, ...] = ()
    """The parts of the mechanism, if questions are not asked together."""
    together: TogetherPlan | None = None
    """Which questions are asked together, if they are."""
    groups: Groups | None = None
    """The groups of attributes, by their places, if there are several; absent if all are in one group. A first phase
    that others learn from states those of the next phase, which may choose others.
    """
    decoys: int | None = None
    """How many decoys the later phases of a campaign that learns show in each group, if not all others."""
    round: int = 1
    """Which round of the campaign the phase belongs to; every round but the first starts with a refresh."""
    nonce: str | None = None
    """128 random bits in the first plan, so that the same questions asked again are another campaign."""
    campaign: str | None = None
    """The digest of the campaign's first plan, in every later one."""
    learned: Learned | None = None

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if not 1 <= self.answers <= MOST_ANSWERS:
            raise PlanError(f"a person may answer a campaign 1 to {MOST_ANSWERS:,} times, not {self.answers}")
        if not 1 <= self.phase <= MOST_ANSWERS:
            raise PlanError(f"phases are numbered from 1 to {MOST_ANSWERS:,}, got {self.phase}")
        if self.phase == 1:
            if self.nonce is None or not NONCE.fullmatch(self.nonce):
                raise PlanError("a first plan must have a 'nonce' of 32 lower-case hexadecimal digits")
            if self.campaign is not None or self.learned is not None or self.round != 1:
                raise PlanError("a first plan starts its campaign and its first round, and is learned from nothing")
        elif self.campaign is None or self.nonce is not None:
            raise PlanError("a later plan must name its 'campaign', and no 'nonce'")
        else:
            canonical.check_digest(self.campaign, "a plan's campaign", PlanError)
            self._check_round()
        if not self.parts and self.together is None:
            raise PlanError("the plan is refused: it states no `parts`")
        if (self.name == "pairs") != (self.together is not None) or (self.parts and self.together):
            raise PlanError("a plan has 'parts' or, with the mechanism pairs, questions that are asked 'together'")
        if self.groups is not None:
            self._check_groups(self.groups)
        _ = self.mechanism  # refuses parts that do not fit the schema
        self._check_decoys()

    def _check_round(self) -> None:
        if not 1 <= self.round <= self.phase:
            raise PlanError(f"the round of phase {self.phase} must be from 1 to {self.phase}, got {self.round}")
        if self.learned is None and self.round == 1:
            raise PlanError("a later plan must say what it was 'learned' from, or start another 'round'")

    def _check_groups(self, groups: Groups) -> None:
        places = list(range(len(self.schema.attributes)))
        if len(groups) < 2 or not all(groups) or sorted(own for group in groups for own in group) != places:
            raise PlanError("a plan's 'groups' must be at least two, with every attribute in exactly one of them")
        alone = self.learned is None and self.learns
        if [part.attributes for part in self.parts] != ([(own,) for own in places] if alone else list(groups)):
            raise PlanError(
                "the parts of a plan must be its 'groups'; a first phase that others learn from asks all alone"
            )

    def _check_decoys(self) -> None:
        """Refuse a later phase that shows other than the campaign's first plan says."""
        if self.decoys is not None and (not self.learns or self.decoys < 0):
            raise PlanError("only the plans of a mechanism that learns have 'decoys' of their own, 0 or more")
        if self.learned is not None:
            for part in self.parts:
                others = len(part.attributes) - part.pivots
                if part.decoys != (others if self.decoys is None else min(self.decoys, others)):
                    raise PlanError("the parts of a later phase must show as many 'decoys' as the first plan says")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the plan's canonical JSON: its name everywhere else."""
        return canonical.digest(msgspec.to_builtins(self))

    @property
    def has_priors(self) -> bool:
        """Whether it states the priors that campaigns of its mechanism else learn from a first phase."""
        stated = any(isinstance(part.fill, RowFill) for part in self.parts)
        return stated and self.learned is None and NAMED[self.name].learned is RowFill

    @property
    def learns(self) -> bool:
        """Whether every round of its campaign has a phase that is learned."""
        return NAMED[self.name].learns and not self.has_priors

    @property
    def campaign_id(self) -> str:
        """The digest of the campaign's first plan."""
        return self.campaign or self.digest

    @property
    def total_epsilon(self) -> float:
        """The budget of a person who answers as often as the campaign allows."""
        return self.answers * self.epsilon

    @cached_property
    def mechanism(self) -> Mechanism:
        """The mechanism that the plan describes, its weights computed here from epsilon and the sizes."""
        if self.together is not None:
            return self.together.build(self.schema.sizes, Fraction(self.epsilon))
        return build(self.parts, self.schema.sizes, Fraction(self.epsilon))

    @property
    def columns(self) -> tuple[str, ...]:
        """What each code of a report is about: a question, or all that are asked together."""
        return self.schema.names if self.together is None else ("questions asked together",)

    def dump(self) -> bytes:
        """The plan as a document: its content and its digest."""
        return self._document

    @cached_property
    def _document(self) -> bytes:
        return canonical.canonical({**msgspec.to_builtins(self), "digest": self.digest}) + b"\n"

    def __repr__(self) -> str:
        shown = sum(part.pivots + part.decoys for part in self.parts)
        many = len(self.schema.attributes)
        asked = f"a report shows {shown} of {many} answers" if shown < many else f"a report shows all {many} answers"
        if self.together is not None:
            alone = ", or one alone" if self.together.single else ""
            asked = f"a report answers {self.together.size} of them together{alone}, and says which"
        decoys = sum(part.decoys for part in self.parts)
        which = f", {decoys} of them made up" if decoys else ""
        times = f"{rounded_up(math.exp(self.epsilon)):,f}"
        often = "" if self.answers == 1 else f"; one person may answer {self.answers} plans of the campaign"
        questions = repr(self.schema).partition("\n")[2]
        return (
            f"Plan {self.digest[:12]}…, phase {self.phase} of {self.name}\n"
            f"Promises ε = {self.epsilon:g}: a report makes nobody more than {times} times surer of something about "
            f"the person who sent it{often}.\n"
            f"Asks {many:,} questions; {asked}{which}:\n{questions}"
        )

    def next(self, parts: tuple[PartPlan, ...], learned: Learned, groups: Groups | None = None) -> "Plan":
        """The plan of the phase after this one, in the same groups if none are given."""
        return msgspec.structs.replace(
            self,
            phase=self.phase + 1,
            parts=parts,
            groups=self.groups if groups is None else several(groups),
            nonce=None,
            campaign=self.campaign_id,
            learned=learned,
        )


def load_plan(data: bytes | str) -> Plan:
    """A plan from its document; refused if anything in it differs from what its digest says."""
    document = canonical.decode_object(data, PlanError, "the plan")
    claimed = document.pop("digest", None)
    plan = canonical.convert(document, Plan, PlanError, "the plan")
    if plan.digest != claimed:
        raise PlanError("the plan was edited: its content does not match its digest; get the original again")
    return plan


def design(
    schema: Schema,
    epsilon: float,
    mechanism: MechanismName,
    *,
    answers: int = 1,
    groups: Sequence[Sequence[str]] | None = None,
    pivots: int = 1,
    decoys: int | None = None,
    together: int | None = None,
    single: float | None = None,
    pairs_of: Sequence[Sequence[str]] | None = None,
    priors: Priors | None = None,
    source: Source | None = None,
) -> Plan:
    """The first plan of a new campaign, which one person may answer `answers` times.

    Where `groups` of attributes are given by name, each has an equal share of epsilon and a pivot of its own; with
    smp and rs-fd a report may answer several `pivots` of a group, which share the group's budget. Beside them a report
    shows so many `decoys`, made-up answers to other questions of the group: none with smp and all others with every
    other mechanism, unless given. With pairs a report answers `together` questions at once, 2 unless given, of all sets
    of questions or of those that `pairs_of` names; a share of the people, `single`, is asked one question instead.
    With public `priors`, the share of every label of every attribute, rs-rfd has one phase. The random bits that tell
    it from every other campaign come from `source`, the operating system's if not given.
    """
    mechanism = mechanism_named(mechanism)
    if type(answers) is not int:
        raise PlanError(f"the number of answers must be an integer, got {type(answers).__name__}")
    check_epsilon(epsilon)
    epsilon = float(epsilon)
    check_pivots(pivots)
    if decoys is not None:
        mechanism = _showing(mechanism, decoys)
    jointly = None
    if mechanism == "pairs":
        if groups is not None or pivots > 1 or decoys is not None:
            raise PlanError("pairs has no groups, pivots or decoys: a report answers a set of questions and says which")
        jointly = _jointly(schema, epsilon, together, single, pairs_of)
    elif (together, single, pairs_of) != (None, None, None):
        raise PlanError(f"together, single and pairs_of have no effect with {mechanism}; use pairs, or leave them out")
    places = None if groups is None else group_places(schema, groups)
    rows = None if priors is None else _prior_rows(schema, mechanism, priors)
    parts = () if jointly else NAMED[mechanism].first(schema.sizes, Fraction(epsilon), places, pivots, decoys, rows)
    if rows is not None and all(part.fill is None for part in parts):
        raise PlanError("priors have no effect where a report shows no decoys; leave them out")
    return Plan(
        schema=schema,
        epsilon=epsilon,
        name=mechanism,
        phase=1,
        answers=answers,
        parts=parts,
        together=jointly,
        groups=None if places is None else several(places),
        decoys=decoys if NAMED[mechanism].learns and rows is None else None,
        nonce=(source or SystemSource()).words(2).tobytes().hex(),
    )


def _prior_rows(schema: Schema, mechanism: MechanismName, priors: Priors) -> list[Row]:
    """The priors of every attribute as a plan states them; refused unless they are distributions over its labels."""
    if NAMED[mechanism].learned is not RowFill:
        raise PlanError(f"priors have no effect with {mechanism}; use rs-rfd, or leave them out")
    known = priors.to_dict() if isinstance(priors, Estimate) else priors
    if not isinstance(known, Mapping) or not all(isinstance(shares, Mapping) for shares in known.values()):
        raise PlanError('priors are given by question and answer, as in {"smokes": {"no": 0.7, "yes": 0.3}}')
    if unknown := [name for name in known if name not in schema.names]:
        raise PlanError(f"the priors are of a question '{unknown[0]}' that is not asked; leave it out, or name it so")
    rows = []
    for attribute in schema.attributes:
        if attribute.name not in known:
            raise PlanError(f"the priors miss question '{attribute.name}'; give a share for each of its answers")
        shares = {label_text(label): share for label, share in known[attribute.name].items()}
        where = f"the priors of question '{attribute.name}'"
        if different := [label for label in attribute.labels if label not in shares]:
            raise PlanError(f"{where} miss the answer '{different[0]}'; give its share, 0 if nobody gives it")
        if different := [label for label in shares if label not in attribute.labels]:
            raise PlanError(f"{where} have an answer '{different[0]}' that it has not; leave it out, or spell it so")
        weights = np.array([shares[label] for label in attribute.labels])
        if weights.dtype.kind not in "fi" or not (np.isfinite(weights) & (weights >= 0)).all():
            raise PlanError(f"{where} must be shares from 0 to 1; one is negative or no number")
        if abs(weights.sum() - 1) > CLOSE_TO_WHOLE:
            raise PlanError(f"{where} must sum to 1, they sum to {weights.sum():g}")
        rows.append(nearest_distribution(weights))
    return rows


def _jointly(
    schema: Schema,
    epsilon: float,
    size: int | None,
    single: float | None,
    named: Sequence[Sequence[str]] | None,
) -> TogetherPlan:
    """Which questions are asked together, from what people say."""
    if size is not None and type(size) is not int:
        raise PlanError(f"how many questions are asked together must be a whole number, got {type(size).__name__}")
    if single is not None and (type(single) not in (int, float) or not 0 <= single < 1):
        raise PlanError(f"the share of people who are asked a single question must be from 0 to below 1, got {single}")
    sets = None
    if named is not None:
        if unknown := [name for names in named for name in names if name not in schema.names]:
            raise PlanError(f"there is no question '{unknown[0]}' to ask together; the names are those of the schema")
        if twice := [names for names in named if len(set(names)) < len(names)]:
            raise PlanError(f"question '{twice[0][0]}' is named twice in a set of questions that are asked together")
        sets = tuple(dict.fromkeys(tuple(sorted(map(schema.names.index, names))) for names in named))
        size = size or max(map(len, sets), default=2)
        if wrong := [names for names in named if len(names) != size]:
            raise PlanError(f"{size} questions are asked together, not {len(wrong[0])} as in '{','.join(wrong[0])}'")
        asked = {name for names in named for name in names}
        if not single and (missing := [name for name in schema.names if name not in asked]):
            raise PlanError(
                f"question '{missing[0]}' is in none of the sets that are asked together; name one with it, or ask "
                "some people single questions (--single)"
            )
    return together(schema.sizes, Fraction(epsilon), size or 2, sets, single or 0.0)


def _showing(mechanism: MechanismName, decoys: int) -> MechanismName:
    """The name of a mechanism that shows so many decoys: smp and rs-fd differ in nothing else."""
    if isinstance(decoys, bool) or not isinstance(decoys, int) or decoys < 0:
        raise PlanError(f"the number of decoys must be a whole number from 0, got {decoys}")
    if mechanism == "pairs":
        raise PlanError("pairs shows no decoys: a report says which questions it answers; leave them out")
    if mechanism == "spl":
        raise PlanError("spl has no decoys: every report answers every question; use smp or rs-fd")
    return mechanism if NAMED[mechanism].learns else "rs-fd" if decoys else "smp"


def mechanism_named(name: str) -> MechanismName:
    """The mechanism that a name means, as people write it (RS+FD, corr_rr); refused if none does."""
    plain = plain_name(name) if isinstance(name, str) else ""
    found = [mechanism for mechanism in MECHANISMS if mechanism == plain]
    if not found:
        perhaps = meant(plain, MECHANISMS, "name one of them")
        raise PlanError(f"the mechanism must be one of {', '.join(MECHANISMS)}; {perhaps}")
    return found[0]


def check_epsilon(epsilon: float) -> None:
    """Refuse a budget that is not a finite number in the supported range."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float):
        raise PlanError(f"epsilon must be a number, got {type(epsilon).__name__}")
    try:
        epsilon = float(epsilon)
    except OverflowError:
        epsilon = math.inf
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        limits = f"{SMALLEST_EPSILON:f} to {LARGEST_EPSILON:g}"
        raise PlanError(f"epsilon must be a number from {limits}, got {epsilon:g}")
