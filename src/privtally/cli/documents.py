"""design, learn, refresh, show: the documents of a campaign."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from privtally.cli import options
from privtally.cli.console import announce, err, out, print_json
from privtally.cli.options import (
    BoundOption,
    EpsilonOption,
    GuessOption,
    JsonFlag,
    ObserverOption,
    PhaseOption,
    RuleOption,
    check_people,
)
from privtally.errors import CampaignError
from privtally.names import MAX_PIVOT_GUESS, with_effect

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
    max_pivot_guess: GuessOption = MAX_PIVOT_GUESS,
    answers: Annotated[
        int, Option(metavar="N", help="How often one person may be asked in this campaign; budgets add up.")
    ] = 1,
    groups: options.GroupsOption = None,
    pivots: options.PivotsOption = 1,
    coarsen: options.CoarsenFlag = False,
    force: options.ForceFlag = False,
    json: JsonFlag = False,
) -> None:
    """Write the plan of the first phase: the rules by which answers become private.

    With --mechanism auto say with --people how many people will be asked in all; the choice is that of advise. Corr-rr
    needs questions with the same answers, an alignment in the schema, or answers with an order. It has groups from the
    second phase on, like rs-rfd and cond-rr.
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
        options.refuse_without_effect(context, ["groups", "pivots"], options.AUTO)
        if people is None:
            raise CampaignError("say with --people how many people will be asked, or name a --mechanism")
        found = recommended(the_schema, epsilon, people, max_pivot_guess)
        chosen = found.options
        if found.phase1_share is not None and max_pivot_guess != MAX_PIVOT_GUESS:
            err.print(
                f"Give `learn` the same --max-pivot-guess {max_pivot_guess:g}: the second phase keeps to it there."
            )
    else:
        options.refuse_without_effect(context, ["people", "max_pivot_guess"], f"with {mechanism} in a first plan")
        named, why = read_groups(groups, the_schema, epsilon, mechanism, pivots)
        if why:
            err.print(why, markup=False)
        chosen = {"mechanism": mechanism, "groups": named, "pivots": pivots}
    plan = design(the_schema, epsilon, answers=answers, **chosen)
    _write_plan(plan, output, json=json)


def learn(
    context: typer.Context,
    phase: PhaseOption,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="Where the next plan goes.")],
    rule: RuleOption = "robust",
    max_pivot_guess: BoundOption = None,
    observer: ObserverOption = "knows-nothing",
    people: Annotated[
        int | None,
        Option(metavar="N", help="How many people the second phase will ask; nine times the first's if not given."),
    ] = None,
    groups: Annotated[
        str | None,
        Option(
            metavar="A,B;C,D",
            help="Other groups of questions than the last plan's; auto chooses them from the reports.",
        ),
    ] = None,
    pivots: options.PivotsOption = 1,
    force: options.ForceFlag = False,
    json: JsonFlag = False,
) -> None:
    """Write the plan of the second phase, learned from what the first one counted.

    Only rs-rfd, corr-rr and cond-rr learn. The plan keeps to --max-pivot-guess with the rule robust; the rules
    proposition and published have no bound. Cond-rr answers fewer questions a report than --pivots says where the
    reports so far cannot support more, and says so.
    """
    from privtally.cli.groups import after_phase1, named_groups, print_after_phase1
    from privtally.collector.learn import check_learns, compare_groups, learn
    from privtally.files import check_new, check_output, read_history

    check_output(output, phase)
    check_new(output, force=force)
    history = read_history(phase)
    check_learns(history[0][0].mechanism)
    options.check_learning(context, history[0][0].mechanism, rule, ["people"] if groups == "auto" else ())
    schema, considered = history[0][0].schema, {}
    named = None if groups in (None, "auto") else named_groups(groups or "", schema)
    with err.status("Learning"):
        wanted: Any = {"rule": rule, "max_pivot_guess": max_pivot_guess, "observer": observer}
        wanted = {"people": people, **with_effect(history[0][0].mechanism, rule, wanted)}
        if groups == "auto":
            if pivots > 1:
                raise CampaignError(
                    "--groups auto chooses for one question a report; name the groups, or leave --pivots out"
                )
            considered = after_phase1(compare_groups(history, **wanted), schema.names)
            named = considered["chosen"]["groups"]
        plan = learn(history, groups=named, pivots=pivots, **wanted)
    _write_plan(plan, output, json=json, considered=considered)
    if considered:
        print_after_phase1(considered)
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


def _write_plan(plan: "Plan", output: Path, *, json: bool, considered: Mapping[str, Any] | None = None) -> None:
    from privtally.cli import words
    from privtally.files import write_bytes

    write_bytes(output, plan.dump())
    facts = words.summary(plan) | ({"considered": considered} if considered else {})
    announce(output, facts, "\n".join([f"{output}: {words.headline(plan)}", *words.learned(plan)]), json=json)
