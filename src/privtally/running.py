"""run: from a table of answers to estimates in one call, for data that is all at hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from privtally.collector.learn import LaterGroups
from privtally.documents.estimate import Estimate
from privtally.documents.plan import check_epsilon, check_mechanism
from privtally.errors import CampaignError, DocumentError
from privtally.exact.source import Source
from privtally.files import read_schema
from privtally.job import Job, run_campaign
from privtally.lab.advise import recommend
from privtally.names import HIDE_AMONG, HideAmong, MechanismName, Method, Rule
from privtally.plots import estimate as picture
from privtally.plots import html
from privtally.schema import Schema
from privtally.tables.estimate_frames import estimate_frame
from privtally.tables.frame_answers import open_data
from privtally.tables.frames import Native

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class CampaignOptions(TypedDict, total=False):
    """What `run_campaign` lets one choose beside the mechanism."""

    phase1_share: float | None
    rule: Rule | None
    groups: Sequence[Sequence[str]] | None
    later_groups: LaterGroups
    pivots: int
    decoys: int | None


@dataclass(frozen=True, repr=False)
class Result:
    """What was learned, and how. A notebook shows it as a table with bars."""

    estimate: Estimate
    job: Job
    """Every plan with the private reports to it and their counts."""
    ignored: tuple[str, ...]
    """The columns that the schema does not name."""

    def to_pandas(self) -> Any:
        """A row for each label: attribute, label, frequency, standard_error, low_95, high_95, among."""
        return estimate_frame(self.estimate, "pandas")

    def to_polars(self) -> Any:
        """The same in Polars."""
        return estimate_frame(self.estimate, "polars")

    def to_arrow(self) -> Any:
        """The same in PyArrow."""
        return estimate_frame(self.estimate, "pyarrow")

    def plot(self, *, top: int = picture.MOST_LABELS) -> "Figure":
        """A picture: one panel for each attribute, with its `top` most frequent labels. Needs the extra `plot`."""
        if not picture.available():
            raise DocumentError(picture.HOW_TO_INSTALL)
        return picture.draw(self.estimate, top=top)

    def __repr__(self) -> str:
        return f"Result({picture.headline(self.estimate)})"

    def _repr_html_(self) -> str:
        return html.table(self.estimate)


def run(
    data: Native | str | Path,
    schema: Schema | Mapping[str, Sequence[str]] | str | Path,
    epsilon: float = 1.0,
    *,
    mechanism: MechanismName | Literal["auto"] = "auto",
    method: Method = "likelihood",
    hide_among: HideAmong | None = None,
    codes: bool = False,
    source: Source | None = None,
    **options: Unpack[CampaignOptions],
) -> Result:
    """Privatise, count and estimate, every phase of a campaign at once.

    The data is a frame (pandas, Polars, PyArrow, DuckDB, PySpark), or the path of a file, a directory or a pattern. The
    schema is a `Schema`, the path of one, or a mapping of attributes to their labels. The mechanism is the one that
    `recommend` names for so many people, the question that is used being hidden among 2 unless `hide_among` says
    otherwise. A mechanism that is stated has other `options` instead (see `run_campaign`).
    Randomness is the operating system's unless there is a source.
    """
    check_epsilon(epsilon)
    if mechanism != "auto":
        check_mechanism(mechanism)
    if mechanism == "auto" and options:
        raise CampaignError(
            f"{', '.join(options)}: the mechanism auto chooses this itself; name a mechanism, or leave it"
        )
    if mechanism != "auto" and hide_among is not None:
        raise CampaignError(f"hide_among has no effect with {mechanism}; decoys says what a report shows")
    with open_data(data, _schema(schema), coded=codes) as answers:
        records = answers.read_all()
    if mechanism == "auto":
        among = HIDE_AMONG if hide_among is None else hide_among
        chosen = recommend(records.schema, epsilon, len(records), hide_among=among).design
        job = run_campaign(records, epsilon, source=source, **chosen.options)
    else:
        job = run_campaign(records, epsilon, mechanism, source, **options)
    return Result(job.estimate(method), job, tuple(answers.ignored))


def _schema(given: Schema | Mapping[str, Sequence[str]] | str | Path) -> Schema:
    if isinstance(given, str | Path):
        return read_schema(Path(given))
    return given if isinstance(given, Schema) else Schema.of(given)
