"""Documents in words that a person can read, and their summaries for programs."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec
from rich.bar import Bar
from rich.console import Console, RenderableType
from rich.table import Column, Table
from rich.text import Text

from privtally.cli.answer_words import blocks, print_numbers, print_top, rarer, reach, source
from privtally.cli.numbers import share
from privtally.cli.table_words import HALF_INTERVAL, MOST_ROWS, print_blocks, print_pair, with_error
from privtally.collector.pairs import PairEstimate, PairEstimates
from privtally.collector.top import TopEstimate
from privtally.documents.counts import Counts
from privtally.documents.estimate import Estimate, RoundEstimate
from privtally.documents.plan import Plan
from privtally.exact.exponential import log_floor
from privtally.mechanisms import NAMED, Part
from privtally.mechanisms.alignment import undeclared
from privtally.mechanisms.fills import CopyFill


def headline(plan: Plan) -> str:
    """A plan in one line."""
    place = f"phase {plan.phase}" if plan.round == 1 else f"phase {plan.phase} (round {plan.round})"
    return f"plan {plan.digest[:12]}…, {place} of {plan.mechanism}, ε = {plan.epsilon:g}"


def summary(document: Plan | Counts | Estimate) -> dict[str, Any]:
    """What a program would want to know of a document."""
    match document:
        case Plan():
            return {
                "kind": "plan",
                "plan": document.digest,
                "campaign": document.campaign_id,
                "phase": document.phase,
                "round": document.round,
                "mechanism": document.mechanism,
                "epsilon": document.epsilon,
                "answers": document.answers,
                "realised_epsilon": log_floor(document.sampler.ratio),
                "attributes": {attribute.name: attribute.size for attribute in document.schema.attributes},
                "groups": msgspec.to_builtins(document.groups),
                "parts": msgspec.to_builtins(document.parts),
            }
        case Counts():
            counts = [tally.tolist() for tally in document.attributes]
            found = {"plan": document.plan, "reports": document.reports, "attributes": counts}
            return {"kind": "counts", **found, "kept": document.detail}
        case Estimate():
            return {"kind": "estimate", **document.body()}


def describe(document: Plan | Counts | Estimate | PairEstimate | PairEstimates | TopEstimate, console: Console) -> None:
    """Print a document in words."""
    match document:
        case Plan():
            _describe_plan(document, console)
        case Counts():
            _describe_counts(document, console)
        case Estimate():
            print_estimate(document, console)
        case PairEstimate():
            print_pair(document, console)
        case PairEstimates():
            for table in document.tables:
                print_pair(table, console)
            if document.missing:
                missing = _list([f"{one} and {two}" for one, two in document.missing])
                console.print(Text(f"No report answers both of these: {missing}."))
        case TopEstimate():
            print_top(document, console)


def _describe_plan(plan: Plan, console: Console) -> None:
    console.print(headline(plan)[0].upper() + headline(plan)[1:])
    if NAMED[plan.mechanism].learns and plan.learned is None:
        console.print(f"{NAMED['spl'].title}. The second phase is learned from this one:")
    console.print(NAMED[plan.mechanism].title.format(asked=_asked(plan)))
    if plan.groups is not None:
        groups = "; ".join(_list([plan.schema.names[own] for own in group]) for group in plan.groups)
        console.print(Text(f"In {len(plan.groups)} groups, each with a question and a share of the budget: {groups}."))
    mechanism = plan.sampler
    realised = log_floor(mechanism.ratio)
    console.print(f"Promised: ε = {plan.epsilon:g} for a whole record. Realised by integer weights: ε = {realised}.")
    table = Table("question", "answers", "kept as it is", title="What happens to an answer", title_justify="left")
    for attribute, (number, place) in zip(plan.schema.attributes, mechanism.places, strict=True):
        part = mechanism.parts[number]
        channel = part.asked[place]
        kept = share(channel.inside * channel.same / channel.total)
        if channel.inside > 1:
            kept += f" as one of {channel.inside:,} of {channel.outputs:,} codes"
        when = "" if len(part.branches) == 1 else " if chosen"
        table.add_row(Text(attribute.name), Text(_list(attribute.labels)), kept + when)
    console.print(table)
    for part in mechanism.parts:
        if len(part.branches) > 1:
            names = [plan.schema.names[own] for own in part.attributes]
            shares = len(mechanism.parts) * part.pivots
            each = "" if shares == 1 else f" with ε = {plan.epsilon / shares:.3g} each"
            chosen = f"Of {_list(names)}, {part.pivots} chosen at random{each}"
            console.print(Text(f"{chosen}; {_beside(part)}."))
            probabilities = None if part.fill is None else part.fill.probabilities(len(names))
            if probabilities is not None:
                console.print("Probability that another answer goes with the chosen one")
                copies = [["even" if value is None else share(value) for value in row] for row in probabilities]
                for own, row in enumerate(copies):
                    row[own] = ""
                print_blocks("chosen \\ other", names, names, copies, console)
    for sentence in learned(plan):
        console.print(sentence)


def _beside(part: Part) -> str:
    """What a report shows beside the answers that were chosen."""
    if part.fill is None:
        return "the report says which"
    if not part.silent:
        return f"the others are {part.fill.title}"
    return f"{part.decoys} of the others, at random, shown beside as decoys, {part.fill.title}; the rest left out"


def _asked(plan: Plan) -> str:
    """How many answers are randomised, and with how much of the budget."""
    numbers = {part.pivots for part in plan.parts}
    chosen = "one random answer" if numbers == {1} else f"{max(numbers)} random answers"
    most = "" if len(numbers) == 1 else "at most "
    where = "" if plan.groups is None else " of each group"
    whole = numbers == {1} and plan.groups is None
    return f"{most}{chosen}{where} randomised with {'the whole' if whole else 'a share of the'} budget"


def learned(plan: Plan) -> list[str]:
    """Sentences about where a plan's parameters came from, if they were learned."""
    if plan.learned is None:
        return []
    rule = f" by the rule '{plan.learned.rule}'" if plan.learned.rule else ""
    phases = ", ".join(f"{source.plan[:12]}…" for source in plan.learned.history)
    return [f"Learned from {plan.learned.reports:,} reports to {phases}{rule}.", *fewer_pivots(plan)]


