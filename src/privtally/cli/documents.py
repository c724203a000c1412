"""design, learn, show: the documents of a campaign."""

from pathlib import Path
from typing import Annotated

import typer

from privtally.cli.console import beside, busy, err, out, print_json
from privtally.cli.options import (
    EpsilonOption,
    GuessOption,
    JsonFlag,
    MechanismOption,
    RuleOption,
    check_learning_options,
)
from privtally.names import MAX_PIVOT_GUESS


def design(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="A schema in .toml or .json.")],
    epsilon: EpsilonOption,
    mechanism: MechanismOption,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the plan goes.")],
    json: JsonFlag = False,
) -> None:
    """Write the first phase's plan of a campaign."""
    from privtally.cli import words
    from privtally.documents.plan import design
    from privtally.files import check_output, read_schema, write_bytes

    check_output(output, [schema])
    plan = design(read_schema(schema), epsilon, mechanism)
    write_bytes(output, plan.dump())
    out = beside(output)
    if json:
        print_json({"output": str(output), **words.summary(plan)}, out)
    else:
        out.print(f"{output}: {words.headline(plan)}")


def learn(
    context: typer.Context,
    plan: Annotated[Path, typer.Option("--plan", "-p", help="The first phase's plan.")],
    counts: Annotated[Path, typer.Option("--counts", "-c", help="The first phase's counts.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the second phase's plan goes.")],
    rule: RuleOption = "robust",
    max_pivot_guess: GuessOption = MAX_PIVOT_GUESS,
    phase2_users: Annotated[
        int | None,
        typer.Option("--phase2-users", help="How many people Phase II will ask; nine times Phase I's if not given."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Write the second phase's plan, learned from the first phase's counts."""
    from privtally.cli import words
    from privtally.collector.learn.rules import learn
    from privtally.files import check_output, read_counts, read_plan, write_bytes

    check_output(output, [plan, counts])
    first = read_plan(plan)
    check_learning_options(context, first.campaign, rule)
    with busy("Learning"):
        second = learn(
            first,
            read_counts(counts, first),
            rule=rule,
            phase2_users=phase2_users,
            max_pivot_guess=max_pivot_guess,
        )
    write_bytes(output, second.dump())
    if phase2_users is None and second.learned is not None and second.learned.phase2_users is not None:
        err.print(f"Assumed {second.learned.phase2_users:,} people in Phase II; say how many with --phase2-users.")
    out = beside(output)
    if json:
        print_json({"output": str(output), **words.summary(second)}, out)
    else:
        out.print(f"{output}: {words.headline(second)}")
        words.print_learned(second, out)


def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A plan, counts or an estimate.")],
    json: JsonFlag = False,
) -> None:
    """Say in words what a plan, counts or an estimate holds."""
    from privtally.cli import words
    from privtally.files import read_document

    document = read_document(file)
    if json:
        print_json(words.summary(document))
    else:
        words.describe(document, out)
