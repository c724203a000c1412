"""The tables of docs/notes/alignments.md come from a program that runs."""

import numpy as np
from benchmarks.alignments import BUDGETS, CAMPAIGNS, COARSE, alike, class_totals, table, unlike


def test_tables_have_a_line_for_each_campaign() -> None:
    for campaigns, classes in ((CAMPAIGNS, False), (COARSE, True)):
        few = dict(list(campaigns.items())[:1] + list(campaigns.items())[-2:])
        lines = list(table(unlike, few, 2_000, 1, 1, classes=classes))
        assert len(lines) == 2 + len(few)
        assert all(line.count("|") == len(BUDGETS) + 2 for line in lines)


def test_alike_people_have_the_same_class_totals() -> None:
    people = alike(400_000, np.random.default_rng(1))
    totals = [
        matrix @ np.array(own)
        for matrix, own in zip(class_totals(people.schema), people.frequencies().values(), strict=True)
    ]
    assert np.allclose(totals[0], totals[1], atol=0.01)
    assert np.allclose(totals[0], totals[2], atol=0.01)
