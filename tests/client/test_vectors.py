"""The browser client and the Python library give the same digests, weights and reports; changed clients do not."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.client.node import MODULE, run_json
from tests.client.vectors import vectors

RUNNER = Path(__file__).with_name("vectors.mjs")

FAULTS = {
    "one weight more": ("(a * other) / b,", "(a * other) / b + 1n,"),
    "one weight less": ("(WORD * b) /", "(WORD * b) / 2n /"),
    "the budget is not shared by pivots": ("parts.length * part.pivots", "parts.length"),
    "a word at the bound is taken": ("while (word >= total", "while (word > total"),
    "bytes are read from the other end": ("reduceRight", "reduce"),
    "a code is one step off": ("size - 1) + 1) %", "size - 1)) %"),
    "the last of all words is never taken": ("source, WORD))", "source))"),
    "a row's edge belongs to the code before": ("point >= end;", "point > end;"),
    "only the last pivot decides a table's row": ("given * asked[own].outputs + code", "code"),
    "points outside a hyperplane are inside": ("(outside + order - product)", "(order - product)"),
    "a copy is as rare as a difference": ("other: unit - copies", "other: copies"),
    "an edge belongs to the bin below": ("edge <= value", "edge < value"),
    "a number between two points goes up at the chance": ("Number(word < digits)", "Number(word <= digits)"),
    "digits that agree are not compared further": ("word === digits && rest ?", "false ?"),
    "a decimal is read as a float": ("[text, ...points].map(own", "[Number(text).toFixed(9), ...points].map(own"),
    "accents are compared as typed": ('answer.normalize("NFC")', "answer"),
    "single questions are as rare as sets": ("32n < single", "32n >= single"),
    "a set's first question counts fastest": ("label * sizes[own] + codes[own]", "label + sizes[own] * codes[own]"),
    "codes of a set start one too late": ("start: end - channel.outputs", "start: end - channel.outputs + 1"),
    "numbers of labels are in the order of the sets": (
        ".map(labels))].sort((one, two) => one - two)",
        ".map(labels))]",
    ),
    "keys are not sorted": ("Object.keys(value).sort()", "Object.keys(value).reverse()"),
}


@pytest.fixture(scope="module")
def differences(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """For the module, and for each planted fault, where it differs from the vectors."""
    place = tmp_path_factory.mktemp("client")
    text = MODULE.read_text(encoding="utf-8")
    cases = vectors()
    assert sum(len(vector["cases"]) for vector in cases) >= 500
    (place / "vectors.json").write_text(json.dumps(cases), encoding="utf-8")
    modules = {"none": place / "none.mjs"}
    modules["none"].write_text(text, encoding="utf-8")
    for number, (name, (before, after)) in enumerate(FAULTS.items()):
        assert text.count(before) == 1, f"the fault '{name}' has no place"
        modules[name] = place / f"fault{number}.mjs"
        modules[name].write_text(text.replace(before, after), encoding="utf-8")
    found = run_json(RUNNER, place / "vectors.json", *modules.values())
    return {name: found[str(path)] for name, path in modules.items()}


def test_the_client_gives_the_same_digests_weights_and_reports(differences: dict[str, list[Any]]) -> None:
    assert differences["none"] == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_shows(differences: dict[str, list[Any]], fault: str) -> None:
    assert differences[fault]
