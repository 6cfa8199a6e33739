"""Small parts of SVG drawings that the studies' charts share. Text has the page's own colour, light or dark."""

from __future__ import annotations

from html import escape

TEXT = 'font-size="12" fill="currentColor"'
FAINT = 'stroke="#8c959f" stroke-opacity=".3"'
STRONG = 'stroke="currentColor"'


def drawing(title: str, width: float, height: float, parts: str) -> str:
    """A whole drawing."""
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
    return f'<svg {size} role="img" aria-label="{escape(title)}">{parts}</svg>'


def text(x: float, y: float, words: str, anchor: str = "middle", more: str = "") -> str:
    """Words at a point, which is their middle, start or end."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {TEXT}{more}>{escape(words)}</text>'


def line(x1: float, x2: float, y1: float, y2: float, stroke: str = FAINT) -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}" {stroke}/>'


def rectangle(x: float, y: float, width: float, height: float, colour: str) -> str:
    """A filled rectangle."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'


def hinted(words: str, parts: str, more: str = "") -> str:
    """Parts that show `words` when a reader points at them."""
    return f"<g{more}><title>{escape(words)}</title>{parts}</g>"
