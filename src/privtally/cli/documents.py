"""design, learn, refresh, show: the documents of a campaign."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from privtally.cli import options
from privtally.cli.console import announce, err, out, print_json
from privtally.cli.options import (
    EpsilonOption,
    JsonFlag,
    PhaseOption,
    RuleOption,
    check_people,
)
from privtally.errors import CampaignError
from privtally.names import HIDE_AMONG, with_effect

if TYPE_CHECKING:
    from privtally.documents.plan import Plan


def design(
    context: typer.Context,
    schema: options.SchemaArgument,
    epsilon: EpsilonOption,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="Where the plan goes.")],
    mechanism: options.ChoiceOption = "auto",
    people: Annotated[
        int | None,
        Option(metavar="N", help="How many people will be asked in all, for --mechanism auto.", callback=check_people),
    ] = None,
    hide_among: options.HideOption = str(HIDE_AMONG),
    answers: Annotated[
        int, Option(metavar="N", help="How often one person may be asked in this campaign; budgets add up.")
    ] = 1,
    groups: options.GroupsOption = None,
    pivots: options.PivotsOption = 1,
    decoys: options.DecoysOption = None,
    coarsen: options.CoarsenFlag = False,
    force: options.ForceFlag = False,
    json: JsonFlag = False,
) -> None:
    """Write the plan of the first phase: the rules by which answers become private.

    With --mechanism auto say with --people how many people will be asked in all; the choice is that of advise. Corr-rr
    copies between questions with the same answers, an alignment in the schema, or answers with an order. It has groups
    from the second phase on, like rs-rfd and cond-rr.
    """
    from privtally.cli.auto import recommended
    from privtally.cli.groups import read_groups
    from privtally.documents.plan import design
    from privtally.files import check_new, check_output, read_schema
    from privtally.mechanisms.coarsen import coarsened

    check_output(output, [schema])
    check_new(output, force=force)
    the_schema = coarsened(read_schema(schema)) if coarsen else read_schema(schema)
    if mechanism == "auto":
        options.refuse_without_effect(context, ["groups", "pivots", "decoys"], options.AUTO)
        if people is None:
            raise CampaignError("say with --people how many people will be asked, or name a --mechanism")
        among = options.read_hide_among(hide_among)
        chosen = recommended(the_schema, epsilon, people, hide_among=among).design.options
    else:
        options.refuse_without_effect(context, ["people"], f"with {mechanism} in a first plan")
        options.refuse_without_effect(context, ["hide_among"], f"with {mechanism}; --decoys says what a report shows")
        named, why = read_groups(groups, the_schema, epsilon, mechanism, pivots, decoys)
        if why:
            err.print(why, markup=False)
        chosen = {"mechanism": mechanism, "groups": named, "pivots": pivots, "decoys": decoys}
    plan = design(the_schema, epsilon, answers=answers, **chosen)
    _write_plan(plan, output, json=json)


def learn(
    context: typer.Context,
    phase: PhaseOption,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="Where the next plan goes.")],
    rule: RuleOption = "robust",
    people: Annotated[
        int | None,
        Option(metavar="N", help="How many people the second phase will ask; nine times the first's if not given."),
    ] = None,
    groups: Annotated[
        str | None,
        Option(
            metavar="A,B;C,D",
            help="Other groups of questions than the last plan's; auto chooses them.",
        ),
    ] = None,
    pivots: options.PivotsOption = 1,
    force: options.ForceFlag = False,
    json: JsonFlag = False,
) -> None:
    """Write the plan of the second phase, learned from what the first one counted.

    Only rs-rfd, corr-rr and cond-rr learn. Cond-rr answers fewer questions a report than --pivots says where the
    reports so far cannot support more, and says so. How often a report gives away which question it answers is what
    audit says.
    """
    from privtally.cli.groups import read_groups
    from privtally.collector.learn import check_learns, learn
    from privtally.files import check_new, check_output, read_history

    check_output(output, phase)
    check_new(output, force=force)
    history = read_history(phase)
    first = history[0][0]
    check_learns(first.mechanism)
    options.check_learning(context, first.mechanism)
    named, why = read_groups(groups, first.schema, first.epsilon, first.mechanism, pivots)
    if why:
        err.print(why, markup=False)
    with err.status("Learning"):
        plan = learn(
            history, people=people, groups=named, pivots=pivots, **with_effect(first.mechanism, {"rule": rule})
        )
    _write_plan(plan, output, json=json)
    if people is None and plan.learned is not None and plan.learned.people is not None:
        err.print(f"Assumed {plan.learned.people:,} people in phase {plan.phase}; say how many with --people.")


def refresh(
    plans: Annotated[list[Path], Argument(metavar="PLAN…", help="All plans of the campaign so far.")],
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="Where the plan goes.")],
    force: options.ForceFlag = False,
    json: JsonFlag = False,
) -> None:
    """Write a plan to ask again later: it asks as the campaign's first plan did."""
    from privtally.documents.campaign import refresh
    from privtally.files import check_new, check_output, read_plan

    check_output(output, plans)
    check_new(output, force=force)
    _write_plan(refresh([read_plan(path) for path in plans]), output, json=json)


def show(
    file: Annotated[Path, Argument(metavar="FILE", help="A plan, counts or an estimate.")], json: JsonFlag = False
) -> None:
    """Say in words what a plan, counts or an estimate holds."""
    from privtally.cli import words
    from privtally.files import read_document

    document = read_document(file)
    if json:
        print_json(words.summary(document))
    else:
        words.describe(document, out)


def _write_plan(plan: "Plan", output: Path, *, json: bool) -> None:
    from privtally.cli import words
    from privtally.files import write_bytes

    write_bytes(output, plan.dump())
    announce(
        output, words.summary(plan), "\n".join([f"{output}: {words.headline(plan)}", *words.learned(plan)]), json=json
    )
    for sentence in words.unmatched(plan):
        err.print(sentence, markup=False)
