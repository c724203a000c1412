"""Ask many questions, learn the totals, never the answers.

    schema = Schema({"smokes": ["no", "yes"], "drinks": ["no", "yes"]})
    plan = design(schema, epsilon=1.0)
    report = respond(plan, {"smokes": "no", "drinks": "yes"})   # on the participant's side
    counts = tally(plan, [report])                              # on the collector's
    print(estimate(plan, counts)["smokes"])

Names are loaded when they are first used, so that the command line starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from privtally.errors import meant
from privtally.version import __version__

if TYPE_CHECKING:
    from privtally.campaign import (
        Job as Job,
        Pair as Pair,
        Result as Result,
        advise as advise,
        design as design,
        run as run,
        run_campaign as run_campaign,
    )
    from privtally.collector.learn import learn as learn
    from privtally.collector.pairs import (
        PairEstimate as PairEstimate,
        PairEstimates as PairEstimates,
        estimate_pair as estimate_pair,
        estimate_pairs as estimate_pairs,
    )
    from privtally.collector.synthetic import Synthetic as Synthetic, synthetic as synthetic
    from privtally.documents.campaign import (
        Campaign as Campaign,
        State as State,
        check_campaign as check_campaign,
        refresh as refresh,
    )
    from privtally.documents.counts import Counts as Counts, load_counts as load_counts
    from privtally.documents.estimate import Estimate as Estimate, Shares as Shares, load_estimate as load_estimate
    from privtally.documents.plan import Plan as Plan, load_plan as load_plan
    from privtally.documents.report import Report as Report, Reports as Reports, load_report as load_report
    from privtally.errors import PrivtallyError as PrivtallyError
    from privtally.exact.randomness import Source as Source, Stream as Stream, SystemSource as SystemSource
    from privtally.files import load as load
    from privtally.lab.advise import Advice as Advice
    from privtally.lab.compare import Comparison as Comparison, compare as compare
    from privtally.lab.paper.output import Reproduction as Reproduction, reproduce as reproduce
    from privtally.lab.simulate import OwnMechanism as OwnMechanism
    from privtally.participant.client import Participant as Participant
    from privtally.participant.respond import encode as encode, respond as respond, respond_many as respond_many
    from privtally.privacy.audit import Audit as Audit, audit as audit
    from privtally.privacy.loss import certify as certify
    from privtally.privacy.verify import verify as verify
    from privtally.schema import Attribute as Attribute, Record as Record, Records as Records, Schema as Schema
    from privtally.tables.frames import (
        estimate as estimate,
        privatise as privatise,
        privatize as privatize,
        tally as tally,
    )

_HOME = {
    "campaign": ("Job", "Pair", "Result", "advise", "design", "run", "run_campaign"),
    "collector.learn": ("learn",),
    "collector.pairs": ("PairEstimate", "PairEstimates", "estimate_pair", "estimate_pairs"),
    "collector.synthetic": ("Synthetic", "synthetic"),
    "documents.campaign": ("Campaign", "State", "check_campaign", "refresh"),
    "documents.counts": ("Counts", "load_counts"),
    "documents.estimate": ("Estimate", "Shares", "load_estimate"),
    "documents.plan": ("Plan", "load_plan"),
    "documents.report": ("Report", "Reports", "load_report"),
    "errors": ("PrivtallyError",),
    "exact.randomness": ("Source", "Stream", "SystemSource"),
    "files": ("load",),
    "lab.advise": ("Advice",),
    "lab.compare": ("Comparison", "compare"),
    "lab.paper.output": ("Reproduction", "reproduce"),
    "lab.simulate": ("OwnMechanism",),
    "participant.client": ("Participant",),
    "participant.respond": ("encode", "respond", "respond_many"),
    "privacy.audit": ("Audit", "audit"),
    "privacy.loss": ("certify",),
    "privacy.verify": ("verify",),
    "schema": ("Attribute", "Record", "Records", "Schema"),
    "tables.frames": ("estimate", "privatise", "privatize", "tally"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [*_MODULE_OF, "__version__"]  # all of them are strings


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        perhaps = "" if name.startswith("_") else f"; {meant(name, __all__, 'dir(privtally) lists all')}"
        raise AttributeError(f"module 'privtally' has no attribute {name!r}{perhaps}")
    return getattr(import_module(f"privtally.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
