"""The whole job on data that is all at hand: every phase of a campaign, one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from privtally.collector.estimate import estimate
from privtally.collector.learn import USUAL_PHASE1_SHARE, LaterGroups, check_effect, learn
from privtally.collector.tally import count
from privtally.documents.campaign import phase1_people
from privtally.documents.counts import Counts
from privtally.documents.estimate import Estimate
from privtally.documents.plan import Plan, check_mechanism, design
from privtally.documents.report import Reports
from privtally.exact.source import Source, Stream
from privtally.files import Advance, silently, write_bytes, write_whole
from privtally.mechanisms import NAMED
from privtally.names import MechanismName, Method, Rule
from privtally.participant.respond import respond_many
from privtally.schema import Records


@dataclass(frozen=True)
class JobPhase:
    """One phase: its plan, the reports to it, and their counts."""

    plan: Plan
    reports: Reports
    counts: Counts


@dataclass(frozen=True)
class Job:
    """A finished campaign."""

    phases: Sequence[JobPhase]

    def estimate(self, method: Method) -> Estimate:
        """What all phases together say."""
        return estimate([(phase.plan, phase.counts) for phase in self.phases], method)


def run_campaign(
    records: Records,
    epsilon: float,
    mechanism: MechanismName,
    source: Source | None = None,
    *,
    phase1_share: float | None = None,
    rule: Rule | None = None,
    groups: Sequence[Sequence[str]] | None = None,
    later_groups: LaterGroups = None,
    pivots: int = 1,
    decoys: int | None = None,
) -> Job:
    """Privatise, tally and learn, from the first plan to the last; a random share of the people is Phase I, a tenth if
    not given.

    A mechanism that learns may have other `later_groups` than its first plan states, as `learn` takes them. An option
    that the mechanism does not use is refused.
    """
    check_mechanism(mechanism)
    check_effect(mechanism, {"rule": rule, "phase1_share": phase1_share, "later_groups": later_groups})
    source = source or Stream.from_system()
    learns = NAMED[mechanism].learns
    first_pivots = 1 if learns else pivots
    plan = design(records.schema, epsilon, mechanism, groups=groups, pivots=first_pivots, decoys=decoys, source=source)
    if not learns:
        return Job([_collect(plan, records, source)])
    people = phase1_people(len(records), USUAL_PHASE1_SHARE if phase1_share is None else phase1_share)
    order = np.argsort(source.words(len(records)), kind="stable")
    first_people, second_people = (
        Records(records.schema, records.codes[np.sort(rows)]) for rows in (order[:people], order[people:])
    )
    first = _collect(plan, first_people, source)
    history = [(first.plan, first.counts)]
    following = learn(history, rule=rule, people=len(second_people), groups=later_groups, pivots=pivots)
    return Job([first, _collect(following, second_people, source)])


def _collect(plan: Plan, records: Records, source: Source) -> JobPhase:
    reports = respond_many(plan, records, source)
    return JobPhase(plan, reports, count(plan, reports.codes))


def write_job(job: Job, result: Estimate, directory: Path, advance: Advance = silently) -> None:
    """Leave every document of a job in a directory; `advance` hears how many reports are written."""
    done = 0
    for phase in job.phases:
        number = phase.plan.phase
        write_bytes(directory / f"plan-{number}.json", phase.plan.dump())
        write_bytes(directory / f"counts-{number}.json", phase.counts.dump())
        with write_whole(directory / f"reports-{number}.ndjson") as file:
            # In the order of their random ids, which says nothing about the order of the rows.
            file.writelines(sorted(phase.reports.lines()))
        done += len(phase.reports)
        advance(done)
    write_bytes(directory / "estimate.json", result.dump())
    write_bytes(directory / "estimate.csv", result.to_csv())
