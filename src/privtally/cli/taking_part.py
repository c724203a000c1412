"""submit: a participant's answers to a collector."""

from pathlib import Path
from typing import Annotated

from typer import Option

from privtally.cli.console import err, out, print_json
from privtally.cli.options import JsonFlag


def submit(
    url: Annotated[
        str,
        Option(metavar="URL", help="The link to the survey: https://HOST/s/ID, with # and the token if it has one."),
    ],
    record: Annotated[
        Path, Option(metavar="FILE", help="Your answers: a JSON object of questions and answers; - is standard input.")
    ],
    ledger: Annotated[
        Path | None,
        Option(envvar="PRIVTALLY_LEDGER", metavar="FILE", help="The file that keeps your reports, never your answers."),
    ] = None,
    most_epsilon: Annotated[float, Option(metavar="NUMBER", help="The largest budget that you agree to.")] = 4.0,
    device_cap: Annotated[
        float | None,
        Option(
            envvar="PRIVTALLY_DEVICE_CAP",
            metavar="NUMBER",
            help="The largest budget over all surveys in the ledger; no limit unless given.",
        ),
    ] = None,
    token: Annotated[
        str | None,
        Option(envvar="PRIVTALLY_TOKEN", metavar="TEXT", help="Your participation token, if it is not in the link."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Answer a survey: your answers become private on this machine, and only the report is sent.

    The report is kept in the ledger before it is sent. While the collector does not answer, the same report is sent
    again, 8 times at most; run the command again later to go on. Other users of this machine see options: give a token
    as PRIVTALLY_TOKEN.

    The link pins the survey's questions and its budget. A collector that hands out anything else is refused before your
    answers are used; so is a budget above --most-epsilon, or above --device-cap together with all earlier reports.
    """
    from privtally.cli.numbers import surer
    from privtally.errors import RecordError
    from privtally.exact import wire
    from privtally.files import read_bytes
    from privtally.participant.client import Participant, usual_ledger
    from privtally.participant.ledger import given_away, report_to_send, reports_to

    answers = wire.decode_object(read_bytes(record), RecordError, "the record")
    participant = Participant(url, ledger or usual_ledger(), most_epsilon, token, tell=err.print, device_cap=device_cap)
    before = reports_to(participant.ledger, participant.campaign)
    if report_to_send(participant.ledger, participant.campaign) is None:
        first = participant.first
        err.print(surer(first.epsilon))
        if first.answers > 1:
            err.print(f"This survey may ask you {first.answers} times: ε = {first.answers * first.epsilon:g} in all.")
        spent = given_away(participant.ledger)
        if spent.reports:
            err.print(f"This device has given away ε = {spent.epsilon:f} so far, in {spent.reports} reports.")
    report = participant.answer(answers)
    if report in before:
        err.print("You answered before; that report counts, these answers were not used.")
    if json:
        print_json(report)
    else:
        out.print(f"Your private report counts. Its id is {report.id}; your answers stayed here.")
