"""The paper's datasets, from the files of the UCI repository, and its published numbers, from `published.json`."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from privtally.errors import DocumentError
from privtally.files import unreadable
from privtally.schema import Alignment, Attribute, Records, Schema

DIRECTORY_VARIABLE = "PRIVTALLY_DATA_DIR"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
SHA256 = {
    "adult/adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult/adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    "mushroom/agaricus-lepiota.data": "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
    "clave/ClaveVectors_Firm-Teacher_Model.txt": "a37d311a3675fe62d4ebcdab22cc965608f5176e949e2d1266225aefa63e800e",
}
"""Every file's path below the data directory, and its hash."""
STALK_ROOT, RING_TYPE = "?bcer", "eflnp"


def load_dataset(name: str, directory: Path | None) -> Records:
    """The paper's input: some attributes of some people, drawn and ordered as the authors did."""
    if name == "Adult":
        lines = [*read_lines("adult/adult.data", directory), *read_lines("adult/adult.test", directory)[1:]]
        fields = [line.split(", ") for line in lines]
        people, labels = 10_000, ["01", "01", "01"]
        chosen = [(row[5].startswith("Married"), row[7] in ("Husband", "Wife"), row[9] == "Female") for row in fields]
        rows = [list(map(int, row)) for row in chosen]
    elif name == "Mushroom":
        fields = [line.split(",") for line in read_lines("mushroom/agaricus-lepiota.data", directory)]
        people, labels = 8_000, [STALK_ROOT, RING_TYPE]
        rows = [[STALK_ROOT.index(row[11]), RING_TYPE.index(row[19])] for row in fields]
    else:
        fields = [line.split() for line in read_lines("clave/ClaveVectors_Firm-Teacher_Model.txt", directory)]
        people, labels = 10_000, ["01", "01"]
        rows = [[int(row[1]), int(row[18])] for row in fields]
    codes = np.array(rows, dtype=np.uint8)
    # The authors' sample: the first people of a permutation by the generator that NumPy keeps for old seeds.
    order = np.random.RandomState(42).permutation(len(codes))[:people]
    attributes = tuple(Attribute(f"X{own}", tuple(letters)) for own, letters in enumerate(labels, start=1))
    return Records(Schema(attributes, _code_by_code(attributes)), codes[order])


def _code_by_code(attributes: Sequence[Attribute]) -> tuple[Alignment, ...]:
    """The paper copies codes, whatever they stand for: labels with the same code go together where they differ."""
    if len({attribute.labels for attribute in attributes}) == 1:
        return ()
    codes = range(attributes[0].size)
    return (Alignment(tuple({own.name: (own.labels[code],) for own in attributes} for code in codes)),)


def data_directory(named: Path | None) -> Path | None:
    """The directory that the user named, on the command line or in the environment."""
    variable = os.environ.get(DIRECTORY_VARIABLE)
    return named or (Path(variable) if variable else None)


def read_lines(name: str, directory: Path | None) -> list[str]:
    """A file's lines that are not blank."""
    path = _fetch(name) if directory is None else directory / name
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise DocumentError(unreadable(path, fault)) from None
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256[name]:
        raise DocumentError(f"{path} has the SHA-256 {found}, the paper's file has {SHA256[name]}; get the original")
    return [line for line in data.decode("latin-1").splitlines() if line.strip()]


def _fetch(name: str) -> Path:
    """Download a file from UCI into the user's cache."""
    try:
        import pooch
    except ImportError:
        raise DocumentError(
            f"name a directory with the UCI files by --data-dir or {DIRECTORY_VARIABLE}, "
            "or install what downloads them: pip install 'privtally[lab]'"
        ) from None
    url = f"{UCI}/{name.replace('clave/', '00324/')}"
    try:
        return Path(pooch.retrieve(url, known_hash=f"sha256:{SHA256[name]}", path=pooch.os_cache("privtally")))
    except (OSError, ValueError) as fault:
        raise DocumentError(f"cannot download {url}: {type(fault).__name__}; name a directory by --data-dir") from None


@cache
def _all() -> Any:
    return json.loads(files("privtally.lab.paper").joinpath("published.json").read_text(encoding="utf-8"))


def published_error(key: str, method: str, x: float) -> float | None:
    """The published mean squared error of a method at x in a panel, or None if there is none."""
    panel = _all()["mse"].get(key, {})
    return float(panel[method][panel["x"].index(x)]) if method in panel else None


def published_correlations(kind: str, rho: float) -> Mapping[str, float]:
    """Table 2: the correlation of each pair of attributes in SynA or SynB."""
    table = _all()["correlations"]
    return dict(zip(table["pairs"], table[kind][f"{rho:g}"], strict=True))
