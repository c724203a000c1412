"""audit, verify: what taking part gives away, and whether a certificate of it is true."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from privtally.cli.console import beside, err, out, print_json
from privtally.cli.options import JsonFlag
from privtally.errors import DocumentError


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
    from privtally.cli.render import print_audit
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
        print_audit(part, out)
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
