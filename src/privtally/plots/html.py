"""Estimate -> a table with bars, as HTML for notebooks: no script, and colours that serve on light and dark pages."""

from collections.abc import Iterator
from html import escape

import msgspec

from privtally.documents.estimate import AttributeEstimate, Estimate, Frequencies, Located, headline
from privtally.plots.estimate import bounds, most_frequent

MOST_ROWS = 400
"""A table with more labels than this ends early and says so."""

_WIDTH, _HEIGHT = 220, 16
_CELL = "text-align:left;padding:1px 10px;background:transparent"
_NUMBER = (
    "text-align:right;padding:1px 10px;background:transparent;font-variant-numeric:tabular-nums;white-space:nowrap"
)
_FAINT = "opacity:0.75;font-weight:normal"


def table(estimate: Estimate) -> str:
    """Every label with its frequency, drawn and in figures, and its 95 % interval."""
    attributes = estimate.attributes
    scale = max(float(bounds(attribute).max()) for attribute in attributes.values())
    optional = any(own.answered is not msgspec.UNSET for own in attributes.values())
    what = "± s.e., without the bias" if not estimate.has_intervals else "95 % interval"
    heads = ["", "", "share of people", what, *["of those who answered"] * optional]
    rows, shown = [_row("th", heads)], 0
    for name, own in attributes.items():
        order = most_frequent(own.frequencies, MOST_ROWS // 10)
        if shown + len(order) > MOST_ROWS:
            rows.append(_line(f"and more; {len(attributes):,} questions in all, every one of them in to_pandas()"))
            break
        rows += _attribute(name, own, order, scale, optional=optional)
        shown += len(order)
    notes = "".join(f'<p style="{_FAINT}">{escape(note)}</p>' for note in estimate.notes)
    title = escape(headline(estimate.provenance, estimate.method))
    caption = f'<caption style="text-align:left;color:inherit">{title}</caption>'
    return f'<table style="border-collapse:collapse">{caption}{"".join(rows)}</table>{notes}'


def _attribute(name: str, own: AttributeEstimate, order: list[int], scale: float, *, optional: bool) -> Iterator[str]:
    left_out = f" (top {len(order)} of {len(own.labels):,})" if len(order) < len(own.labels) else ""
    yield _line(f"<b>{escape(name)}</b>{left_out}")
    low, high = bounds(own)
    answered = _texts(own.answered) if own.answered is not msgspec.UNSET else []
    texts = _texts(own)
    for code in order:
        bar = _bar(own.frequencies[code], low[code], high[code], scale)
        beside = ["{} ({})".format(*answered[code]) if code < len(answered) else ""] * optional
        yield _row("td", [escape(own.labels[code]), bar, *texts[code], *beside])
    if own.mean is not msgspec.UNSET:
        quantiles = () if own.quantiles is msgspec.UNSET else own.quantiles
        texts_below = [f"{100 * quantile.share:g} % below {_number(quantile)}" for quantile in quantiles]
        summary = "; ".join([f"mean {_number(own.mean)}", *texts_below])
        yield _line(f'<span style="{_FAINT}">{summary}</span>')


def _texts(found: Frequencies) -> list[tuple[str, str]]:
    """The frequency of each label and its interval, in percent."""
    if found.low is msgspec.UNSET or found.high is msgspec.UNSET:
        errors = [f"± {100 * error:.1f}" for error in found.standard_errors]
    else:
        pairs = zip(found.low, found.high, strict=True)
        errors = [f"{100 * low:.1f} – {100 * high:.1f}" for low, high in pairs]
    return [(f"{100 * own:.1f} %", error) for own, error in zip(found.frequencies, errors, strict=True)]


def _number(found: Located) -> str:
    return f"{found.value:.3g} ({found.low:.3g} – {found.high:.3g})"


def _bar(value: float, low: float, high: float, scale: float) -> str:
    """A bar from 0 to a frequency and a line over its interval; what is below 0 has no room."""
    end, start, stop = (max(0.0, _WIDTH * own / scale) for own in (value, low, high))
    middle = _HEIGHT / 2
    ends = "".join(f"M{x:.1f} {middle - 3:g}V{middle + 3:g}" for x in (start, stop))
    return (
        f'<svg width="{_WIDTH + 4}" height="{_HEIGHT}" viewBox="-2 0 {_WIDTH + 4} {_HEIGHT}" aria-hidden="true">'
        f'<rect y="2" width="{end:.1f}" height="{_HEIGHT - 4}" fill="#4c8cc4" fill-opacity="0.6"/>'
        f'<path d="M{start:.1f} {middle:g}H{stop:.1f}{ends}" stroke="currentColor" fill="none"/></svg>'
    )


def _row(tag: str, cells: list[str]) -> str:
    styles = [_CELL, _CELL, *[_NUMBER] * (len(cells) - 2)]
    faint = f";{_FAINT}" if tag == "th" else ""
    made = (f'<{tag} style="{style}{faint}">{cell}</{tag}>' for cell, style in zip(cells, styles, strict=True))
    return f"<tr>{''.join(made)}</tr>"


def _line(text: str) -> str:
    """A row of one cell."""
    return f'<tr><td colspan="5" style="{_CELL};padding-top:6px">{text}</td></tr>'
