"""Report: what leaves a participant, and its wire form.

On the wire a report is one line of JSON:

    {"format":"privtally.report/1","plan":"<digest>","id":"<32 hex digits>","codes":[2,0,null,1]}

`null` stands for an attribute that the plan's mechanism leaves unanswered.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from privtally.documents.plan import Plan
from privtally.errors import ReportError
from privtally.exact import wire
from privtally.schema import Codes

ID_BYTES = 16
_ID = re.compile(r"[0-9a-f]{32}")


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag="privtally.report/1"):
    """One participant's private codes, under the digest of the plan they answer."""

    plan: str
    id: str
    codes: tuple[int | None, ...]

    def __post_init__(self) -> None:
        wire.check_digest(self.plan, "a report's plan", ReportError)
        if not _ID.fullmatch(self.id):
            raise ReportError("a report's id must be 32 lower-case hexadecimal digits")

    def dump(self) -> bytes:
        """The report as one line of JSON, without the line's end."""
        return msgspec.json.encode(self)


def load_report(data: bytes | str) -> Report:
    """A report from one line of JSON."""
    report = wire.decode_line(data, Report, ReportError, "the report")
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
        digest, silent = self.plan.digest, self.plan.sampler.sizes
        for name, codes in zip(self.ids, self.codes.tolist(), strict=True):
            yield Report(digest, name.tobytes().hex(), with_nulls(codes, silent))


def check_report(plan: Plan, report: Report) -> list[int]:
    """The codes of a report that answers this plan, silence as the code after the last label; else refused."""
    if report.plan != plan.digest:
        raise ReportError(
            f"the report answers plan {report.plan[:12]}…, not {plan.digest[:12]}… (phase {plan.phase}); "
            "tally it with its own plan"
        )
    outputs = plan.sampler.outputs
    if len(report.codes) != len(outputs):
        raise ReportError(f"the report has {len(report.codes)} codes, the plan {len(outputs)} attributes")
    if plan.mechanism == "smp" and sum(code is not None for code in report.codes) != 1:
        raise ReportError("a report to an smp plan must answer exactly one attribute")
    codes = []
    for attribute, code, output in zip(plan.schema.attributes, report.codes, outputs, strict=True):
        if code is None and output == attribute.size:
            raise ReportError(f"attribute '{attribute.name}' is null, but {plan.mechanism} answers every attribute")
        if code is not None and not 0 <= code < attribute.size:
            raise ReportError(f"attribute '{attribute.name}' has a code outside 0 to {attribute.size - 1}")
        codes.append(attribute.size if code is None else code)
    return codes


def with_nulls(codes: Sequence[int], sizes: Sequence[int]) -> tuple[int | None, ...]:
    """Codes as they go on the wire: null for the code after the last label."""
    return tuple(None if code == size else code for code, size in zip(codes, sizes, strict=True))
