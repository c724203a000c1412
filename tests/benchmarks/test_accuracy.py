"""The study of accuracy: ratios to the best classical mechanism, and its table."""

from pathlib import Path

import pytest
from benchmarks.accuracy import CLASSICAL, DEFAULT, OTHERS, Table, errors_of, lines_of, ratios, rewrite, simulated


def test_a_cell_has_every_way_and_its_ratio_to_the_best_classical_one() -> None:
    errors = errors_of(simulated()[0], 300, 2.0, 2)
    assert errors.keys() == {*CLASSICAL, *OTHERS, DEFAULT}
    found = ratios(errors)
    assert min(found[name] for name in CLASSICAL) == 1
    lines = lines_of({("one", 300, 2.0): found, ("two", 300, 2.0): found})
    assert lines[-1].startswith(f"| all | {found[DEFAULT]:.2f} |")


def test_a_table_is_read_with_its_own_labels_and_mechanisms_that_do_not_take_it_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    path.write_text("smokes,pet\n" + "no,cat\nyes,dog\nno,none\n" * 40)
    table = Table.read(path)
    assert (table.name, table.schema.sizes, len(table.codes)) == ("mixed", (2, 3), 120)
    errors = errors_of(table, 100, 1.0, 1)
    assert errors["Corr-RR, published"] is None
    assert ratios(errors)[DEFAULT] > 0


def test_only_what_a_program_wrote_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- written by me -->\nold\n<!-- end -->\nafter\n")
    rewrite(page, "me", "new")
    assert page.read_text() == "before\n<!-- written by me -->\n\nnew\n\n<!-- end -->\nafter\n"
    with pytest.raises(SystemExit):
        rewrite(page, "somebody else", "new")
