"""Lines of reports that the engine cannot parse are refused for what they are, and not taken for none."""

from pathlib import Path

import pytest

from privtally.errors import DocumentError, ReportError
from privtally.tables.database import engine
from privtally.tables.report_text import TextReports
from tests.support import first_plan


def test_an_engine_that_fails_is_not_a_file_without_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "reports.ndjson"
    path.write_text("\n")
    with engine() as connection:
        reports = TextReports(connection, first_plan((3, 3), 1.0, "smp"))
        with pytest.raises(ReportError, match="no reports in it"):
            reports.add_lines(path)
        monkeypatch.setattr(reports, "_select_lines", lambda *_: "SELECT error('no room')")
        with pytest.raises(DocumentError, match="room for temporary files"):
            reports.add_lines(path)
