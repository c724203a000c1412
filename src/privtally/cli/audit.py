"""audit, verify: what taking part gives away, and whether a certificate of it is true."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from privtally.cli.console import beside, err, out, print_json
from privtally.cli.options import JsonFlag
from privtally.errors import DocumentError

if TYPE_CHECKING:
    from rich.console import Console


def audit(
    plans: Annotated[list[Path], Argument(metavar="PLAN…", help="One plan, or the plans that one person answers.")],
    frequencies: Annotated[
        Path | None,
        Option(metavar="FILE", help="An estimate that the observer knows; if not given, nothing."),
    ] = None,
    certificate: Annotated[
        Path | None, Option(metavar="FILE", help="Also write a certificate of one plan here.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Say exactly what a report gives away about the person who sent it.

    The figures follow from the integer weights that draw reports, not from formulas. Several plans are those that one
    person answers: their budgets add up. Plans too large to enumerate get a bound, which is called so.
    """
    from privtally.documents.estimate import load_estimate
    from privtally.files import MOST_TABLE_BYTES, check_output, read, read_plan, write_bytes
    from privtally.privacy.audit import audit_campaign
    from privtally.privacy.loss import certify, dump_certificate

    if certificate is not None and len(plans) > 1:
        raise DocumentError("--certificate takes one plan at a time; name one")
    check_output(certificate, [*plans, *([] if frequencies is None else [frequencies])])
    the_plans = [read_plan(path) for path in plans]
    known = None
    if frequencies is not None:
        attributes = read(frequencies, load_estimate, MOST_TABLE_BYTES).attributes
        known = {name: attribute.frequencies for name, attribute in attributes.items()}
    with err.status("Auditing"):
        result = audit_campaign(the_plans, known)
        if certificate is not None:
            write_bytes(certificate, dump_certificate(certify(the_plans[0])))
            err.print(f"Written: {certificate}")
    out = beside(certificate)
    if json:
        print_json(result, out)
        return
    for part in result.get("plans", [result]):
        _print_plan(part, out)
    if "plans" in result:
        total = f"ε = {result['epsilon']:g} promised, {result['realised']} realised"
        out.print(f"Whoever answers all {len(the_plans)} plans gives away at most the sum: {total}.")


def verify(
    plan: Annotated[Path, Argument(metavar="PLAN", help="A plan.")],
    certificate: Annotated[Path, Argument(metavar="CERTIFICATE", help="Its certificate.")],
) -> None:
    """Check a certificate against its plan, with other code than made it.

    A certificate that is not true ends with exit code 2 and the reason.
    """
    from privtally.exact import canonical
    from privtally.files import naming, read_bytes
    from privtally.privacy.verify import verify

    documents = {path: read_bytes(path) for path in (plan, certificate)}
    with naming(plan):
        given = canonical.decode_object(documents[plan], DocumentError, "the plan").get("format")
    if given == "privtally.certificate/1":
        raise DocumentError(f"{plan} is a certificate; swap the arguments: the plan comes first")
    verify(documents[plan], documents[certificate])
    out.print(f"{certificate} is true of {plan}.")


def _print_plan(part: dict[str, Any], out: "Console") -> None:
    from rich.table import Table

    from privtally.cli import render

    kind = "exactly" if part["exact"] else "at most (a bound from the structure; too large to enumerate)"
    out.print(render.surer(part["epsilon"]))
    out.print(f"Plan {part['plan'][:12]}…, {part['mechanism']}, phase {part['phase']}")
    out.print(f"Between any two records: ε = {part['epsilon']:g} promised, {kind} {part['realised']} realised.")
    if part["answers"] > 1:
        often = f"{part['answers']} times in this campaign, ε = {part['total_epsilon']:g} in all"
        out.print(f"One person may answer {often}.")
    table = Table("answers that differ", "ε", title="Two people who differ in …", title_justify="left")
    for entry in part["by_differing_attributes"]:
        table.add_row(str(entry["differing"]), f"{entry['realised']:.6f}")
    out.print(table)
    knows = part["observer"] == "knows-totals"
    if part["pivot_guess"] is not None:
        often = _gained(part["pivot_guess"], part["pivot_guess_without_report"])
        if not part["pivot_guess_exact"]:
            often = f"at most {often} (a bound; too large to enumerate)"
        who = "Someone who knows the totals and sees a report" if knows else "Someone who sees a report"
        out.print(f"{who} guesses which question was really used right {often}.")
        if knows and part["pivot_guess_knowing_nothing"] is not None:
            out.print(f"Someone who knows nothing of the answers: {render.share(part['pivot_guess_knowing_nothing'])}.")
    for name, guess in (part["value_guesses"] or {}).items():
        often = _gained(guess["with_report"], guess["without_report"])
        out.print(f"Someone who sees your report guesses your answer to '{name}' right {often}.")
    if part["bits"] is not None:
        out.print(
            f"A report says {part['bits']:.4f} bits about a whole record; 1 bit would settle a question of yes or no."
        )
    if part["value_guesses"] is None:
        out.print("What an observer can guess is too large to enumerate for this plan.")
    _print_poisoning(part["poisoning"], out)


def _print_poisoning(poisoning: dict[str, Any], out: "Console") -> None:
    from privtally.cli import render

    effects = {name: effect for name, effect in poisoning["attributes"].items() if effect is not None}
    if not effects:
        out.print(
            "What made-up reports can do is not computed for this plan: the counts of its questions one by one do not "
            "determine their totals, only whole reports may."
        )
        return
    name, worst = max(effects.items(), key=lambda item: abs(item[1]["shift_points"]))
    line = f"If {100 * poisoning['share']:.0f} % of those who answer make up their reports together, they move "
    line += f"'{worst['label']}' of '{name}' {_moved(worst['shift_points'])}"
    if worst["quiet_shift_points"] != worst["shift_points"]:
        quietly = _moved(worst["quiet_shift_points"])
        line += f", which shows, as too many answer that question; choosing questions as told they move it {quietly}"
    hidden = render.share(worst["hidden_below_share"])
    line += f". That attack is hidden up to a share of {hidden}: honest people with other "
    line += "answers would leave the same counts of every question. A weaker one hides at any share."
    out.print(line)


def _gained(with_report: float, without_report: float) -> str:
    """How often a guess is right with a report, beside how often it is without."""
    from privtally.cli import render

    informed, known = render.share(with_report), render.share(without_report)
    if informed == known:
        return f"{informed} of the time, as often as without the report"
    return f"{informed} of the time instead of {known}"


def _moved(points: float) -> str:
    """How far a total is moved; 100 percentage points are all the room that it has."""
    return "to any value" if abs(points) >= 100 else f"by {abs(points):.1f} percentage points"
