"""Documents in words that a person can read, and their summaries for programs."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, exp
from statistics import fmean
from typing import TYPE_CHECKING, Any

import msgspec
from rich.bar import Bar
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Column, Table
from rich.text import Text

from privtally.cli.console import err, out, print_json
from privtally.collector.pairs import PairEstimate, PairEstimates
from privtally.collector.summaries import TopEstimate, TopLabels
from privtally.documents.counts import Counts
from privtally.documents.estimate import NORMAL_95, Estimate, Frequencies, Located, RoundEstimate
from privtally.documents.plan import Plan
from privtally.exact.rational import log_floor, rounded_up
from privtally.mechanisms.fills import CopyFill, undeclared
from privtally.mechanisms.mechanism import Part
from privtally.mechanisms.named import NAMED
from privtally.mechanisms.together import Together

if TYPE_CHECKING:
    from privtally.lab.advise import Advice
    from privtally.lab.compare import Score
    from privtally.names import HideAmong
    from privtally.schema import Schema
    from privtally.service.operations import CampaignView


def points(value: float) -> str:
    """An error in percentage points."""
    return f"± {number(value)} percentage points"


def number(value: float) -> str:
    """Two digits, and all those before the point."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def share(value: float) -> str:
    """An estimated share, or how often something happens."""
    return f"{100 * value:.1f} %"


def surer(epsilon: float) -> str:
    """What a budget means, in one sentence."""
    times = f"{rounded_up(exp(epsilon)):,f}"
    return (
        f"Privacy budget ε = {epsilon:g}: a report can make anybody at most {times} times surer of something about the "
        "person who sent it."
    )


def recommended(schema: "Schema", epsilon: float, people: int, *, hide_among: "HideAmong") -> "Advice":
    """The campaign that advise recommends; says which, what to expect of it, and what hiding the question costs."""
    from privtally.lab.advise import about_hiding, layout, recommend

    chosen = recommend(schema, epsilon, people, hide_among=hide_among)
    cost = "" if hide_among == 1 else if_said(chosen, recommend(schema, epsilon, people, hide_among=1))
    err.print(f"Chosen for these questions: {layout(chosen.design)}; expect {points(chosen.points)}{cost}.")
    if fewer := about_hiding(schema, hide_among, chosen.design):
        err.print(fewer)
    return chosen


def if_said(chosen: "Advice", said: "Advice") -> str:
    """What hiding the question costs: the end of a sentence, empty if nothing."""
    if number(said.points) == number(chosen.points):
        return ""
    return f"; ± {number(said.points)} if a report may say which question it answers (--hide-among 1)"


MOST_SETS = 20
"""So many sets of questions are listed."""
QUANTILES = {0.25: "a quarter is below", 0.5: "half is below (median)", 0.75: "three quarters are below"}


def _blocks(estimate: Estimate) -> Iterator[tuple[str, Frequencies]]:
    """The frequencies of every attribute with what to call them: among everybody, and among those who answered."""
    for name, attribute in estimate.attributes.items():
        yield name, attribute
        if attribute.answered is not msgspec.UNSET:
            yield f"{name} (of those who answered)", attribute.answered


def _table(*texts: str, numbers: Sequence[str], bars: bool = False) -> Table:
    """A table of texts, which may be folded, perhaps bars, and numbers, which are never cut."""
    table = Table(*(Column(name, overflow="fold") for name in texts))
    if bars:
        table.add_column("", min_width=6, max_width=30)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _most_frequent(shares: Frequencies) -> list[int]:
    """The codes of the most frequent labels, in the labels' order."""
    return sorted(sorted(range(len(shares.labels)), key=shares.frequencies.__getitem__, reverse=True)[:MOST_ROWS])


