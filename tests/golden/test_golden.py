"""Documents of every released version, read by this one: their bytes and their meaning must never change.

`python -m tests.golden.test_golden` writes the documents of the current version; a released directory is never
written again.
"""

from pathlib import Path

import numpy as np
import pytest
from privtally.documents.counts_document import load_counts

from privtally.collector.estimate import estimate, load_estimate
from privtally.documents.counts import count
from privtally.documents.plan import load_plan
from privtally.documents.report import check_report, load_report
from privtally.lab.seed import seeded
from privtally.names import MECHANISMS, MechanismName
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.support import plan_of

HERE = Path(__file__).parent
VERSIONS = sorted(path.name for path in HERE.iterdir() if path.is_dir() and path.name[0].isdigit())


def documents(mechanism: MechanismName) -> dict[str, bytes]:
    """A small campaign's documents, from a fixed seed."""
    plan = plan_of(mechanism, (3, 3), epsilon=1.5, seed=4)
    records = Records(plan.schema, np.arange(120, dtype=np.uint8).reshape(60, 2) % 3)
    reports = respond_many(plan, records, seeded(4))
    counts = count(plan, reports.codes, whole_report_limit=5 if mechanism == "spl" else 100)
    return {
        "plan.json": plan.dump(),
        "reports.ndjson": b"".join(report.dump() + b"\n" for report in reports),
        "counts.json": counts.dump(),
        "estimate.json": estimate([(plan, counts)]).dump(),
    }


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_old_documents_are_read_and_mean_the_same(version: str, mechanism: MechanismName) -> None:
    place = HERE / version / mechanism
    plan = load_plan((place / "plan.json").read_bytes())
    assert plan.dump() == (place / "plan.json").read_bytes()
    reports = [load_report(line) for line in (place / "reports.ndjson").read_bytes().splitlines()]
    assert b"".join(report.dump() + b"\n" for report in reports) == (place / "reports.ndjson").read_bytes()
    counts = load_counts((place / "counts.json").read_bytes(), plan)
    assert counts.dump() == (place / "counts.json").read_bytes()
    codes = np.array([check_report(plan, report) for report in reports], dtype=np.uint8)
    assert count(plan, codes, counts.whole_report_limit) == counts
    old = load_estimate((place / "estimate.json").read_bytes())
    new = estimate([(plan, counts)], old.method)
    assert old.provenance.phases == new.provenance.phases
    for name, attribute in old.attributes.items():
        assert new.attributes[name].labels == attribute.labels
        assert new.attributes[name].frequencies == pytest.approx(attribute.frequencies, abs=1e-9)
        assert new.attributes[name].standard_errors == pytest.approx(attribute.standard_errors, abs=1e-9)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_same_seed_still_gives_the_same_reports(mechanism: MechanismName) -> None:
    """The sampler's use of random words is part of what a seed in the lab promises."""
    assert documents(mechanism)["reports.ndjson"] == (HERE / VERSIONS[-1] / mechanism / "reports.ndjson").read_bytes()


if __name__ == "__main__":
    from privtally import __version__

    for name in MECHANISMS:
        folder = HERE / ".".join(__version__.split(".")[:2]) / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, data in documents(name).items():
            (folder / file).write_bytes(data)
