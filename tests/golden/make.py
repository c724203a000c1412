"""Documents of the current version, from a fixed seed and a fixed nonce.

`python -m tests.golden.make` writes them; the directory of a released version is never written again.
"""

import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np

from privtally import __version__
from privtally.collector.estimate import History, Phase, estimate
from privtally.collector.tally import count
from privtally.documents.campaign import refresh
from privtally.documents.learned import Learned, LearnedFrom
from privtally.documents.plan import Plan
from privtally.documents.report import Reports
from privtally.lab.seed import seeded
from privtally.mechanisms.fills import CopyFill, SilentFill
from privtally.mechanisms.named import PartPlan, RandomizedResponse, asking
from privtally.names import MECHANISMS, METHODS, MechanismName
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.support import fill_of, first_plan, plan_with

HERE = Path(__file__).parent
GENERAL = ("groups", "two-pivots", "rounds")
"""Plans that no named mechanism has, and a campaign of two rounds."""
KINDS = (*MECHANISMS, *GENERAL)
LIMIT = 5
"""Past this many distinct reports the counts of the second phases are kept as pairwise tables."""


def plans_of(kind: str) -> list[Plan]:
    """The plans of a campaign: the first one, and where the mechanism learns a second one with made-up parameters."""
    two = (RandomizedResponse(),) * 2
    if kind == "groups":
        copying = CopyFill(((1.0, 0.25), (0.75, 1.0)))
        return [
            plan_with((PartPlan((0, 2), 1, two, copying), PartPlan((1, 3), 1, two, SilentFill())), (3, 2, 3, 4), 3.0)
        ]
    if kind == "two-pivots":
        return [plan_with((PartPlan((0, 1, 2), 2, (RandomizedResponse(),) * 3, SilentFill()),), (2, 3, 4), 3.0)]
    if kind == "rounds":
        first = first_plan((3, 4), 2.0, "smp", answers=2)
        return [first, refresh([first])]
    name: MechanismName = next(name for name in MECHANISMS if name == kind)
    first, fill = first_plan((3, 3), 1.5, name), fill_of(name, (3, 3), seed=4)
    if fill is None:
        return [first]
    _, counts = collected(first, 4)[1]
    learned = Learned((LearnedFrom(first.digest, counts.digest, counts.reports),), people=60)
    part = asking((0, 1), first.schema.sizes, Fraction(first.epsilon), fill)
    return [first, first.next((part,), learned)]


def collected(plan: Plan, seed: int) -> tuple[Reports, Phase]:
    """The reports of 60 people, and their counts."""
    sizes = plan.schema.sizes
    codes = np.arange(60 * len(sizes)).reshape(60, -1) % np.array(sizes)
    reports = respond_many(plan, Records(plan.schema, codes.astype(np.uint8)), seeded(seed))
    return reports, (plan, count(plan, reports.codes, LIMIT if plan.phase > 1 else 100))


def documents(kind: str) -> dict[str, bytes]:
    """A small campaign's documents by their file names."""
    found: dict[str, bytes] = {}
    history: History = []
    for plan in plans_of(kind):
        reports, phase = collected(plan, 3 + plan.phase)
        history = [*history, phase]
        found[f"plan-{plan.phase}.json"] = plan.dump()
        found[f"reports-{plan.phase}.ndjson"] = b"".join(report.dump() + b"\n" for report in reports)
        found[f"counts-{plan.phase}.json"] = phase[1].dump()
    return found | {f"estimate-{method}.json": estimate(history, method).dump() for method in METHODS}


def make() -> None:
    """Write the current version's documents anew."""
    place = HERE / ".".join(__version__.split(".")[:2])
    shutil.rmtree(place, ignore_errors=True)
    for kind in KINDS:
        (place / kind).mkdir(parents=True)
        for file, data in documents(kind).items():
            (place / kind / file).write_bytes(data)


if __name__ == "__main__":
    make()