def print_numbers(estimate: Estimate, console: Console) -> None:
    """Print mean and quantiles of the attributes that have them."""
    table = _table("numbers", "", numbers=("estimate", "95 %"))
    for name, attribute in estimate.attributes.items():
        if attribute.mean is msgspec.UNSET or attribute.quantiles is msgspec.UNSET:
            continue
        answered = "" if attribute.answered is msgspec.UNSET else " (of those who answered)"
        table.add_row(Text(name + answered), "mean", *_cells(attribute.mean))
        for quantile in attribute.quantiles:
            what = QUANTILES.get(quantile.share, f"{100 * quantile.share:.0f} % is below")
            table.add_row("", what, *_cells(quantile))
        table.add_section()
    if table.row_count:
        console.print(table)
        console.print("These intervals include what bins leave open, and for quantiles what rounding to a grid does.")


def _cells(located: Located) -> tuple[str, str]:
    return _number(located.value), f"{_number(located.low)} to {_number(located.high)}"


def _number(value: float) -> str:
    """A number with about four digits, and all those before the point."""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"


def print_top(top: TopEstimate, console: Console) -> None:
    """Print the most frequent labels, the most frequent first."""
    console.print(source(top))
    table = _table("question", "answer", numbers=("estimate", "95 %, all at once"))
    for name, attribute in top.attributes.items():
        for place, label in enumerate(attribute.labels):
            frequency = share(attribute.frequencies[place])
            table.add_row(Text(name if place == 0 else ""), Text(label), frequency, reach(attribute, place))
        if len(attribute.labels) < attribute.of:
            table.add_row("", rarer(attribute.of - len(attribute.labels)))
        table.add_section()
    console.print(table)
    console.print("The intervals of all answers to a question hold together 95 % of the time, chosen or not.")
    for note in top.notes:
        console.print(note)


def rarer(count: int) -> str:
    """A row for the answers that are not shown."""
    return "… and 1 rarer one" if count == 1 else f"… and {count:,} rarer ones"


def source(estimate: Estimate | TopEstimate) -> str:
    """What an estimate is worth, and in a second line where it came from."""
    provenance = estimate.provenance
    reports = " + ".join(f"{phase.reports:,}" for phase in provenance.phases)
    how = f"{provenance.mechanism}, ε = {provenance.phases[0].epsilon:g}, method {estimate.method}"
    return f"{_worth(estimate)}\nFrom {reports} private reports: {how}."


def _worth(estimate: Estimate | TopEstimate) -> str:
    if isinstance(estimate, TopEstimate):
        widths = [
            high - low
            for attribute in estimate.attributes.values()
            for low, high in zip(attribute.low, attribute.high, strict=True)
        ]
        return f"The most frequent answers, each share known to about {points(50 * fmean(widths))}."
    if not estimate.has_intervals:
        return "Estimated shares of all answers; the method 'paper' has a bias here that no ± includes."
    return f"A share is known to about {points(100 * estimate.half_width)}, on average over all answers."


def reach(attribute: Frequencies | TopLabels, code: int) -> str:
    """The 95 % interval of a frequency, or one standard error where there is none."""
    if attribute.low is msgspec.UNSET or attribute.high is msgspec.UNSET:
        return f"± {100 * attribute.standard_errors[code]:.1f} points"
    low, high = 100 * attribute.low[code], 100 * attribute.high[code]
    return f"{low:.1f}{'–' if low >= 0 else ' to '}{high:.1f} %"


HALF_INTERVAL = "± is half of a 95 % interval, in percentage points."
MOST_ROWS = 40
HEADER_WIDTH = 16
"""Names and labels above a column are folded to this width."""


