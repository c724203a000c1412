"""Populations that stand for the one that nobody has asked yet: several kinds, stated, of independent answers."""

import numpy as np

from privtally.lab.outlook import SAMPLE
from privtally.schema import Records, Schema

PRIOR = (
    "uniform: every label of every attribute alike; "
    "alike: one draw from Dirichlet(1) for all attributes with the same labels; "
    "similar: each attribute from Dirichlet(20 × such a draw); "
    "unlike: each attribute its own draw from Dirichlet(1)"
)
_KINDS = ("uniform", "alike", "alike", "similar", "similar", "unlike", "unlike", "unlike")


def populations(schema: Schema, seed: int) -> list[Records]:
    """People of the prior's kinds, their answers independent."""
    generator = np.random.default_rng(seed)
    return [_draw(schema, kind, generator) for kind in _KINDS]


def _draw(schema: Schema, kind: str, generator: np.random.Generator) -> Records:
    shared = {attribute.labels: generator.dirichlet(np.ones(attribute.size)) for attribute in schema.attributes}
    columns = []
    for attribute in schema.attributes:
        match kind:
            case "uniform":
                law = np.full(attribute.size, 1 / attribute.size)
            case "alike":
                law = shared[attribute.labels]
            case "similar":
                law = generator.dirichlet(20 * shared[attribute.labels] + 1e-3)
            case _:
                law = generator.dirichlet(np.ones(attribute.size))
        columns.append(generator.choice(attribute.size, SAMPLE, p=law))
    return Records(schema, np.column_stack(columns))
