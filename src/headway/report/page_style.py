"""Parts that all HTML reports share: style, tables, legends. Pages are self-contained and adapt to dark mode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby
from operator import itemgetter
from typing import Any

from headway.report.columns import Field

STYLE = """
  :root { color-scheme: light dark; --paper: #ffffff; --ink: #24292f; --quiet: #59636e; --line: #d8dee4;
          --good: #1a7f37; --bad: #cf222e }
  @media (prefers-color-scheme: dark) {
    :root { --paper: #0d1117; --ink: #e6edf3; --quiet: #9198a1; --line: #30363d; --good: #3fb950; --bad: #ff7b72 }
  }
  body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; background: var(--paper); color: var(--ink);
         font: 15px/1.5 "Helvetica Neue", Helvetica, Arial, "DejaVu Sans", sans-serif }
  h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem }
  h3 { font-size: 1rem; margin: 1.4rem 0 .2rem }
  p, li { max-width: 60rem } li { margin: .2rem 0 }
  figure { margin: .6rem 0 } figcaption { font-size: .9rem; font-weight: 600 }
  .lead { font-size: 1.1rem }
  .quiet { color: var(--quiet) }
  .pass { color: var(--good); font-weight: 600 } .fail { color: var(--bad); font-weight: 600 }
  .wide { overflow-x: auto }
  table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; margin: .3rem 0 }
  th, td { padding: .15rem .55rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
  th { white-space: normal; vertical-align: bottom }
  th[colspan] { text-align: center; white-space: nowrap; color: var(--quiet) }
  th:first-child, td:first-child { text-align: left; white-space: nowrap }
  .wide th:first-child, .wide td:first-child { position: sticky; left: 0; background: var(--paper) }
  thead tr + tr th:first-child { text-align: right; white-space: normal; position: static }
  .words td, .words th { white-space: normal; text-align: left; vertical-align: top }
  .words td:first-child { white-space: nowrap }
  .name { white-space: nowrap; display: inline-block; margin-right: .9em }
  .key { display: inline-block; width: .8em; height: .8em; margin: 0 .35em 0 0; border-radius: 2px }
  details { margin: .3rem 0 } summary { cursor: pointer }
  svg { max-width: 100%; height: auto }
  @media print {
    html, body { font-size: 12px } body { margin: 0; max-width: none }
    .wide { overflow: visible } th, td { padding: .1rem .3rem }
    h2, h3, figcaption, .keys { break-after: avoid } svg, tr { break-inside: avoid }
    .key, svg { print-color-adjust: exact }
  }
"""


def page_of(title: str, style: str, body: Iterable[str]) -> str:
    """A whole HTML page; `style` is CSS in addition to the shared style."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}{style}</style></head><body>",
            *body,
            "</body></html>",
            "",
        ]
    )


def quiet_paragraph(text: str) -> str:
    """A paragraph of explanation in a muted colour."""
    return f'<p class="quiet">{escape(text)}</p>'


def legend(keys: Iterable[tuple[str, str]]) -> str:
    """A legend of (name, colour) pairs."""
    parts = (
        f'<span class="name"><span class="key" style="background:{colour}"></span>{escape(name)}</span>'
        for name, colour in keys
    )
    return f'<p class="keys">{" ".join(parts)}</p>'


def table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """A table; cells must be HTML already."""
    return _table("<tr>" + "".join(f"<th>{escape(text)}</th>" for text in heads) + "</tr>", rows)


def grouped_table(heads: Sequence[tuple[str, str]], rows: Iterable[Iterable[str]]) -> str:
    """A table whose heads are (group, title); each group name, unless empty, stands once above its titles."""
    if not any(group for group, _ in heads):
        return table([title for _, title in heads], rows)
    groups, titles = [], []
    for group, members in groupby(heads, key=itemgetter(0)):
        own = [escape(title) for _, title in members]
        if group:
            groups.append(f'<th colspan="{len(own)}">{escape(group)}</th>')
            titles += [f"<th>{title}</th>" for title in own]
        else:
            groups += [f'<th rowspan="2">{title}</th>' for title in own]
    return _table(f"<tr>{''.join(groups)}</tr><tr>{''.join(titles)}</tr>", rows)


def fields_table(heading: str, names: Iterable[str], rows: Iterable[Any], fields: Sequence[Field]) -> str:
    """A table with a line per row and a column per field, as `columns.table_lines` draws it for the terminal."""
    heads = [("", heading), *((field.group, field.title) for field in fields)]
    cells = ([name, *(field.value(row) for field in fields)] for name, row in zip(names, rows, strict=True))
    return grouped_table(heads, (map(escape, line) for line in cells))


def words_table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """A table whose cells hold sentences, which may wrap."""
    return f'<div class="words">{table(heads, rows)}</div>'


def _table(head: str, rows: Iterable[Iterable[str]]) -> str:
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'
