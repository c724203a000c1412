"""What an operator decides about later phases: checked when a campaign is created, used when it goes on."""

from collections.abc import Sequence

from privtally.collector.estimate import Phase
from privtally.collector.learn import check_later_pivots, check_learns, learn
from privtally.documents.groups import group_places
from privtally.documents.plan import Plan
from privtally.errors import RequestError
from privtally.names import MechanismChoice, with_effect
from privtally.schema import Schema
from privtally.store.options import Options
from privtally.store.surveys import Survey


def check_later(
    options: Options, schema: Schema, mechanism: MechanismChoice, groups: Sequence[Sequence[str]] | None
) -> None:
    """Refuse groups or pivots of later phases that the campaign, with these first groups, cannot have."""
    usual = Options()
    if (options.groups, options.pivots) == (usual.groups, usual.pivots):
        return
    if mechanism == "auto":
        raise RequestError("mechanism auto chooses 'groups' and 'pivots' of the options; leave them out")
    check_learns(mechanism)
    check_later_pivots(mechanism, options.pivots)
    if options.groups == "auto":
        if options.pivots > 1:
            raise RequestError("groups are chosen (auto) for one pivot; name the groups, or leave 'pivots' out")
        return
    places = group_places(schema, options.groups or groups or [schema.names])
    if options.pivots > (most := max(map(len, places))):
        raise RequestError(
            f"{options.pivots} questions a report (pivots) need a group of as many questions, the largest has {most}"
        )


def to_learn_from(phases: Sequence[Phase]) -> list[Phase]:
    """The phases that somebody has answered, and the last one in any case: the next phase follows it."""
    return [phase for phase in phases if phase[1].reports or phase is phases[-1]]


def learned(survey: Survey, phases: Sequence[Phase]) -> Plan:
    """The plan of a survey's next phase, as its options want it."""
    own = survey.options
    wanted = with_effect(phases[-1][0].mechanism, {"rule": own.rule})
    return learn(phases, people=own.people, groups=own.groups, pivots=own.pivots, **wanted)
