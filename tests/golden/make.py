"""Documents of the current version, from a fixed seed and a fixed nonce.

`python -m tests.golden.make` writes them; the directory of a released version is never written again.
"""

import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np

from privtally import __version__
from privtally.collector.estimate import estimate
from privtally.collector.tally import count
from privtally.documents.campaign import History, Phase, refresh
from privtally.documents.plan import Learned, LearnedFrom, Plan, design
from privtally.documents.report import Reports
from privtally.lab.population import seeded
from privtally.mechanisms.fills import AnyFill, CopyFill
from privtally.mechanisms.named import PartPlan, RandomizedResponse, asking
from privtally.names import MECHANISMS, MechanismName, Method
from privtally.participant.respond import respond_many
from privtally.privacy.loss import certify, dump_certificate
from privtally.schema import Records, Schema
from tests.golden.tables import tables
from tests.support import EXTENDED_PLANS, Scripted, fill_of, first_plan, plan_with

HERE = Path(__file__).parent
GENERAL = ("decoys", "groups", "two-pivots", "rounds", "aligned", "many-labels", "questions")
"""Plans that no named mechanism has, a campaign of two rounds, and questions that may be skipped or ask for numbers."""
KINDS = (*MECHANISMS, *GENERAL)
WITH_TABLES = ("smp", "corr-rr", "rounds", "many-labels")
"""Of these campaigns there are tables of reports, and ledgers too."""
FROZEN: tuple[Method, ...] = ("unbiased", "paper")
"""The methods whose numbers are frozen: they are formulas. The others may come nearer to the truth."""
LIMIT = 5
"""Past this many distinct reports the counts of the second phases are kept as pairwise tables."""
QUESTIONS = """
[[attributes]]
name = "âge"
bins = [0, 18, 65, 120]
optional = true

[[attributes]]
name = "weight"
bins = { from = 0.5, to = 2, width = 0.5 }
decimals = true
clamp = true

[[attributes]]
name = "mood"
labels = ["low", "middling", "high"]
ordered = true

[[alignments]]
classes = [{ "âge" = ["0–17", "18–64"], mood = ["low"] }, { "âge" = ["65–120"], mood = ["middling", "high"] }]
"""


def plans_of(kind: str) -> list[Plan]:
    """The plans of a campaign: the first one, and where the mechanism learns a second one with made-up parameters."""
    two = (RandomizedResponse(),) * 2
    if kind == "decoys":
        return [first_plan((3, 2, 3, 4), 2.0, "rs-fd", decoys=1)]
    if kind == "groups":
        copying = CopyFill(((1.0, 0.25), (0.75, 1.0)))
        return [plan_with((PartPlan((0, 2), 1, two, 1, copying), PartPlan((1, 3), 1, two)), (3, 2, 3, 4), 3.0)]
    if kind == "two-pivots":
        return [plan_with((PartPlan((0, 1, 2), 2, (RandomizedResponse(),) * 3),), (2, 3, 4), 3.0)]
    if kind == "rounds":
        first = first_plan((3, 4), 2.0, "smp", answers=2)
        return [first, refresh([first])]
    if kind == "aligned":
        return [plan_with(*EXTENDED_PLANS["aligned"], 2.0)]
    if kind == "many-labels":
        return [plan_with(*EXTENDED_PLANS["large, silent"], 2.0)]
    if kind == "questions":
        return [design(Schema.from_toml(QUESTIONS), 2.0, "spl", source=Scripted([7, 7]))]
    name: MechanismName = next(name for name in MECHANISMS if name == kind)
    if name == "pairs":
        return [first_plan((3, 2, 3), 1.5, name, single=0.25)]
    first, fill = first_plan((3, 3), 1.5, name), fill_of(name, (3, 3), seed=4)
    return [first] if fill is None else [first, first.next(*_second(first, fill))]


def _second(first: Plan, fill: AnyFill) -> tuple[tuple[PartPlan, ...], Learned]:
    """The parts of a second phase, and where they came from."""
    _, counts = collected(first, 4)[1]
    history = (LearnedFrom(first.digest, counts.digest, counts.reports),)
    learned = Learned(history, people=60)
    if isinstance(fill, CopyFill):
        learned = Learned(history, "robust", 60)
    return (asking((0, 1), first.schema.sizes, Fraction(first.epsilon), fill),), learned


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
    given: list[Reports] = []
    for plan in plans_of(kind):
        reports, phase = collected(plan, 3 + plan.phase)
        history, given = [*history, phase], [*given, reports]
        found[f"plan-{plan.phase}.json"] = plan.dump()
        found[f"reports-{plan.phase}.ndjson"] = b"".join(report.dump() + b"\n" for report in reports)
        found[f"counts-{plan.phase}.json"] = phase[1].dump()
        found[f"certificate-{plan.phase}.json"] = dump_certificate(certify(plan))
    if kind == "rounds":
        found["estimate-by-round.json"] = estimate(history, "unbiased", by_round=True).dump()
    frozen = FROZEN if kind != "pairs" else FROZEN[:1]  # the paper asks no questions together
    estimates = {f"estimate-{method}.json": estimate(history, method).dump() for method in frozen}
    return found | estimates | (tables(given) if kind in WITH_TABLES else {})


def make() -> None:
    """Write the current version's documents anew."""
    place = HERE / ".".join(__version__.split(".")[:2])
    shutil.rmtree(place, ignore_errors=True)
    for kind in KINDS:
        for file, data in documents(kind).items():
            path = place / kind / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


if __name__ == "__main__":
    make()
