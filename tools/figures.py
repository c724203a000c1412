"""Tables of the pages whose numbers the program computes or quotes: ± by budget and by people, what a budget means.

Run it as `python -m tools.figures`: every table between its marks is written anew. The tests compare them.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from privtally.cli.render import number
from privtally.documents.plan import design
from privtally.exact.rational import rounded_up
from privtally.files import read_schema
from privtally.lab.advise import Question, people_for, recommend
from privtally.lab.compare import POINTS
from privtally.names import HIDE_AMONG
from privtally.schema import Schema
from tools import ROOT

BUDGETS = (0.5, 1.0, 2.0, 3.0, 4.0)
PEOPLE = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
SURVEYS = (
    (1, 2, HIDE_AMONG),
    (5, 2, HIDE_AMONG),
    (5, 2, 1),
    (4, 4, HIDE_AMONG),
    (4, 4, 1),
    (10, 5, HIDE_AMONG),
    (10, 5, 1),
)
"""How many questions, with how many answers each, and among how many the one that is used is hidden."""
WITHIN, WITHIN_BUDGETS = 5.0, (0.5, 1.0, 2.0)
"""The ± in percentage points for which people are counted."""
JOBS = {
    "SPL, 4 labels": "4 questions of 4 answers",
    "one question, 64 labels": "1 question of 64 answers",
    "one question, 1,024 labels": "1 question of 1,024 answers",
}
LIBRARIES = ("privtally", "multi-freq-ldpy", "pure-ldp", "OpenDP")


def what_a_budget_means() -> str:
    """For each ε how much surer a report can make anybody, and how often one question is sent truthfully."""
    rows = [
        [
            f"{epsilon:g}",
            f"{rounded_up(math.exp(epsilon)):,f} times surer",
            *(f"{100 * truthful(epsilon, size):.0f}" for size in (2, 4)),
        ]
        for epsilon in BUDGETS
    ]
    sent = [f"of 100 answers {kind}, sent as given" for kind in ("yes or no", "out of four")]
    return table(["ε", "a report makes anybody at most", *sent], rows)


def error_by_budget() -> str:
    """The ± of the sample survey and of a single question, for two numbers of people."""
    surveys = [read_schema(ROOT / "examples/survey.toml"), alike(1, 2)]
    rows = [
        [f"{epsilon:g}", *(points(schema, epsilon, people) for schema in surveys for people in (1_000, 10_000))]
        for epsilon in BUDGETS
    ]
    heads = ["4 questions, 1,000 people", "4 questions, 10,000", "1 question, 1,000", "1 question, 10,000"]
    return table(["ε", *heads], rows)


def error_by_people() -> str:
    """The ± of the sample survey by people and budget, and what chance alone would give a sample of so many."""
    schema = read_schema(ROOT / "examples/survey.toml")
    rows = [
        [
            f"{people:,}",
            *(points(schema, epsilon, people) for epsilon in BUDGETS),
            f"±\N{NO-BREAK SPACE}{number(chance(people))}",
        ]
        for people in PEOPLE
    ]
    return table(["people", *(f"ε = {epsilon:g}" for epsilon in BUDGETS), "a survey without privacy"], rows)


def people_for_an_error() -> str:
    """How many people ± `WITHIN` points take, by questions and budget."""
    rows = []
    for questions, answers, among in SURVEYS:
        asked = [Question(1, epsilon, among) for epsilon in WITHIN_BUDGETS]
        found = [people_for(alike(questions, answers), question, WITHIN) for question in asked]
        rows.append([in_words(questions, answers), used(questions, among), *(f"{people:,}" for people in found)])
    return table(["you ask", "the question used is", *(f"ε = {epsilon:g}" for epsilon in WITHIN_BUDGETS)], rows)


def beside_peers() -> str:
    """Speed and squared error of each library at its best, from the page about peers."""
    rates = {library: fastest(library) for library in LIBRARIES}
    rows = [["reports per CPU second, 4 questions", *(rate(rates[library]) for library in LIBRARIES)]]
    for job, words in JOBS.items():
        ratios = [least_error(job, library) for library in LIBRARIES]
        rows.append([f"squared error, {words}", *("–" if ratio is None else f"{ratio:.3g} ×" for ratio in ratios)])
    return table(["measured", *LIBRARIES], rows)


def rows_of(page: str) -> Iterator[list[str]]:
    """The cells of every line of a table on a page."""
    for line in (ROOT / page).read_text().splitlines():
        if line.startswith("|"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def fastest(library: str) -> int:
    """The most reports a second that a library gave where every answer is sent with a part of the budget."""
    found = [
        int(cells[2].replace(",", ""))
        for cells in rows_of("docs/explanation/peers.md")
        if len(cells) == 5 and cells[0] == "SPL" and cells[1].startswith(library)
    ]
    return max(found)


def least_error(job: str, library: str) -> float | None:
    """A library's least squared error by that of privtally's default estimate; None if it has no estimator."""
    found = [
        float(cells[4])
        for cells in rows_of("docs/explanation/peers.md")
        if len(cells) == 5 and cells[0] == job and cells[1].startswith(library)
    ]
    return min(found, default=None)


def rate(reports: int) -> str:
    """Two digits."""
    million = 1_000_000
    return f"{reports / million:.2g} million" if reports >= million else f"{round(reports, 2 - len(str(reports))):,}"


FIGURES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "README.md": {"peers": beside_peers},
    "docs/guide/choose-epsilon.md": {"meaning": what_a_budget_means, "error": error_by_budget},
    "docs/guide/how-many-people.md": {"people": people_for_an_error, "error": error_by_people},
}
"""The tables of each page by their names."""


def truthful(epsilon: float, size: int) -> float:
    """How often one question with so many answers is sent as it was answered: the probability that its plan states."""
    plan = design(alike(1, size), epsilon, mechanism="spl")
    return float(plan.mechanism.law((0,))[(0,)])


def points(schema: Schema, epsilon: float, people: int) -> str:
    """The ± to expect of the recommended campaign, in percentage points."""
    return f"±\N{NO-BREAK SPACE}{number(recommend(schema, epsilon, people).points)}"


def chance(people: int) -> float:
    """How far the share of a random sample is from that of all people, 19 times in 20, where it is a half."""
    return POINTS * 0.5 / math.sqrt(people)


def alike(questions: int, answers: int) -> Schema:
    """Questions that have the same answers."""
    labels = [f"answer {place + 1}" for place in range(answers)]
    return Schema.of({f"question {place + 1}": labels for place in range(questions)})


def in_words(questions: int, answers: int) -> str:
    """How many questions of which kind."""
    many = "1 question" if questions == 1 else f"{questions} questions"
    return f"{many}, {'yes or no' if answers == 2 else f'{answers} answers'}"


def used(questions: int, among: int) -> str:
    """Whether a report says which question was really used."""
    return "the only one" if questions == 1 else "named" if among == 1 else f"hidden among {among}"


def table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """A table whose first column is aligned left and all others right."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def between(name: str) -> re.Pattern[str]:
    """Where a table stands on its page."""
    return re.compile(rf"(<!-- written by tools/figures.py, {name} -->\n)(.*?)(\n<!-- end -->)", flags=re.DOTALL)


def main() -> None:
    """Write every table anew."""
    for file, tables in FIGURES.items():
        page = ROOT / file
        text = page.read_text()
        for name, make in tables.items():
            written = make()
            text, many = between(name).subn(lambda found, new=written: f"{found[1]}\n{new}\n{found[3]}", text)  # type: ignore[misc]
            if many != 1:
                raise SystemExit(f"{file} must have one place for the table {name}")
        page.write_text(text)


if __name__ == "__main__":
    main()
