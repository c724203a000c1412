"""run: from a table of answers to estimates in one call, for data that is all at hand; design: the plan of others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import msgspec
import numpy as np

from privtally.collector.estimate import estimate
from privtally.collector.learn import learn_with
from privtally.collector.pairs import PairEstimate, estimate_pair
from privtally.collector.synthetic import synthetic
from privtally.collector.tally import count
from privtally.documents.campaign import USUAL_LEARNING, Asking, AskingOptions, History, Learning, drive
from privtally.documents.counts import Counts
from privtally.documents.estimate import Estimate, Library, Shares
from privtally.documents.plan import Plan, Priors, check_epsilon, mechanism_named
from privtally.documents.plan import design as design_plan
from privtally.documents.report import Reports
from privtally.errors import CampaignError, naming_arguments
from privtally.exact.randomness import Source, Stream
from privtally.files import Advance, silently, write_bytes, write_whole
from privtally.lab.advise import Advice, recommend, shape
from privtally.lab.simulate import Own, OwnMechanism, own_frequencies, own_mechanism
from privtally.names import HIDE_AMONG, HideAmong, MechanismName, Method, plain_name
from privtally.participant.respond import respond_many
from privtally.plots import estimate as picture
from privtally.plots import html
from privtally.plots import pair as heat_map
from privtally.schema import Records
from privtally.tables.frames import Declared, Native, library_of, records_of, reports_frame, schema_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class JobPhase:
    """One phase: its plan, the reports to it, and their counts."""

    plan: Plan
    reports: Reports
    counts: Counts


@dataclass(frozen=True)
class Job:
    """A finished campaign."""

    phases: Sequence[JobPhase]

    def estimate(self, method: Method) -> Estimate:
        """What all phases together say."""
        return estimate([(phase.plan, phase.counts) for phase in self.phases], method)


def run_campaign(
    first: Plan, records: Records, learning: Learning = USUAL_LEARNING, source: Source | None = None
) -> Job:
    """Privatise, tally and learn, from the first plan to the last.

    Where the mechanism learns, a random share of the people is Phase I, as `learning` says, and all others are Phase
    II. What the mechanism does not use is refused.
    """
    learning.check(first.name, priors=first.has_priors)
    source = source or Stream.from_system()
    phases = [records]
    if first.learns:
        people = learning.phase1_people(len(records))
        order = np.argsort(source.words(len(records)), kind="stable")
        phases = [Records(records.schema, records.codes[np.sort(rows)]) for rows in (order[:people], order[people:])]
        learning = msgspec.structs.replace(learning, people=len(phases[1]))
    reports: list[Reports] = []

    def collect(plan: Plan) -> Counts:
        reports.append(respond_many(plan, phases[plan.phase - 1], source))
        return count(plan, reports[-1].codes)

    history = drive(first, collect, partial(learn_with, learning))
    return Job([JobPhase(plan, own, counts) for (plan, counts), own in zip(history, reports, strict=True)])


def write_job(job: Job, result: Estimate, directory: Path, advance: Advance = silently) -> None:
    """Leave every document of a job in a directory; `advance` hears how many reports are written."""
    done = 0
    for phase in job.phases:
        number = phase.plan.phase
        write_bytes(directory / f"plan-{number}.json", phase.plan.dump())
        write_bytes(directory / f"counts-{number}.json", phase.counts.dump())
        with write_whole(directory / f"reports-{number}.ndjson") as file:
            # In the order of their random ids, which says nothing about the order of the rows.
            file.writelines(sorted(phase.reports.lines()))
        done += len(phase.reports)
        advance(done)
    write_bytes(directory / "estimate.json", result.dump())
    write_bytes(directory / "estimate.csv", result.to_csv())


class DesignOptions(TypedDict, total=False):
    """What `design` lets one choose beside the mechanism."""

    answers: int
    groups: Sequence[Sequence[str]] | None
    pivots: int
    decoys: int | None
    together: int | None
    single: float | None
    pairs_of: Sequence[Sequence[str]] | None
    priors: Priors | None
    source: Source | None


class Pair(PairEstimate, frozen=True):
    """A two-way table that draws itself."""

    def plot(self, path: str | Path | None = None, *, top: int = picture.MOST_LABELS) -> "Figure":
        """A picture: the darker the more frequent two labels are together; written to a .png or .svg file if named."""
        picture.check_drawing(path)
        return picture.written(heat_map.draw(self, top=top), path)


@dataclass(frozen=True, repr=False)
class Result:
    """What was learned, and how: `result["smokes"]["yes"]` is a share. A notebook shows it as a table with bars."""

    estimate: Estimate
    job: Job
    """Every plan with the private reports to it and their counts."""
    ignored: tuple[str, ...]
    """The columns that the schema does not name."""
    library: Library | None = None
    """Of which library frames are; whichever is installed if None."""

    def __getitem__(self, name: str) -> Shares:
        """The share of every label of an attribute, with the ends of its 95 % interval in `low` and `high`."""
        return self.estimate[name]

    def pair(self, first: str, second: str) -> Pair:
        """The two-way table of two attributes, where reports carry both answers."""
        return Pair(*msgspec.structs.astuple(estimate_pair(self._history, first, second)))

    def synthetic(self, rows: int, *, keep: Sequence[Sequence[str]] = (), source: Source | None = None) -> Native:
        """Made-up people with the estimate's shares and two-way tables: a frame as the data, or lists by question."""
        made = synthetic(self._history, rows, source or Stream.from_system(), keep=keep)
        return made.columns() if self.library is None else made.to_frame(self.library)

    @property
    def _history(self) -> History:
        return [(phase.plan, phase.counts) for phase in self.job.phases]

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plan of every phase."""
        return tuple(phase.plan for phase in self.job.phases)

    @property
    def plan(self) -> Plan:
        """The first plan, whose digest is the campaign's id."""
        return self.plans[0]

    @property
    def counts(self) -> tuple[Counts, ...]:
        """The counts of every phase."""
        return tuple(phase.counts for phase in self.job.phases)

    @property
    def reports(self) -> Native:
        """The private reports as a frame: id, and the code of every question by its name, null where it was not asked;
        with several phases also plan, the digest of the plan that a report answers.
        """
        return reports_frame([phase.reports for phase in self.job.phases], self.library)

    @property
    def mechanism(self) -> MechanismName:
        """The name of the mechanism."""
        return self.plan.name

    @property
    def epsilon(self) -> float:
        """The privacy budget of every participant."""
        return self.plan.epsilon

    def to_frame(self) -> Native:
        """A row for each label, in a frame of the library that the data came in: attribute, label, frequency,
        standard_error, low_95, high_95, among.
        """
        return self.estimate.to_frame(self.library)

    def to_pandas(self) -> Any:
        """The same in pandas."""
        return self.estimate.to_pandas()

    def to_polars(self) -> Any:
        """The same in Polars."""
        return self.estimate.to_polars()

    def to_arrow(self) -> Any:
        """The same in PyArrow."""
        return self.estimate.to_arrow()

    def to_dict(self) -> dict[str, dict[str, float]]:
        """The share of every label, by attribute and label."""
        return self.estimate.to_dict()

    def to_csv(self, path: str | Path) -> None:
        """Write the same table as CSV."""
        write_bytes(Path(path), self.estimate.to_csv())

    def plot(self, path: str | Path | None = None, *, top: int = picture.MOST_LABELS) -> "Figure":
        """A picture: one panel for each attribute, with its `top` most frequent labels; written to a .png or .svg file
        if one is named. Needs the extra `plot`.
        """
        picture.check_drawing(path)
        return picture.written(picture.draw(self.estimate, top=top), path)

    def __repr__(self) -> str:
        return repr(self.estimate)

    def _repr_html_(self) -> str:
        return html.table(self.estimate)