def print_blocks(
    corner: str, rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[str]], console: Console
) -> None:
    """Print a table in blocks of columns, as many as fit the console beside each other, so that no cell is cut."""
    names = min(max(map(cell_len, [corner, *rows])), 2 * HEADER_WIDTH)
    widest = max(cell_len(cell) for row in cells for cell in row)
    width = max(widest, min(max(map(cell_len, columns)), HEADER_WIDTH))
    step = max((console.width - names - 4) // (width + 3), 1)
    for start in range(0, min(len(columns), MOST_ROWS), step):
        block = slice(start, min(start + step, MOST_ROWS))
        table = Table(Column(Text(corner), width=names, overflow="fold"))
        for name in columns[block]:
            table.add_column(Text(name), justify="right", width=width, overflow="fold")
        for name, row in zip(rows[:MOST_ROWS], cells, strict=False):
            table.add_row(Text(name), *row[block])
        console.print(table)
    if max(len(rows), len(columns)) > MOST_ROWS:
        console.print(f"Only the first {MOST_ROWS} of {max(len(rows), len(columns)):,} are shown; --json has all.")


def with_error(frequency: float, standard_error: float) -> str:
    """A share with half of its 95 % interval, in percentage points."""
    return f"{share(frequency)} ± {100 * NORMAL_95 * standard_error:.1f}"


def print_pair(pair: PairEstimate, console: Console) -> None:
    """Print a two-way table."""
    first, second = pair.attributes
    console.print(f"{pair.reports:,} private reports answer both questions")
    cells = [
        [with_error(frequency, error) for frequency, error in zip(row, errors, strict=True)]
        for row, errors in zip(pair.frequencies, pair.standard_errors, strict=True)
    ]
    print_blocks(f"{first} \\ {second}", pair.labels[0], pair.labels[1], cells, console)
    end = ", no entry below 0" if pair.method == "likelihood" else ""
    console.print(f"Rows and columns add up to the {pair.method} estimates of each question{end}. {HALF_INTERVAL}")
    if pair.noisy:
        squares = [(NORMAL_95 * error) ** 2 for errors in pair.standard_errors for error in errors]
        times = ceil(4 * sum(squares) * len(squares))
        more = f"about {times:,} times as many reports make ± half as large as the mean entry"
        console.print(f"Warning: ± is as large as the entries on average, so this table says little; {more}.")


def say_campaign(campaign: "CampaignView", *, json: bool, public_url: str | None = None) -> None:
    """Print a campaign with its link and the numbers of its reports."""
    if json:
        print_json(campaign)
        return
    out.print(f"{campaign.title} ({campaign.mechanism}, ε = {campaign.epsilon:g}), {campaign.state.value}")
    out.print(f"  id       {campaign.id}")
    out.print(f"  link     {(public_url or '').rstrip('/')}/s/{campaign.id}")
    rounds = campaign.phases[-1].round > 1
    for phase in campaign.phases:
        of_round = f" of round {phase.round}" if rounds else ""
        people = "1 person has" if phase.reports == 1 else f"{phase.reports:,} people have"
        out.print(f"  phase {phase.phase}{of_round}  {people} answered (plan {phase.plan[:12]}…)")


def headline(plan: Plan) -> str:
    """A plan in one line."""
    place = f"phase {plan.phase}" if plan.round == 1 else f"phase {plan.phase} (round {plan.round})"
    return f"plan {plan.digest[:12]}…, {place} of {plan.name}, ε = {plan.epsilon:g}"


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
                "mechanism": document.name,
                "epsilon": document.epsilon,
                "answers": document.answers,
                "realised_epsilon": log_floor(document.mechanism.ratio),
                "attributes": {attribute.name: attribute.size for attribute in document.schema.attributes},
                "groups": msgspec.to_builtins(document.groups),
                "parts": msgspec.to_builtins(document.parts),
                "together": msgspec.to_builtins(document.together),
            }
        case Counts():
            counts = [tally.tolist() for tally in document.attributes]
            facts = {"plan": document.plan, "reports": document.reports, "attributes": counts}
            return {"kind": "counts", **facts, "kept": document.detail}
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
    if plan.learns and plan.learned is None:
        console.print(f"{NAMED['spl'].title}. The second phase is learned from this one:")
    console.print(NAMED[plan.name].title.format(asked=_asked(plan)))
    if plan.groups is not None:
        groups = "; ".join(_list([plan.schema.names[place] for place in group]) for group in plan.groups)
        console.print(Text(f"In {len(plan.groups)} groups, each with a question and a share of the budget: {groups}."))
    mechanism = plan.mechanism
    realised = log_floor(mechanism.ratio)
    console.print(f"Promised: ε = {plan.epsilon:g} for a whole record. Realised by integer weights: ε = {realised}.")
    if isinstance(mechanism, Together):
        _describe_together(plan, mechanism, console)
        return
    table = Table("question", "answers", "kept as it is", title="What happens to an answer", title_justify="left")
    for attribute, (number, place) in zip(plan.schema.attributes, mechanism.places, strict=True):
        part = mechanism.parts[number]
        channel = part.asked[place]
        kept = share(channel.inside * channel.same / channel.total)
        if channel.inside > 1:
            kept += f" as one of {channel.inside:,} of {channel.outputs:,} codes"
        when = "" if len(part.branches) == 1 else " if chosen"
        answers = "rounded at random to " * (attribute.grid is not None) + _list(attribute.labels)
        table.add_row(Text(attribute.name), Text(answers), kept + when)
    console.print(table)
    for part in mechanism.parts:
        if len(part.branches) > 1:
            names = [plan.schema.names[place] for place in part.attributes]
            shares = len(mechanism.parts) * part.pivots
            each = "" if shares == 1 else f" with ε = {plan.epsilon / shares:.3g} each"
            chosen = f"Of {_list(names)}, {part.pivots} chosen at random{each}"
            console.print(Text(f"{chosen}; {_beside(part)}."))
            probabilities = None if part.fill is None else part.fill.probabilities(len(names))
            if probabilities is not None:
                console.print("Probability that another answer goes with the chosen one")
                copies = [["even" if value is None else share(value) for value in row] for row in probabilities]
                for place, row in enumerate(copies):
                    row[place] = ""
                print_blocks("chosen \\ other", names, names, copies, console)
    for sentence in learned(plan):
        console.print(sentence)


