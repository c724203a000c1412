"""Report: what leaves a participant, its wire form, the one check of it against its plan, and the collector's receipt.

On the wire a report is one line of JSON:

    {"format":"privtally.report/1","plan":"<digest>","id":"<32 hex digits>","codes":[2,0,null,1]}

`null` stands for an attribute that the plan's mechanism leaves unanswered.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from privtally.documents.plan import Plan
from privtally.errors import ReportError
from privtally.exact import canonical
from privtally.exact.types import Codes

ID_BYTES = 16
_ID = re.compile(r"[0-9a-f]{32}")


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag="privtally.report/1"):
    """One participant's private codes, under the digest of the plan they answer."""

    plan: str
    id: str
    codes: tuple[int | None, ...]

    def __post_init__(self) -> None:
        canonical.check_digest(self.plan, "a report's plan", ReportError)
        if not _ID.fullmatch(self.id):
            raise ReportError("a report's id must be 32 lower-case hexadecimal digits")

    def dump(self) -> bytes:
        """The report as one line of JSON, without the line's end."""
        return msgspec.json.encode(self)


def load_report(data: bytes | str) -> Report:
    """A report from one line of JSON."""
    if not isinstance(data, bytes | str):
        raise ReportError("a report must be given as its line of JSON, a text or bytes")
    report = canonical.decode_line(data, Report, ReportError, "the report")
    # None of the four fields can hold a colon, so that a fifth one stands behind a repeated key.
    if (data.count(":") if isinstance(data, str) else data.count(b":")) != 4:
        raise ReportError("the report is refused: a key stands twice in it")
    return report


@dataclass(frozen=True, eq=False)
class Reports:
    """Many reports to one plan: an array of ids (report, byte) and one of private codes (report, attribute)."""

    plan: Plan
    ids: NDArray[np.uint8]
    codes: Codes

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Report]:
        digest, silences = self.plan.digest, self.plan.mechanism.silences
        for name, row in zip(self.ids, self.codes.tolist(), strict=True):
            codes = (None if code == silence else code for code, silence in zip(row, silences, strict=True))
            yield Report(digest, name.tobytes().hex(), tuple(codes))

    def lines(self) -> Iterator[bytes]:
        """Each report as its line of JSON with the line's end: the bytes of `Report.dump`, made in bulk."""
        silences = self.plan.mechanism.silences
        columns = (_texts(column, silence) for column, silence in zip(self.codes.T.tolist(), silences, strict=True))
        names, digits = self.ids.tobytes().hex(), 2 * ID_BYTES
        form = f'{{"format":"privtally.report/1","plan":"{self.plan.digest}","id":"'
        for number, codes in enumerate(zip(*columns, strict=True)):
            start = number * digits
            yield f'{form}{names[start : start + digits]}","codes":[{",".join(codes)}]}}\n'.encode()


def _texts(codes: list[int], silence: int | None) -> Iterable[str]:
    """What stands on the wire for each code of one attribute."""
    return map(str, codes) if silence is None else ("null" if code == silence else str(code) for code in codes)


def check_report(plan: Plan, report: Report) -> list[int]:
    """The codes of a report that answers this plan, "not asked" as the code after the last one; else refused."""
    if report.plan != plan.digest:
        raise ReportError(
            f"the report answers plan {report.plan[:12]}…, not {plan.digest[:12]}… (phase {plan.phase}); "
            "tally it with its own plan"
        )
    mechanism = plan.mechanism
    if len(report.codes) != mechanism.width:
        raise ReportError(f"the report has {len(report.codes)} codes, the plan {mechanism.width}")
    codes = []
    for name, code, outputs, silence in zip(
        plan.columns, report.codes, mechanism.outputs, mechanism.silences, strict=True
    ):
        answers = outputs if silence is None else silence
        if code is None and silence is None:
            raise ReportError(f"attribute '{name}' is null, but the plan answers it in every report")
        if code is not None and not 0 <= code < answers:
            raise ReportError(f"attribute '{name}' has a code that the plan does not have")
        codes.append(answers if code is None else code)
    for part in mechanism.parts:
        shown = sum(report.codes[attribute] is not None for attribute in part.attributes)
        if shown != part.shown:
            raise ReportError(
                f"the report cannot come from its plan: a report must show {part.shown} of {len(part.attributes)} "
                f"attributes, this one has {shown}"
            )
    return codes


Refusal = Literal["wrong_plan", "phase_closed", "invalid_report", "id_conflict", "token_spent", "token_missing"]
"""Why a collector does not store a report."""


class Refused(msgspec.Struct, frozen=True):
    """A report that was not stored: its place in the request, from 0, and why."""

    index: int
    reason: Refusal


class Receipt(msgspec.Struct, frozen=True):
    """What became of the reports of a request. Those accepted and repeated are on disk."""

    accepted: int
    repeated: int
    refused: list[Refused]
