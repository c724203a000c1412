"""The steps of a part's draw, compiled by numba. Integers only: words are compared, never turned into floats.

Each function says whether every word counted. A word that must be drawn again is so rare that the caller then takes
the plain path, with the same words.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from privtally.exact.arrays import Codes, Integers
from privtally.exact.source import Words

P = ParamSpec("P")
R = TypeVar("R")
Bytes = NDArray[np.uint8]
Numbers = NDArray[np.uint32]

FEW_PIECES = 16
"""Up to so many pieces, comparing a word with each of their ends takes less time than one division."""


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """The function compiled at its first call, and kept for later runs where a directory can be written."""
    try:
        made = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:
        made = numba.njit(nogil=True)(function)
    return cast(Callable[P, R], made)


@compiled
def even_pieces(words: Words, length: np.uint64, number: int, last: np.uint64, found: Codes) -> bool:
    """Find each word's piece where all but the last have the same length."""
    rejected = False
    for person in range(len(words)):
        rejected |= words[person] > last
    if number > FEW_PIECES:
        top = np.uint64(number - 1)
        for person in range(len(words)):
            found[person] = min(words[person] // length, top)
        return not rejected
    for person in range(len(words)):
        found[person] = np.uint8(0)
    end = np.uint64(0)
    for _ in range(1, number):
        end += length
        for person in range(len(words)):
            found[person] += np.uint8(words[person] >= end)
    return not rejected


@compiled
def listed_pieces(words: Words, ends: Words, given: Numbers, found: Bytes) -> None:
    """Find each word's piece where the pieces' ends are listed, a row for each given code or one row for all."""
    for person in range(len(words)):
        row = ends[given[person] if len(ends) > 1 else 0]
        half = words[person] >> np.uint64(32)
        number = 0
        for end in row:
            number += half >= end
        found[person] = number


@compiled
def step(rule: Any, given: Numbers, found: Bytes) -> None:
    """From pieces to codes."""
    first, circle = np.uint8(rule.first), np.uint8(rule.codes)
    if rule.turns:
        for person in range(len(found)):
            code = np.uint8(np.uint8(found[person] + np.uint8(given[person])) + first)
            found[person] = np.uint8(code - circle) if code >= circle else code
    elif first:
        for person in range(len(found)):
            found[person] += first


@compiled
def draw_column(rule: Any, ends: Words, given: Numbers, words: Words, found: Bytes) -> bool:
    """Draw one attribute of those who took the same branch; of `words` as many as there are people are theirs."""
    if not rule.drawn:
        found[:] = np.uint8(0)
    elif rule.length:
        if not even_pieces(words, rule.length, rule.number, rule.last, found):
            return False
    else:
        width = rule.number - 1
        own = ends[rule.start : rule.start + rule.rows * width].reshape(rule.rows, width)
        listed_pieces(words, own, given, found)
    step(rule, given, found)
    return True


@compiled
def choose(words: Words, length: np.uint64, last: np.uint64, chosen: Numbers, people: Integers) -> bool:
    """Choose everybody's branch, and count how many people take each."""
    if not even_pieces(words, length, len(people), last, chosen):
        return False
    for branch in chosen:
        people[branch] += 1
    return True


@compiled
def draw_all(codes: Codes, room: Codes, words: Words, rules: Any, ends: Words) -> bool:
    """Draw a part of which everybody answers all attributes."""
    people = codes.shape[1]
    found = np.empty(people, dtype=np.uint8)
    given = np.empty(people, dtype=np.uint32)
    used = 0
    for slot in range(len(rules)):
        rule = rules[slot]
        given[:] = codes[rule.column]
        if not draw_column(rule, ends, given, words[used : used + people], found):
            return False
        if rule.drawn:
            used += people
        room[rule.column] = found
    return True


@compiled
def _side_by_side(codes: Codes, chosen: Numbers, people: Integers, rules: Any, pivots: int) -> tuple[Numbers, Numbers]:
    """Where everybody stands when people are ordered by their branches, and the codes of their pivots in that order."""
    following = (np.cumsum(people) - people).astype(np.uint32)
    places = np.empty(len(chosen), dtype=np.uint32)
    for person in range(len(chosen)):
        places[person] = following[chosen[person]]
        following[chosen[person]] += np.uint32(1)
    asked = np.empty((pivots, len(chosen)), dtype=np.uint32)
    columns = np.empty(len(rules), dtype=np.uint32)
    for pivot in range(pivots):
        for branch in range(len(rules)):
            columns[branch] = rules[branch, pivot].column
        for person in range(len(chosen)):
            asked[pivot, places[person]] = codes[columns[chosen[person]], person]
    return places, asked


@compiled
def draw_branches(
    codes: Codes, room: Codes, chosen: Numbers, people: Integers, words: Words, rules: Any, ends: Words, pivots: int
) -> bool:
    """Draw a part by branches: each branch's people stand side by side while their attributes are drawn."""
    places, asked = _side_by_side(codes, chosen, people, rules, pivots)
    drawn = np.empty((rules.shape[1], len(chosen)), dtype=np.uint8)
    given = np.zeros(len(chosen), dtype=np.uint32)
    start = used = 0
    for branch in range(len(rules)):
        end = start + people[branch]
        private = given[start:end]
        for slot in range(rules.shape[1]):
            rule = rules[branch, slot]
            found = drawn[rule.place, start:end]
            before = asked[slot, start:end] if slot < pivots else private
            if not draw_column(rule, ends, before, words[used : used + len(found)], found):
                return False
            if rule.drawn:
                used += len(found)
            if slot < pivots:
                for person in range(len(found)):
                    private[person] = private[person] * np.uint32(rule.codes) + found[person]
        start = end
    for slot in range(rules.shape[1]):
        found, column = drawn[rules[0, slot].place], room[rules[0, slot].column]
        for person in range(len(places)):
            column[person] = found[places[person]]
    return True


@compiled
def draw_at_once(
    codes: Codes, room: Codes, words: Words, length: np.uint64, last: np.uint64, rules: Any, ends: Words, pivots: int
) -> bool:
    """Choose branches and draw by them, where each branch takes the same number of words."""
    chosen, people = np.empty(codes.shape[1], dtype=np.uint32), np.zeros(len(rules), dtype=np.int64)
    if not choose(words[: len(chosen)], length, last, chosen, people):
        return False
    return draw_branches(codes, room, chosen, people, words[len(chosen) :], rules, ends, pivots)
