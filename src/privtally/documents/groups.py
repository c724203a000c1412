"""Groups of attributes, as people name them and as a plan states them."""

from collections.abc import Sequence

from privtally.errors import PlanError
from privtally.mechanisms.named import Groups
from privtally.schema import Schema


def several(groups: Groups) -> Groups | None:
    """Groups as a plan states them: not at all if there is one."""
    return None if len(groups) == 1 else groups


def group_places(schema: Schema, groups: Sequence[Sequence[str]]) -> Groups:
    """Groups of attributes by their places; refused unless they name every attribute once."""
    names, known = [name for group in groups for name in group], schema.names
    if not all(groups):
        raise PlanError("a group must name at least one question")
    if unknown := [name for name in names if name not in known]:
        raise PlanError(f"there is no question '{unknown[0]}' to put into a group; the names are those of the schema")
    if twice := [name for name in known if names.count(name) > 1]:
        raise PlanError(f"question '{twice[0]}' is named twice in the groups; each belongs to one")
    if missing := [name for name in known if name not in names]:
        raise PlanError(f"question '{missing[0]}' is in no group; each belongs to one")
    return tuple(tuple(map(known.index, group)) for group in groups)
