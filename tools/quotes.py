"""Tables of the pages that quote numbers which were measured, each from the page that says how."""

from collections.abc import Iterator

from tools import ROOT
from tools.markdown import table

JOBS = {
    "SPL, 4 labels": "4 questions of 4 answers",
    "one question, 64 labels": "1 question of 64 answers",
    "one question, 1,024 labels": "1 question of 1,024 answers",
}
LIBRARIES = ("privtally", "multi-freq-ldpy", "pure-ldp", "OpenDP")


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
