"""multi-freq-ldpy's side of `benchmarks.interop`: estimates from reports given, and from reports of its own."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Aggregator_MI, RSpFD_GRR_Client
from multi_freq_ldpy.mdim_freq_est.SMP_solution import SMP_GRR_Aggregator_MI, SMP_GRR_Client
from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_GRR_Aggregator_MI, SPL_GRR_Client

CLIENTS = {
    "SPL": (SPL_GRR_Client, SPL_GRR_Aggregator_MI),
    "SMP": (SMP_GRR_Client, SMP_GRR_Aggregator_MI),
    "RS+FD": (RSpFD_GRR_Client, RSpFD_GRR_Aggregator_MI),
}


def main() -> None:
    """Read an order and print the answer."""
    order = json.loads(Path(sys.argv[1]).read_text())
    client, aggregator = CLIENTS[order["job"]]
    attributes = len(order["records"][0])
    known: tuple[Any, ...] = ([order["size"]] * attributes, attributes, order["epsilon"])
    reports = [list(map(int, client(row, *known))) for row in np.array(order["records"])]
    answer = {
        "ours": np.array(aggregator(order["reports"], *known), dtype=float).tolist(),
        "theirs": np.array(aggregator(reports, *known), dtype=float).tolist(),
        "reports": reports,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
