"""Ask many questions, learn the totals, never the answers.

    schema = Schema.of({"smokes": ["no", "yes"], "drinks": ["no", "yes"]})
    plan = design(schema, epsilon=1.0, mechanism="corr-rr")
    report = respond(plan, encode(schema, {"smokes": "no", "drinks": "yes"}))   # on the participant's side
    counts = tally(plan, [report]).counts                                       # on the collector's
    print(estimate([(plan, counts)]).attributes["smokes"].frequencies)

Names are loaded when they are first used, so that the command line starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from privtally.version import __version__

if TYPE_CHECKING:
    from privtally.collector.estimate import estimate as estimate
    from privtally.collector.learn import learn as learn
    from privtally.collector.pairs import (
        PairEstimate as PairEstimate,
        PairEstimates as PairEstimates,
        estimate_pair as estimate_pair,
        estimate_pairs as estimate_pairs,
    )
    from privtally.collector.tally import Tallied as Tallied, count as count
    from privtally.documents.campaign import (
        Campaign as Campaign,
        State as State,
        check_campaign as check_campaign,
        refresh as refresh,
    )
    from privtally.documents.counts import Counts as Counts, load_counts as load_counts
    from privtally.documents.estimate import Estimate as Estimate, load_estimate as load_estimate
    from privtally.documents.plan import Plan as Plan, design as design, load_plan as load_plan
    from privtally.documents.report import Report as Report, Reports as Reports, load_report as load_report
    from privtally.errors import PrivtallyError as PrivtallyError
    from privtally.exact.source import Source as Source, Stream as Stream, SystemSource as SystemSource
    from privtally.job import Job as Job, run_campaign as run_campaign
    from privtally.lab.advise import recommend as recommend
    from privtally.participant.client import Participant as Participant
    from privtally.participant.respond import encode as encode, respond as respond, respond_many as respond_many
    from privtally.running import Result as Result, run as run
    from privtally.schema import Attribute as Attribute, Record as Record, Records as Records, Schema as Schema
    from privtally.tables.frame_answers import privatise as privatise
    from privtally.tables.frame_reports import tally as tally

_HOME = {
    "collector.estimate": ("estimate",),
    "collector.learn": ("learn",),
    "collector.pairs": ("PairEstimate", "PairEstimates", "estimate_pair", "estimate_pairs"),
    "collector.tally": ("Tallied", "count"),
    "documents.campaign": ("Campaign", "State", "check_campaign", "refresh"),
    "documents.counts": ("Counts", "load_counts"),
    "documents.estimate": ("Estimate", "load_estimate"),
    "documents.plan": ("Plan", "design", "load_plan"),
    "documents.report": ("Report", "Reports", "load_report"),
    "errors": ("PrivtallyError",),
    "exact.source": ("Source", "Stream", "SystemSource"),
    "job": ("Job", "run_campaign"),
    "lab.advise": ("recommend",),
    "participant.client": ("Participant",),
    "participant.respond": ("encode", "respond", "respond_many"),
    "running": ("Result", "run"),
    "schema": ("Attribute", "Record", "Records", "Schema"),
    "tables.frame_answers": ("privatise",),
    "tables.frame_reports": ("tally",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [*_MODULE_OF, "__version__"]  # all of them are strings


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'privtally' has no attribute {name!r}")
    return getattr(import_module(f"privtally.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