def fewer_pivots(plan: Plan) -> list[str]:
    """A sentence if a plan asks fewer questions at once than were wanted."""
    if plan.learned is None or plan.learned.pivots is msgspec.UNSET:
        return []
    wanted = plan.learned.pivots
    asked = min((part.pivots for part in plan.parts if part.fill is not None), default=wanted)
    why = f"the reports so far do not support tables given {wanted} answers"
    return [] if asked == wanted else [f"Asks {asked} at a time, fewer than the {wanted} that were wanted: {why}."]


def unmatched(plan: Plan) -> list[str]:
    """A sentence if copies are learned, and questions share some answers although nothing says which go together."""
    groups = plan.groups or (tuple(range(len(plan.schema.attributes))),)
    copied = groups if NAMED[plan.mechanism].learned is CopyFill else ()
    pair = next((found for group in copied if (found := undeclared(plan.schema, group)) is not None), None)
    if pair is None:
        return []
    one, two = (plan.schema.names[own] for own in pair)
    return [
        f"Questions '{one}' and '{two}' share some answers but not all, so that nothing goes together between them; "
        "declare in the schema which answers do ([[alignments]]), or that both are ordered."
    ]


def _describe_counts(counts: Counts, console: Console) -> None:
    console.print(f"Counts of {counts.reports:,} private reports to plan {counts.plan[:12]}… ({counts.detail}).")
    console.print("These are counts of randomised answers; `privtally estimate` turns them into frequencies.")
    table = Table("question", "counts by code 0, 1, 2 …")
    for own, tally in enumerate(counts.attributes):
        table.add_row(str(own + 1), _list([f"{count:,}" for count in tally.tolist()]))
    console.print(table)


def print_estimate(estimate: Estimate, console: Console, truth: Mapping[str, Sequence[float]] | None = None) -> None:
    """Print an estimate as a table with bars, next to the truth if that is known; or round by round."""
    console.print(source(estimate))
    if estimate.rounds is not msgspec.UNSET:
        _print_rounds(estimate.rounds, console)
        _print_notes(estimate, console)
        return
    bars = console.width >= (60 if truth is None else 72)  # a narrower console has no room for them
    table = Table(Column("question", overflow="fold"), Column("answer", overflow="fold"))
    if bars:
        table.add_column("", min_width=6, max_width=30)
    table.add_column("estimate", justify="right", no_wrap=True)
    intervals = all(attribute.low is not msgspec.UNSET for attribute in estimate.attributes.values())
    table.add_column("95 %" if intervals else "± 1 s.e.", justify="right", no_wrap=True)
    if truth is not None:
        table.add_column("truth", justify="right", no_wrap=True)
    everything = chain.from_iterable(blocks(name, attribute) for name, attribute in estimate.attributes.items())
    for name, found in everything:
        shown = sorted(range(len(found.labels)), key=found.frequencies.__getitem__, reverse=True)[:MOST_ROWS]
        for place, code in enumerate(sorted(shown)):
            frequency = found.frequencies[code]
            row: list[RenderableType] = [Text(name if place == 0 else ""), Text(found.labels[code])]
            if bars:
                row.append(Bar(1, 0, min(max(frequency, 0), 1), color="blue"))
            row += [share(frequency), reach(found, code)]
            if truth is not None:
                row.append(share(truth[name][code]) if name in truth else "")
            table.add_row(*row)
        if len(found.labels) > MOST_ROWS:
            table.add_row("", rarer(len(found.labels) - MOST_ROWS))
        table.add_section()
    console.print(table)
    print_numbers(estimate, console)
    _print_notes(estimate, console)


def _print_notes(estimate: Estimate, console: Console) -> None:
    bias = "The standard errors measure spread under these plans; this method has a bias that they do not include."
    for note in (bias, *estimate.notes) if not estimate.has_intervals else estimate.notes:
        console.print(note)


def _print_rounds(rounds: Sequence[RoundEstimate], console: Console) -> None:
    """Print a table for each attribute with a column for each round."""
    for name, last in rounds[-1].attributes.items():
        found = [own.attributes[name] for own in rounds]
        shown = sorted(sorted(range(len(last.labels)), key=last.frequencies.__getitem__, reverse=True)[:MOST_ROWS])
        cells = [[with_error(own.frequencies[code], own.standard_errors[code]) for own in found] for code in shown]
        labels = [last.labels[code] for code in shown]
        print_blocks(name, labels, [f"round {own.round}" for own in rounds], cells, console)
    console.print(HALF_INTERVAL)


def _list(items: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} … ({len(items):,} in all)"
