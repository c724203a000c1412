"""A peer from the package index under the empirical auditor: what does its software really spend?

`pip install multi-freq-ldpy`, then `python -m benchmarks.peer_audit [--draws 300000] [--json]`

Each client is a black box: record in, report out. The auditor's bound holds at a confidence of 95 %; one that exceeds
the nominal ε proves that the client is not ε-private for whole records. Needs a few minutes, one report at a time.
"""

import argparse
import json
import sys
from collections.abc import Hashable
from typing import Any

from benchmarks.attack import Codes, attack, one_by_one

SIZES = (4, 4, 4, 4)
EPSILON = 1.0


def plain(report: Any) -> Any:
    """A peer's report, lists and arrays of any depth, as something to count; numbers, labels and None stay."""
    if hasattr(report, "tolist"):
        report = report.tolist()
    if isinstance(report, list | tuple):
        return tuple(map(plain, report))
    return report


def clients() -> dict[str, Any]:
    """The peer's clients that answer whole records."""
    from multi_freq_ldpy.mdim_freq_est import RSpFD_solution, SMP_solution, SPL_solution

    return {
        "SPL[GRR]": SPL_solution.SPL_GRR_Client,
        "SMP[GRR]": SMP_solution.SMP_GRR_Client,
        "RS+FD[GRR]": RSpFD_solution.RSpFD_GRR_Client,
        "RS+FD[OUE, zero]": RSpFD_solution.RSpFD_UE_zero_Client,
    }


def main() -> int:
    """Audit every client and print what was proven; 1 if the peer is not installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=300_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        found = clients()
    except ImportError:
        print("multi-freq-ldpy is not installed; pip install multi-freq-ldpy", file=sys.stderr)
        return 1
    rows = []
    for name, client in found.items():

        def respond(record: Codes, client: Any = client) -> Hashable:
            report: Hashable = plain(client(list(record), list(SIZES), len(SIZES), EPSILON))
            return report

        finding = attack(one_by_one(respond), SIZES, options.draws)
        rows.append({"client": name, "nominal": EPSILON, "at_least": finding.epsilon, "draws": options.draws})
        if not options.json:
            verdict = "not ε-private for whole records" if finding.epsilon > EPSILON else "nothing found"
            print(f"{name:18} nominal ε = {EPSILON:g}, proven ≥ {finding.epsilon:.3f}: {verdict}")
    if options.json:
        print(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
