"""The study of accuracy: what it compares, and what it goes on from."""

import argparse
import json
from pathlib import Path

import pytest
from benchmarks.accuracy import COMPARISONS, LIMITS, Cell, code_digest, name_at, ratio, read_study, run_cell

from privtally.lab.advise import Expected
from privtally.lab.offers import SHARES, Design

OPTIONS = argparse.Namespace(runs=6, confirm=18, settle=90, seed=1)


def test_every_comparison_is_of_campaigns_that_are_run() -> None:
    advice = {
        "advised": Expected(Design("corr-rr", phase1_share=0.2), 0.5, 0.1, (0.1,)),
        "advised, pivot known": Expected(Design("smp"), 1.0, 0.1, (0.1,)),
    }
    row = run_cell(Cell("SynA", "π/π", 2, 2, 0.5, 200, 1.0), 2, 1, advice)
    assert all(ratio(row, title) > 0 for title in COMPARISONS)
    assert row["mse"]["advised"] == row["mse"][name_at(0.2)]
    assert row["mse"]["advised, pivot known"] == row["mse"]["smp pooled"]
    assert ratio(row, "advised / best that may be advised") >= 1
    assert len({row["mse"][name_at(share)] for share in SHARES}) == len(SHARES)
    assert LIMITS.keys() <= COMPARISONS.keys()


def test_a_study_goes_on_only_from_what_the_same_code_wrote_with_the_same_options(tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    same = {**vars(OPTIONS), "code": code_digest(), "cells": [], "real": []}
    path.write_text(json.dumps(same))
    assert read_study(path, OPTIONS) == same
    for changed, said in (({"runs": 7}, "--runs 7"), ({"code": "0"}, "other code"), ({"seed": None}, "--seed None")):
        path.write_text(json.dumps({**same, **changed}))
        with pytest.raises(SystemExit, match=said):
            read_study(path, OPTIONS)
