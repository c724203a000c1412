"""The files of a campaign that are more than one document: tables of reports, and a ledger."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from privtally.documents.plan import Plan
from privtally.documents.report import Reports
from privtally.lab.population import seeded
from privtally.participant.respond import respond
from privtally.schema import Record
from privtally.tables.report_output import Gathered, write_export, write_reports


def tables(given: Sequence[Reports]) -> dict[str, bytes]:
    """The files of a campaign by their names, from the reports to each of its plans."""
    with TemporaryDirectory() as directory:
        room = Path(directory)
        gathered = {reports.plan: _gathered(reports) for reports in given}
        for plan, reports in gathered.items():
            for kind in ("csv", "parquet"):
                write_reports(room / f"reports-{plan.phase}.{kind}", plan, reports)
        write_export(room / "export.parquet", gathered, ids=True)
        write_ledger(room / "ledger.json", [reports.plan for reports in given])
        made = [path for path in room.rglob("*") if path.is_file() and path.name != ".ledger.json.lock"]
        return {path.relative_to(room).as_posix(): path.read_bytes() for path in made}


def write_ledger(path: Path, plans: Sequence[Plan]) -> None:
    """The ledger of a participant who answers each round once, in its first phase."""
    starts = {plan.round: plan for plan in reversed(plans)}
    for number, plan in sorted(starts.items()):
        respond(plan, Record((0,) * len(plan.schema.attributes)), seeded(number), ledger=path)


def _gathered(reports: Reports) -> Gathered:
    gathered = Gathered(reports.plan)
    gathered.add(reports)
    return gathered