def _describe_together(plan: Plan, mechanism: Together, console: Console) -> None:
    """Which questions are asked together, and what happens to their answers."""
    table = Table("questions", "answers", "kept as it is", title="What happens to the answers", title_justify="left")
    for places, channel in list(zip(mechanism.sets, mechanism.asked, strict=True))[:MOST_SETS]:
        kept = share(channel.inside * channel.same / channel.total)
        if channel.inside > 1:
            kept += f" as one of {channel.inside:,} of {channel.outputs:,} codes"
        names = " and ".join(plan.schema.names[place] for place in places)
        table.add_row(Text(names), f"{channel.inputs:,} together" if len(places) > 1 else f"{channel.inputs:,}", kept)
    console.print(table)
    if (more := len(mechanism.sets) - MOST_SETS) > 0:
        console.print(f"and {more:,} more sets of questions")
    size = len(mechanism.sets[0])
    console.print(f"Of {mechanism.joint:,} sets of {size} questions one is chosen at random; the report says which.")
    if mechanism.single:
        console.print(f"{share(mechanism.single)} of the people are asked a single question instead.")


def _beside(part: Part) -> str:
    """What a report shows beside the answers that were chosen."""
    if part.fill is None:
        return "the report says which"
    if not part.silent:
        return f"the others are {part.fill.title}"
    return f"{part.decoys} of the others, at random, shown beside as decoys, {part.fill.title}; the rest left out"


def _asked(plan: Plan) -> str:
    """How many answers are randomised, and with how much of the budget."""
    if plan.together is not None:
        return f"{plan.together.size} random answers together randomised with the whole budget"
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
    copied = groups if NAMED[plan.name].learned is CopyFill else ()
    pair = next((pair for group in copied if (pair := undeclared(plan.schema, group)) is not None), None)
    if pair is None:
        return []
    one, two = (plan.schema.names[place] for place in pair)
    return [
        f"Questions '{one}' and '{two}' share some answers but not all, so that nothing goes together between them; "
        "declare in the schema which answers do ([[alignments]]), or that both are ordered."
    ]


def _describe_counts(counts: Counts, console: Console) -> None:
    console.print(f"Counts of {counts.reports:,} private reports to plan {counts.plan[:12]}… ({counts.detail}).")
    console.print("These are counts of randomised answers; `privtally estimate` turns them into frequencies.")
    table = Table("question", "counts by code 0, 1, 2 …")
    for place, tally in enumerate(counts.attributes):
        table.add_row(str(place + 1), _list([f"{count:,}" for count in tally.tolist()]))
    console.print(table)