def _check_choices(mechanism: str, options: Iterable[str], hide_among: HideAmong | None) -> None:
    """Refuse what a mechanism does not use."""
    auto = plain_name(mechanism) == "auto"
    if auto and (taken := ", ".join(options)):
        raise CampaignError(f"{taken}: the mechanism auto chooses this itself; name a mechanism, or leave it")
    if not auto and hide_among is not None:
        pairs = plain_name(mechanism) == "pairs"
        shows = "a report says which questions it answers" if pairs else "decoys says what a report shows"
        raise CampaignError(f"hide_among has no effect with {mechanism}; {shows}")


@naming_arguments
def design(
    schema: Declared,
    epsilon: float = 1.0,
    mechanism: str = "auto",
    *,
    hide_among: HideAmong | None = None,
    **options: Unpack[DesignOptions],
) -> Plan:
    """The first plan of a new campaign: the rules by which answers become private.

    The schema is what `run` takes. The mechanism is the one that `advise` recommends, the question that is used being
    hidden among 2 unless `hide_among` says otherwise. A mechanism that is stated may have `groups` of attributes by
    name, several `pivots`, which a report really answers, and `decoys`, made-up answers shown beside them. The
    mechanism pairs asks questions together: 2 unless `together` says 3, all sets of questions unless `pairs_of` names
    some, and a share of the people, `single`, one question instead. With `priors`, the share of every label of every
    attribute or an earlier estimate, rs-rfd has one phase. One person may answer the campaign once, or so many times as
    `answers` says.
    """
    the_schema = schema_of(schema)
    check_epsilon(epsilon)
    _check_choices(mechanism, (name for name in options if name not in ("answers", "source")), hide_among)
    if plain_name(mechanism) != "auto":
        return design_plan(the_schema, epsilon, mechanism_named(mechanism), **options)
    chosen = recommend(the_schema, epsilon, 1, hide_among=HIDE_AMONG if hide_among is None else hide_among).design
    return design_plan(the_schema, epsilon, **{**options, **chosen.options})


