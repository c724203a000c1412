"""Codes of a report in bytes: the smallest unsigned integers that hold every code of the plan, little-endian."""

from collections.abc import Sequence

import numpy as np

from privtally.documents.plan import Plan
from privtally.exact.arrays import Codes


def pack(plan: Plan, codes: Sequence[int]) -> bytes:
    """The codes of one report to the plan."""
    return np.array(codes, dtype=_type(plan)).tobytes()


def unpack(plan: Plan, packed: Sequence[bytes]) -> Codes:
    """An array (report, attribute) from packed codes."""
    codes: Codes = np.frombuffer(b"".join(packed), dtype=_type(plan)).reshape(len(packed), plan.sampler.width)
    return codes


def _type(plan: Plan) -> np.dtype[np.unsignedinteger]:
    return np.min_scalar_type(max(plan.sampler.outputs) - 1).newbyteorder("<")