def print_estimate(estimate: Estimate, console: Console, truth: Mapping[str, Sequence[float]] | None = None) -> None:
    """Print an estimate as a table with bars, next to the truth if that is known; or round by round."""
    console.print(source(estimate))
    if estimate.rounds is msgspec.UNSET:
        _print_shares(estimate, console, truth)
    else:
        _print_rounds(estimate.rounds, console)
    if not estimate.has_intervals:
        console.print(
            "The standard errors measure spread under these plans; this method has a bias that they do not include."
        )
    for note in estimate.notes:
        console.print(note)


def _print_shares(estimate: Estimate, console: Console, truth: Mapping[str, Sequence[float]] | None) -> None:
    bars = console.width >= (60 if truth is None else 72)  # a narrower console has no room for them
    numbers = ["estimate", "95 %" if estimate.has_intervals else "± 1 s.e.", *["truth"] * (truth is not None)]
    table = _table("question", "answer", numbers=numbers, bars=bars)
    for name, frequencies in _blocks(estimate):
        for place, code in enumerate(_most_frequent(frequencies)):
            frequency = frequencies.frequencies[code]
            row: list[RenderableType] = [Text(name if place == 0 else ""), Text(frequencies.labels[code])]
            if bars:
                row.append(Bar(1, 0, min(max(frequency, 0), 1), color="blue"))
            row += [share(frequency), reach(frequencies, code)]
            if truth is not None:
                row.append(share(truth[name][code]) if name in truth else "")
            table.add_row(*row)
        if len(frequencies.labels) > MOST_ROWS:
            table.add_row("", rarer(len(frequencies.labels) - MOST_ROWS))
        table.add_section()
    console.print(table)
    print_numbers(estimate, console)


def _print_rounds(rounds: Sequence[RoundEstimate], console: Console) -> None:
    """Print a table for each attribute with a column for each round."""
    for name, last in rounds[-1].attributes.items():
        estimates = [estimated.attributes[name] for estimated in rounds]
        shown = _most_frequent(last)
        cells = [
            [with_error(estimate.frequencies[code], estimate.standard_errors[code]) for estimate in estimates]
            for code in shown
        ]
        labels = [last.labels[code] for code in shown]
        print_blocks(name, labels, [f"round {estimated.round}" for estimated in rounds], cells, console)
    console.print(HALF_INTERVAL)


def _list(items: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} … ({len(items):,} in all)"


def print_comparison(rows: Sequence["Score"], people: int, runs: int, *, every: bool) -> None:
    """The best way to ask in one sentence, and all of them as a table."""
    from privtally.lab.compare import SIMPLEX

    for epsilon in dict.fromkeys(row.epsilon for row in rows):
        ranked = [row for row in rows if row.epsilon == epsilon]
        hidden = [row for row in ranked if row.asking.mechanism not in ("smp", "pairs")][:1]
        said = [f"{row.name} with method {row.method}, {points(row.points)}" for row in (ranked[0], *hidden)]
        hides = (
            f"; of those that hide which question was really used, {said[1]}" if hidden not in ([], ranked[:1]) else ""
        )
        alike = len({row.name for row in ranked if not row.worse_than(ranked[0])} - {ranked[0].name})
        ways = "1 other way is" if alike == 1 else f"{alike} other ways are"
        apart = f" These runs do not tell it apart: {ways} within two standard errors." if alike else ""
        out.print(f"Best at ε = {epsilon:g}: {said[0]}{hides}.{apart}")
    out.print(f"{people:,} people, {runs} simulated runs; ± is 1.96 times the error of a share, in percentage points.")
    table = Table("ε", "way to ask", "method", *(Column(name, justify="right") for name in ("measured", "s.e.")))
    best: dict[tuple[Any, ...], Score] = {}
    for row in rows:  # the best first
        best.setdefault((row.epsilon, *row.asking.options.values()), row)
    shown = rows if every else list(best.values())
    for place, row in enumerate(shown):
        if place and shown[place - 1].epsilon != row.epsilon:
            table.add_section()
        spread = row.standard_error if row.mse else None
        error = "" if spread is None else number(row.points * spread / row.mse / 2)
        table.add_row(f"{row.epsilon:g}", row.name, row.method, f"± {row.points:.3g}", error)
    out.print(table)
    if len(shown) < len(rows):
        out.print(f"The best method of each way to ask; --all shows all {len(rows)} rows.")
    if any(row.method.endswith(SIMPLEX) for row in shown):
        out.print(f"{SIMPLEX}: shares moved to the nearest ones that add up to 100 % with none below 0.")


