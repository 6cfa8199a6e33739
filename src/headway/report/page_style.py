"""What our HTML pages share: one file with nothing to load from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
  :root { color-scheme: light dark; --paper: #ffffff; --ink: #24292f; --quiet: #6a737d; --line: #d8dee4 }
  @media (prefers-color-scheme: dark) {
    :root { --paper: #0d1117; --ink: #e6edf3; --quiet: #9198a1; --line: #30363d }
  }
  body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; background: var(--paper); color: var(--ink);
         font: 15px/1.5 "Helvetica Neue", Helvetica, Arial, "DejaVu Sans", sans-serif }
  h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem }
  h3 { font-size: 1rem; margin: 1rem 0 .2rem }
  .quiet { color: var(--quiet) }
  .wide { overflow-x: auto }
  table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem }
  th, td { padding: .15rem .55rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
  th:first-child, td:first-child { text-align: left }
  .name { white-space: nowrap }
  .key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 .6em; border-radius: 2px }
  svg { max-width: 100%; height: auto }
"""


def page_of(title: str, style: str, body: Iterable[str]) -> str:
    """A whole page; `style` is what it has besides the shared one."""
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
    """Something to be read second."""
    return f'<p class="quiet">{escape(text)}</p>'


def legend(keys: Iterable[tuple[str, str]]) -> str:
    """Names, each after a square of its colour."""
    parts = (
        f'<span class="name"><span class="key" style="background:{colour}"></span>{escape(name)}</span>'
        for name, colour in keys
    )
    return f"<p>{' '.join(parts)}</p>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already."""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
