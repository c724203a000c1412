"""Our reports through multi-freq-ldpy's estimators and theirs through ours: the same frequencies from the same reports.

`python -m benchmarks.interop` prints the largest difference for SPL, SMP and RS+FD with randomized response and exits
with 1 if one is above 1e-12. multi-freq-ldpy clips at 0 and divides by the sum; the same is done to our unbiased
estimates. Its RS+FD, told ε, spends ln(d(e^ε − 1) + 1) on the pivot, so our plan promises that.
"""

import json
import subprocess
import sys
import tempfile
from math import expm1, log1p
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.side_by_side.accuracy import clipped
from benchmarks.side_by_side.drive_privtally import MECHANISMS, schema_of
from benchmarks.side_by_side.environments import MULTI_FREQ, ROOT, MissingError, last_line, python_of
from privtally.collector.estimate import estimate
from privtally.collector.tally import count
from privtally.documents.plan import Plan, design
from privtally.participant.respond import respond_many
from privtally.schema import Records

ATTRIBUTES, SIZE, EPSILON = 4, 4, 1.0
PEOPLE = (300, 20_000)
"""With 300 people frequencies below 0 are clipped, with 20,000 hardly any are."""
MOST = 1e-12


def plan_for(job: str) -> Plan:
    """Our plan with the weights of multi-freq-ldpy's client."""
    told = {"RS+FD": log1p(ATTRIBUTES * expm1(EPSILON))}
    return design(schema_of(ATTRIBUTES, SIZE), told.get(job, EPSILON), MECHANISMS[job])


def frequencies(plan: Plan, codes: NDArray[Any]) -> NDArray[np.float64]:
    """Our estimate from private codes, clipped as theirs."""
    found = estimate([(plan, count(plan, codes))], "unbiased")
    return clipped(np.array([own.frequencies for own in found.attributes.values()]))


def to_theirs(job: str, codes: NDArray[Any]) -> list[Any]:
    """Private codes as multi-freq-ldpy's reports: for SMP the number of the attribute and its code."""
    if job != "SMP":
        return [list(map(int, row)) for row in codes]
    asked = np.argmax(codes < SIZE, axis=1)
    return [[int(own), int(row[own])] for own, row in zip(asked, codes, strict=True)]


def to_ours(job: str, reports: list[Any]) -> NDArray[np.uint8]:
    """Their reports as private codes."""
    if job != "SMP":
        return np.array(reports, dtype=np.uint8)
    codes = np.full((len(reports), ATTRIBUTES), SIZE, dtype=np.uint8)
    for row, (own, code) in zip(codes, reports, strict=True):
        row[own] = code
    return codes


def theirs(job: str, records: NDArray[Any], reports: list[Any]) -> dict[str, Any]:
    """Their estimate from our reports, and their reports to the records with their estimate from these."""
    order = {"job": job, "records": records.tolist(), "reports": reports, "size": SIZE, "epsilon": EPSILON}
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "order.json"
        path.write_text(json.dumps(order))
        command = [str(python_of(MULTI_FREQ)), "-m", "benchmarks.side_by_side.exchange", str(path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MissingError(last_line(done.stderr))
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def differences(job: str, people: int) -> tuple[float, float]:
    """The largest difference between estimates from our reports, and from theirs."""
    plan = plan_for(job)
    records = np.random.default_rng(0).choice(SIZE, (people, ATTRIBUTES), p=(0.4, 0.3, 0.2, 0.1)).astype(np.uint8)
    codes = respond_many(plan, Records(plan.schema, records)).codes
    answer = theirs(job, records, to_theirs(job, codes))
    ours = np.max(np.abs(frequencies(plan, codes) - np.array(answer["ours"])))
    back = np.max(np.abs(frequencies(plan, to_ours(job, answer["reports"])) - np.array(answer["theirs"])))
    return float(ours), float(back)


def main() -> int:
    """Print the largest differences; 1 if one is too large or multi-freq-ldpy cannot be had."""
    largest = 0.0
    print(f"{'job':6} {'people':>7} {'from our reports':>17} {'from theirs':>12}")
    for job in MECHANISMS:
        for people in PEOPLE:
            try:
                found = differences(job, people)
            except MissingError as why:
                print(f"multi-freq-ldpy cannot be run: {why}", file=sys.stderr)
                return 1
            largest = max(largest, *found)
            print(f"{job:6} {people:7,} {found[0]:17.1e} {found[1]:12.1e}")
    print(f"largest difference {largest:.1e}, at most {MOST:g} is allowed")
    return int(largest > MOST)


if __name__ == "__main__":
    sys.exit(main())
