"""The whole job on data that is all at hand: every phase of a campaign, one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from privtally.collector.estimate import Estimate, estimate
from privtally.collector.learn.rules import learn
from privtally.documents.campaign import Campaign, phase1_people
from privtally.documents.counts import Counts, count
from privtally.documents.plan import Plan
from privtally.documents.report import Reports
from privtally.exact.source import Source
from privtally.files import Advance, silently, write_bytes, write_whole
from privtally.names import MAX_PIVOT_GUESS, MechanismName, Method, Rule
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
    source: Source,
    *,
    phase1_share: float = 0.1,
    rule: Rule = "robust",
    max_pivot_guess: float = MAX_PIVOT_GUESS,
) -> Job:
    """Privatise, tally and learn, from the first plan to the last; a random share of the people is Phase I."""
    first_phase = phase1_people(len(records), phase1_share)
    campaign = Campaign.draft(records.schema, epsilon, mechanism).open_phase_1()
    if not campaign.two_phases:
        return Job([_collect(campaign, records, source)])
    first_people, second_people = _split(records, first_phase, source)
    first = _collect(campaign, first_people, source)
    users = len(second_people)
    plan = learn(first.plan, first.counts, rule=rule, phase2_users=users, max_pivot_guess=max_pivot_guess)
    campaign = campaign.close_phase_1().open_phase_2(plan)
    return Job([first, _collect(campaign, second_people, source)])


def _collect(campaign: Campaign, records: Records, source: Source) -> JobPhase:
    plan = campaign.open_plan
    assert plan is not None
    reports = respond_many(plan, records, source)
    return JobPhase(plan, reports, count(plan, reports.codes))


def _split(records: Records, people: int, source: Source) -> tuple[Records, Records]:
    """So many of the records, chosen at random, and the rest."""
    order = np.argsort(source.words(len(records)), kind="stable")
    first, second = np.sort(order[:people]), np.sort(order[people:])
    return Records(records.schema, records.codes[first]), Records(records.schema, records.codes[second])


def write_job(job: Job, result: Estimate, directory: Path, advance: Advance = silently) -> None:
    """Leave every document of a job in a directory; `advance` hears how many reports are written."""
    done = 0
    for phase in job.phases:
        number = phase.plan.phase
        write_bytes(directory / f"plan-{number}.json", phase.plan.dump())
        write_bytes(directory / f"counts-{number}.json", phase.counts.dump())
        with write_whole(directory / f"reports-{number}.ndjson") as file:
            for report in phase.reports:
                file.write(report.dump() + b"\n")
                done += 1
                if done % 10_000 == 0:
                    advance(done)
    write_bytes(directory / "estimate.json", result.dump())
    write_bytes(directory / "estimate.csv", result.to_csv())
