"""The files of a campaign that are more than one document: tables of reports, a state of `tally`, a ledger."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from privtally.documents.plan import Plan
from privtally.documents.report import Reports
from privtally.lab.seed import seeded
from privtally.participant.respond import respond
from privtally.schema import Record
from privtally.tables.gathering import Gathered
from privtally.tables.report_export import write_export
from privtally.tables.report_output import write_reports
from privtally.tables.state import tally_on

COUNTED = "counted.ndjson"
"""The file that a state has counted: the first half of the reports to the first plan."""
STATES = {"state": False, "state-trusting": True}
"""Directories of states, and whether they trust ids."""


def tables(given: Sequence[Reports]) -> dict[str, bytes]:
    """The files of a campaign by their names, from the reports to each of its plans."""
    with TemporaryDirectory() as directory:
        room = Path(directory)
        gathered = {reports.plan: _gathered(reports) for reports in given}
        for plan, reports in gathered.items():
            for kind in ("csv", "parquet"):
                write_reports(room / f"reports-{plan.phase}.{kind}", plan, reports)
        write_export(room / "export.parquet", gathered, ids=True)
        first = given[0]
        (room / COUNTED).write_bytes(b"".join(report.dump() + b"\n" for report in list(first)[: len(first) // 2]))
        for name, trusting in STATES.items():
            tally_on(first.plan, [room / COUNTED], room / name, trust_ids=trusting)
            moved(room / name, room / COUNTED, Path(COUNTED))
        write_ledger(room / "ledger.json", [reports.plan for reports in given])
        made = [path for path in room.rglob("*") if path.is_file() and path.name not in ("lock", ".ledger.json.lock")]
        return {path.relative_to(room).as_posix(): path.read_bytes() for path in made}


def moved(state: Path, old: Path, new: Path) -> None:
    """Let a state's counted file have another path and no time of change: both differ wherever a state is made."""
    path = state / "state.json"
    text = path.read_text()
    changed = text.partition('"changed":"')[2].partition('"')[0]
    path.write_text(text.replace(f'"changed":"{changed}"', '"changed":"0"').replace(f'"{old}"', f'"{new}"'))


def write_ledger(path: Path, plans: Sequence[Plan]) -> None:
    """The ledger of a participant who answers each round once, in its first phase."""
    starts = {plan.round: plan for plan in reversed(plans)}
    for number, plan in sorted(starts.items()):
        respond(plan, Record((0,) * len(plan.schema.attributes)), seeded(number), ledger=path)


def _gathered(reports: Reports) -> Gathered:
    gathered = Gathered(reports.plan)
    gathered.add(reports)
    return gathered
