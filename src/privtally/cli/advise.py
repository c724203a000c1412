"""compare, advise, reproduce: which mechanism to choose, by simulation, in closed form, and on the paper's data."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from privtally.cli import options
from privtally.cli.console import (
    announce,
    complete_list,
    err,
    not_among,
    out,
    print_json,
    progress,
    read_answers,
    write_picture,
)
from privtally.errors import CampaignError, DocumentError, PrivtallyError
from privtally.names import HIDE_AMONG, MECHANISMS, METHODS, RULES, HideAmong, MechanismName, plain_name

if TYPE_CHECKING:
    from privtally.documents.campaign import Asking
    from privtally.lab.advise import Advice, Question
    from privtally.lab.compare import Score, Study
    from privtally.lab.paper.experiments import Conventions
    from privtally.schema import Records, Schema


METHODS_HELP = (
    "Methods, separated by commas: likelihood, unbiased, paper; +simplex after the last two makes their shares add up "
    "to 100 % with none below 0."
)


def compare(
    data: options.DataArgument,
    schema: options.FoundSchemaOption = None,
    epsilon: Annotated[
        str, Option("--epsilon", "-e", metavar="NUMBERS", help="One budget, or several separated by commas.")
    ] = "1",
    phase1_share: options.ShareOption = 0.1,
    people: Annotated[
        int | None,
        Option(
            metavar="N", help="Ask so many people, drawn from the data with replacement.", callback=options.check_people
        ),
    ] = None,
    groups: Annotated[
        str | None,
        Option(metavar="A,B;C,D", help="Compare in these groups as well; auto chooses them for each mechanism."),
    ] = None,
    pivots: Annotated[
        int,
        Option(metavar="N", help="Compare smp with so many questions a report as well.", callback=options.within(1, 3)),
    ] = 1,
    hide_among: options.HideOption = str(HIDE_AMONG),
    runs: options.RunsOption = 200,
    mechanisms: Annotated[
        str | None,
        Option(
            metavar="NAMES",
            help="Mechanisms (how answers become private), separated by commas; all that fit if not given.",
            autocompletion=complete_list(MECHANISMS),
        ),
    ] = None,
    methods: Annotated[
        str | None, Option(metavar="NAMES", help=METHODS_HELP, autocompletion=complete_list(METHODS))
    ] = None,
    seed: options.SeedOption = 1,
    workers: options.WorkersOption = 0,
    plot: options.PlotOption = None,
    every: Annotated[bool, Option("--all", help="Show every method, not only the best of each mechanism.")] = False,
    json: options.JsonFlag = False,
) -> None:
    """Compare all mechanisms and methods by simulation, on public or pilot data of your own.

    Every way to ask is simulated --runs times with this program's own estimators, and so is the one that advise
    recommends with --hide-among, unless mechanisms are named. The answer is the best method of each way to ask, as 1.96
    times its error in percentage points; --all shows all methods.
    """
    from privtally.cli.render import print_comparison
    from privtally.documents.plan import design
    from privtally.files import read_schema
    from privtally.lab import compare as lab
    from privtally.lab.advise import recommend

    if every and json:
        raise CampaignError("--all has no effect with --json, which shows everything; leave it out")
    try:
        budgets = list(dict.fromkeys(map(float, epsilon.split(","))))
    except ValueError:
        raise CampaignError(f"--epsilon must be a number, or numbers separated by commas, got {epsilon!r}") from None
    for budget in budgets:
        options.check_budget(budget)
    the_methods = _chosen("--methods", methods, lab.ALL_METHODS)
    wanted = _chosen("--mechanisms", mechanisms, MECHANISMS, plain_name)
    among = options.read_hide_among(hide_among)
    the_schema = read_schema(schema or options.find_schema(data))
    named = None
    if groups not in (None, "auto"):
        named = tuple(map(tuple, options.named_groups(groups or "", the_schema)))
        design(the_schema, budgets[0], "smp", groups=named)  # takes any groups, and refuses names that are none
    study = lab.Study(read_answers(data, the_schema), phase1_share, runs, seed, people)
    the_mechanisms = possible([study], wanted, budgets[0], named=mechanisms is not None)
    chosen = []
    for budget in budgets:
        ways = []
        for variant in (variant for variant in lab.variants(the_mechanisms) if lab.fits(variant, the_schema)):
            members = lab.chosen_groups(the_schema, budget, variant.mechanism) if groups == "auto" else named
            ways += [variant, *lab.extended(the_schema, budget, variant, members, pivots)]
        if mechanisms is None:
            ways.append(recommend(the_schema, budget, study.people, hide_among=among).design)
        chosen += [(way, budget) for way in dict.fromkeys(ways)]
    with progress("Comparing", len(chosen)) as advance:
        cores = workers or os.cpu_count() or 1
        rows = lab.compare_studies([study], chosen, the_methods, workers=cores, advance=advance)
    if plot is not None:
        write_picture(lab.Comparison(rows, study.people, runs).plot(), plot)
    for mechanism in dict.fromkeys(row.asking.mechanism for row in rows if row.without_answer):
        err.print(
            f"In some runs of {mechanism} nothing could be estimated; there all answers count as equally frequent."
        )
    if json:
        print_json([row.body() for row in rows])
    else:
        print_comparison(rows, study.people, runs, every=every)


def possible(
    studies: "Sequence[Study]", wanted: Sequence[str], epsilon: float, *, named: bool = False
) -> list[MechanismName]:
    """Those of the wanted mechanisms that can ask these people these questions; says which cannot, or refuses one that
    was named.
    """
    from privtally.lab.compare import check_possible

    mechanisms: list[MechanismName] = []
    for mechanism in (mechanism for mechanism in MECHANISMS if mechanism in wanted):
        try:
            for study in studies:
                check_possible(study, mechanism, epsilon)
            mechanisms.append(mechanism)
        except PrivtallyError as refusal:
            if named:
                raise
            err.print(f"Left out {mechanism}: {refusal}.")
    if not mechanisms:
        raise CampaignError("no mechanism can ask these people these questions; ask more people, or merge answers")
    return mechanisms


def _chosen(
    option: str, words: str | None, known: tuple[str, ...], plain: Callable[[str], str] = str.strip
) -> list[str]:
    """The names in a list separated by commas, as the program writes them; all that are known if there is none."""
    chosen = list(known) if words is None else list(dict.fromkeys(plain(word) for word in words.split(",")))
    for word in chosen:
        if word not in known:
            raise CampaignError(not_among(option, word, known))
    return chosen


USELESS = 40.0
"""With ± so many percentage points a share could be nearly anything."""
RUNS, SEED, DRAWN = 4, 1, 5_000
"""How often --all simulates every way to ask, from which seed, and how many different people stand for a population."""
PHASE1_SHARE = 0.1


def advise(
    context: typer.Context,
    schema: Annotated[
        Path,
        Argument(metavar="SCHEMA", help="The questions: a schema in .toml or .json, or 4x3 for four of three answers."),
    ],
    people: Annotated[
        int, Option(metavar="N", help="How many people will be asked.", callback=options.check_people)
    ] = 2_000,
    epsilon: options.EpsilonOption = 1.0,
    hide_among: options.HideOption = str(HIDE_AMONG),
    pairs: Annotated[
        bool, Option("--pairs", help="Expect the error of two-way tables: which answers go together.")
    ] = False,
    within: Annotated[
        float | None,
        Option(metavar="POINTS", help="Also say how many people, or which budget, ± so many percentage points take."),
    ] = None,
    plot: Annotated[
        Path | None,
        Option(
            metavar="FILE", help="Also draw ± against the budget to a .png or .svg file.", callback=options.check_plot
        ),
    ] = None,
    every: Annotated[
        bool, Option("--all", help="Also simulate every other way to ask, with two phases too; takes a minute.")
    ] = False,
    pilot: Annotated[
        Path | None,
        Option(metavar="DATA", help="A file of answers like those expected, for --all; if not given, three kinds."),
    ] = None,
    json: options.JsonFlag = False,
) -> None:
    """Recommend how to ask before anybody is asked, and say ± how many percentage points to expect.

    The recommendation is computed, not simulated. Of the ways to ask in one phase that hide the question as well as
    --hide-among says, it is the one with the smallest error if all answers are equally frequent.
    """
    from privtally.cli import render
    from privtally.files import read_schema
    from privtally.lab import advise as lab
    from privtally.plots.comparison import draw_advice

    question = lab.Question(people, epsilon, options.read_hide_among(hide_among), pairs)
    if within is not None and not 0 < within <= 100:
        raise CampaignError(f"--within must be above 0 and at most 100 percentage points, got {within}")
    if pilot is not None and not every:
        raise CampaignError("--pilot has no effect without --all, which simulates; leave it out, or add --all")
    if pairs:
        options.refuse_without_effect(context, ["hide_among"], "with --pairs: a report says which questions it answers")
    if every and pairs:
        raise CampaignError("--all has no effect with --pairs: two-way tables are not simulated; leave it out")
    the_schema = (None if schema.exists() else lab.shape(str(schema))) or read_schema(schema)
    chosen, said = (lab.best(the_schema, asked) for asked in (question, replace(question, hide_among=1)))
    sentences = list(_sentences(the_schema, question, chosen, said))
    result: dict[str, Any] = {
        "recommendation": " ".join(sentences),
        **chosen.body(),
        "method": "unbiased" if pairs else METHODS[0],
        "goal": "pairs" if pairs else "frequencies",
        "hide_among": question.hide_among,
        "if_said": said.body(),
    }
    if within is not None:
        needed, budget = (find(the_schema, question, within) for find in (lab.people_for, lab.budget_for))
        result["wanted"] = {"percentage_points": within, "people": needed, "epsilon": budget}
    if plot is not None:
        write_picture(draw_advice(lab.by_budget(the_schema, question)), plot)
    rows = []
    if every:
        rows = _simulated(the_schema, question, None if pilot is None else read_answers(pilot, the_schema))
        result["simulated"] = [row.body() for row in rows]
    if json:
        print_json(result)
        return
    for sentence in (*sentences, render.surer(epsilon)):
        out.print(sentence)
    if within is not None:
        out.print(_say_needed(question, result["wanted"]))
    if every:
        render.print_comparison(rows, people, RUNS, every=False)
    elif not pairs:
        more = "; --within 5 says how many people ± 5 points take" if within is None else ""
        out.print(f"--all simulates every other way to ask{more}.")


def _sentences(schema: "Schema", question: "Question", chosen: "Advice", said: "Advice") -> Iterator[str]:
    from privtally.cli import render
    from privtally.lab.advise import about_hiding, layout, recommend

    what = "a cell of a two-way table" if question.pairs else "the share of an answer"
    asked = f"with {question.people:,} people at ε = {question.epsilon:g}"
    yield f"Run {layout(chosen.design)}: expect {render.points(chosen.points)} for {what}, {asked}."
    if chosen.points > USELESS:
        yield "That says nothing: ask more people, spend a larger ε, or ask less."
    yield _shown(schema, chosen.design) + render.if_said(chosen, said) + "."
    if chosen.single is not None:
        alone = recommend(schema, question.epsilon, question.people, hide_among=1)
        yield (
            f"For the share of an answer to a single question expect {render.points(chosen.single.points)}; "
            f"± {render.number(alone.points)} if nobody were asked two ({layout(alone.design)})."
        )
    fewer = about_hiding(schema, question.hide_among, chosen.design)
    if fewer and not question.pairs:
        yield fewer


def _shown(schema: "Schema", design: "Asking") -> str:
    """What a report shows, and who can tell what was used."""
    if design.mechanism == "spl":
        return "Every report answers every question, so that there is none to guess"
    if design.mechanism == "pairs":
        return "Every report says which two questions it answers; the answers themselves stay private"
    if design.mechanism == "smp":
        return "Every report says which question was really used; the answer itself stays private"
    groups = design.groups or [schema.names]
    least = min(len(group) for group in groups if len(group) > 1)
    among = least if design.decoys is None else min(least, design.decoys + 1)
    group = " of each group" if len(groups) > 1 else ""
    return f"A report shows {among} questions{group}; one of them was really used, and nothing in it says which"


def _simulated(schema: "Schema", question: "Question", pilot: "Records | None") -> "list[Score]":
    """Every mechanism, and what is recommended with more and less hiding, simulated on pilot data or on populations of
    all kinds.
    """
    import numpy as np

    from privtally.lab.advise import best
    from privtally.lab.compare import Study, compare_studies, variants
    from privtally.lab.population import stated_populations

    known = [pilot] if pilot else stated_populations(schema, DRAWN, np.random.default_rng(SEED)).values()
    studies = [Study(records, PHASE1_SHARE, RUNS, SEED, question.people) for records in known]
    hiding: list[HideAmong] = [1, question.hide_among, "all"]
    ways = [best(schema, replace(question, hide_among=among)).design for among in hiding]
    mechanisms = possible(studies, MECHANISMS, question.epsilon)
    ways += [variant for variant in variants(mechanisms) if variant.learning.rule in (None, RULES[0])]
    chosen = [(variant, question.epsilon) for variant in dict.fromkeys(ways)]
    with progress("Simulating", len(chosen) * len(studies)) as advance:
        return compare_studies(studies, chosen, METHODS[:1], workers=os.cpu_count() or 1, advance=advance)


def _say_needed(question: "Question", wanted: dict[str, Any]) -> str:
    from privtally.documents.plan import LARGEST_EPSILON
    from privtally.lab.advise import MOST_PEOPLE

    people, epsilon = wanted["people"], wanted["epsilon"]
    asked = f"more than {MOST_PEOPLE:,}" if people is None else f"about {people:,}"
    budget = f"more than ε = {LARGEST_EPSILON:g}" if epsilon is None else f"ε = {epsilon:g}"
    return (
        f"± {wanted['percentage_points']:g} points take {asked} {'person' if people == 1 else 'people'} "
        f"at ε = {question.epsilon:g}, or {budget} with {question.people:,} people."
    )


def reproduce(
    ids: Annotated[
        list[str] | None, Argument(metavar="ID…", help="Figures and tables, such as fig_3a or table_6; all if none.")
    ] = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="DIR", help="A directory for pictures, CSV files and results.json."),
    ] = None,
    runs: options.RunsOption = 100,
    seed: options.SeedOption = 1,
    data_dir: Annotated[
        Path | None,
        Option(metavar="DIR", help="Where the UCI files are; else PRIVTALLY_DATA_DIR, else they are downloaded."),
    ] = None,
    as_written: Annotated[
        bool, Option("--as-written", help="Follow the paper's text where the published numbers do not.")
    ] = False,
    workers: options.WorkersOption = 0,
    json: options.JsonFlag = False,
) -> None:
    """Repeat the paper's experiments and lay its published numbers beside ours.

    An id such as fig_3 stands for all its panels. The seed alone decides every number.
    """
    from privtally.files import unwritable
    from privtally.lab.paper import experiments as lab
    from privtally.lab.paper.data import data_directory
    from privtally.lab.paper.output import make_other, write_other, write_results
    from privtally.plots import estimate as picture

    conventions: Conventions = "as-written" if as_written else "published"
    directory = data_directory(data_dir)
    chosen = lab.choose_ids(ids or [])
    if not ids:
        chosen = _without_missing_data(chosen, directory)
    if not picture.available():
        err.print(f"No pictures: {picture.HOW_TO_INSTALL}.")
    output = output or Path("reproduction-as-written" if as_written else "reproduction")
    try:
        output.mkdir(exist_ok=True)
    except OSError as fault:
        raise DocumentError(unwritable(output, fault)) from None
    with progress("Simulating", lab.point_count(chosen)) as advance:
        how = {"runs": runs, "seed": seed, "workers": workers or os.cpu_count() or 1}
        results = lab.reproduce(chosen, conventions, directory=directory, advance=advance, **how)
    others = [name for name in chosen if name in lab.OTHER_IDS]
    with progress("Drawing", len(chosen)) as advance:
        for done, name in enumerate(others, start=1):
            write_other(name, make_other(name, conventions, directory, draw=picture.available()), output)
            advance(done)
        write_results(results, conventions, output, draw=picture.available())
    summary = lab.root_mean_square_z(results)
    lines = [f"{output}: {len(results):,} results of {runs} runs each, conventions: {conventions}."]
    for kind, by_method in summary.items():
        values = ", ".join(f"{method} {value:.2f}" for method, value in by_method.items())
        lines.append(f"Published {kind} against ours, root-mean-square z: {values}.")
    facts = {"conventions": conventions, "results": len(results), "root_mean_square_z": summary}
    announce(output, facts, "\n".join(lines), json=json)


def _without_missing_data(ids: list[str], directory: Path | None) -> list[str]:
    """All ids but those that need data which is not to be had here; says so."""
    from privtally.lab.paper.data import load_dataset
    from privtally.lab.paper.experiments import REAL, needs_data

    try:
        for name, _ in REAL.values():
            load_dataset(name, directory)
    except DocumentError as absence:
        if directory is not None:
            raise
        left_out = [name for name in ids if needs_data(name)]
        err.print(f"Left out {', '.join(left_out)}: {absence}.")
        return [name for name in ids if name not in left_out]
    return ids