def print_audit(part: dict[str, Any], console: Console) -> None:
    """Print the audit of a plan."""
    kind = "exactly" if part["exact"] else "at most (a bound from the structure; too large to enumerate)"
    console.print(surer(part["epsilon"]))
    console.print(f"Plan {part['plan'][:12]}…, {part['mechanism']}, phase {part['phase']}")
    console.print(f"Between any two records: ε = {part['epsilon']:g} promised, {kind} {part['realised']} realised.")
    if part["answers"] > 1:
        often = f"{part['answers']} times in this campaign, ε = {part['total_epsilon']:g} in all"
        console.print(f"One person may answer {often}.")
    table = Table("answers that differ", "ε", title="Two people who differ in …", title_justify="left")
    for entry in part["by_differing_attributes"]:
        table.add_row(str(entry["differing"]), f"{entry['realised']:.6f}")
    console.print(table)
    knows = part["observer"] == "knows-totals"
    if part["pivot_guess"] is not None:
        often = _gained(part["pivot_guess"], part["pivot_guess_without_report"])
        if not part["pivot_guess_exact"]:
            often = f"at most {often} (a bound; too large to enumerate)"
        who = "Someone who knows the totals and sees a report" if knows else "Someone who sees a report"
        console.print(f"{who} guesses which question was really used right {often}.")
        if knows and part["pivot_guess_knowing_nothing"] is not None:
            console.print(f"Someone who knows nothing of the answers: {share(part['pivot_guess_knowing_nothing'])}.")
    for name, guess in (part["value_guesses"] or {}).items():
        often = _gained(guess["with_report"], guess["without_report"])
        console.print(f"Someone who sees your report guesses your answer to '{name}' right {often}.")
    if part["bits"] is not None:
        console.print(
            f"A report says {part['bits']:.4f} bits about a whole record; 1 bit would settle a question of yes or no."
        )
    if part["value_guesses"] is None:
        console.print("What an observer can guess is too large to enumerate for this plan.")
    _print_poisoning(part["poisoning"], console)


def _print_poisoning(poisoning: dict[str, Any], console: Console) -> None:
    effects = {name: effect for name, effect in poisoning["attributes"].items() if effect is not None}
    if not effects:
        console.print(
            "What made-up reports can do is not computed for this plan: the counts of its questions one by one do not "
            "determine their totals, only whole reports may."
        )
        return
    name, worst = max(effects.items(), key=lambda item: abs(item[1]["shift_points"]))
    line = f"If {100 * poisoning['share']:.0f} % of those who answer make up their reports together, they move "
    line += f"'{worst['label']}' of '{name}' {_moved(worst['shift_points'])}"
    if worst["quiet_shift_points"] != worst["shift_points"]:
        quietly = _moved(worst["quiet_shift_points"])
        line += f", which shows, as too many answer that question; choosing questions as told they move it {quietly}"
    if worst["hidden_below_share"] is not None:
        hidden = share(worst["hidden_below_share"])
        line += f". That attack is hidden up to a share of {hidden}: honest people with other "
        line += "answers would leave the same counts of every question. A weaker one hides at any share"
    console.print(f"{line}.")


def _gained(with_report: float, without_report: float) -> str:
    """How often a guess is right with a report, beside how often it is without."""
    informed, known = share(with_report), share(without_report)
    if informed == known:
        return f"{informed} of the time, as often as without the report"
    return f"{informed} of the time instead of {known}"


def _moved(points: float) -> str:
    """How far a total is moved; 100 percentage points are all the room that it has."""
    return "to any value" if abs(points) >= 100 else f"by {abs(points):.1f} percentage points"