@naming_arguments
def advise(
    schema: Declared,
    epsilon: float = 1.0,
    people: int = 2_000,
    *,
    hide_among: HideAmong = HIDE_AMONG,
    pairs: bool = False,
) -> Advice:
    """Which way to ask so many people has the smallest error, and ± how many percentage points to expect of it.

    The schema is what `run` takes, or a shape: "4x4" is four questions of four answers. With `pairs` the error is that
    of two-way tables.
    """
    known = shape(schema) if isinstance(schema, str) else None
    return recommend(known or schema_of(schema), epsilon, people, hide_among=hide_among, pairs=pairs)


@overload
def run(
    data: Native | str | Path | Records,
    schema: Declared | None = None,
    epsilon: float = 1.0,
    *,
    mechanism: str | Plan = "auto",
    method: Method = "likelihood",
    hide_among: HideAmong | None = None,
    codes: bool = False,
    source: Source | None = None,
    **options: Unpack[AskingOptions],
) -> Result: ...


@overload
def run(
    data: Native | str | Path | Records,
    schema: Declared | None = None,
    epsilon: float = 1.0,
    *,
    mechanism: Own,
    codes: bool = False,
    source: Source | None = None,
) -> Result | dict[str, dict[str, float]]: ...


@naming_arguments
def run(
    data: Native | str | Path | Records,
    schema: Declared | None = None,
    epsilon: float = 1.0,
    *,
    mechanism: str | Own = "auto",
    method: Method = "likelihood",
    hide_among: HideAmong | None = None,
    codes: bool = False,
    source: Source | None = None,
    **options: Unpack[AskingOptions],
) -> Result | dict[str, dict[str, float]]:
    """Privatise, count and estimate, every phase of a campaign at once.

    The data is a frame (pandas, Polars, PyArrow, DuckDB, PySpark), the path of a file, a directory or a pattern, or
    records of the schema. The schema is a `Schema`, the path of one, or a mapping of attributes to their labels; a
    frame all of whose columns are Enums needs none. The mechanism is the one that `advise` names for so many people,
    the question that is used being hidden among 2 unless `hide_among` says otherwise. A mechanism that is named has
    other options instead: `groups`, `pivots` and `decoys`, and where it learns `phase1_share`, `later_groups` and
    `rule`; rs-rfd learns nothing from people who have `priors`. What it does not use is refused.
    A mechanism of one's own is a plan, or an object as `OwnMechanism` describes it, of which the shares by attribute
    and label are all there is to return; or a function of a schema and ε that makes one of these.
    Randomness is the operating system's unless there is a source.
    """
    the_schema, source = schema_of(schema, data), source or Stream.from_system()
    check_epsilon(epsilon)
    _check_choices(mechanism if isinstance(mechanism, str) else "a mechanism of one's own", options, hide_among)
    first, learning = None, USUAL_LEARNING
    if not isinstance(mechanism, str):
        stated = own_mechanism(mechanism, the_schema, epsilon)
        if options:
            raise CampaignError(f"{', '.join(options)}: a mechanism of one's own decides this itself; leave it out")
        if not isinstance(stated, Plan):
            return _shares(stated, records_of(data, the_schema, source, codes=codes)[0], source)
        first = stated
    elif plain_name(mechanism) != "auto":
        asking = Asking.of(mechanism, **options)
        first, learning = asking.first_plan(the_schema, epsilon, source=source), asking.learning
    records, ignored = records_of(data, the_schema, source, codes=codes)
    if first is None:
        among = HIDE_AMONG if hide_among is None else hide_among
        chosen = recommend(the_schema, epsilon, len(records), hide_among=among).design
        first = chosen.first_plan(the_schema, epsilon, source=source)
    job = run_campaign(first, records, learning, source)
    return Result(job.estimate(method), job, ignored, library_of(data))


def _shares(mechanism: OwnMechanism, records: Records, source: Source) -> dict[str, dict[str, float]]:
    """What a mechanism of one's own estimates, by attribute and label."""
    pairs = zip(records.schema.attributes, own_frequencies(mechanism, records, source), strict=True)
    return {attribute.name: dict(zip(attribute.labels, shares.tolist(), strict=True)) for attribute, shares in pairs}
