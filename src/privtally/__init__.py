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
    from privtally.campaign import Campaign as Campaign
    from privtally.campaign import State as State
    from privtally.client import encode as encode
    from privtally.client import respond as respond
    from privtally.client import respond_many as respond_many
    from privtally.counts import Counts as Counts
    from privtally.counts import count as count
    from privtally.counts_document import load_counts as load_counts
    from privtally.errors import PrivtallyError as PrivtallyError
    from privtally.estimation import Estimate as Estimate
    from privtally.estimation import estimate as estimate
    from privtally.estimation import load_estimate as load_estimate
    from privtally.job import Job as Job
    from privtally.job import run_campaign as run_campaign
    from privtally.learning import learn as learn
    from privtally.pair import PairEstimate as PairEstimate
    from privtally.pair import estimate_pair as estimate_pair
    from privtally.plan import Plan as Plan
    from privtally.plan import design as design
    from privtally.plan import load_plan as load_plan
    from privtally.report import Report as Report
    from privtally.report import Reports as Reports
    from privtally.report import load_report as load_report
    from privtally.schema import Attribute as Attribute
    from privtally.schema import Record as Record
    from privtally.schema import Records as Records
    from privtally.schema import Schema as Schema
    from privtally.source import Source as Source
    from privtally.source import Stream as Stream
    from privtally.source import SystemSource as SystemSource
    from privtally.tallying import Tallied as Tallied
    from privtally.tallying import tally as tally

_HOME = {
    "campaign": ("Campaign", "State"),
    "client": ("encode", "respond", "respond_many"),
    "counts": ("Counts", "count"),
    "counts_document": ("load_counts",),
    "errors": ("PrivtallyError",),
    "estimation": ("Estimate", "estimate", "load_estimate"),
    "job": ("Job", "run_campaign"),
    "learning": ("learn",),
    "pair": ("PairEstimate", "estimate_pair"),
    "plan": ("Plan", "design", "load_plan"),
    "report": ("Report", "Reports", "load_report"),
    "schema": ("Attribute", "Record", "Records", "Schema"),
    "source": ("Source", "Stream", "SystemSource"),
    "tallying": ("Tallied", "tally"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [*_MODULE_OF, "__version__"]  # all of them are strings


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'privtally' has no attribute {name!r}")
    return getattr(import_module(f"privtally.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
