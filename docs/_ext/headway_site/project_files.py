"""Pages of the site that are files of the project's root, and links that fit the site."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[3]
FILES = {
    "ARCHITECTURE.md": "architecture",
    "CHANGELOG.md": "changes",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
}
# Folders that the site does not have: their links become plain text, which says where to look in a clone.
_OUTSIDE = r"(?:examples|benchmarks|src|tests|papers/)"


def site_links(text: str, *, in_reference: bool) -> str:
    """Return the text of a page with links that fit the site.

    >>> site_links("See [the map](../ARCHITECTURE.md#glossary).", in_reference=False)
    'See [the map](reference/architecture.md#glossary).'
    >>> site_links("Run [primes](../examples/python/primes.py).", in_reference=False)
    'Run primes (`examples/python/primes.py`).'
    >>> site_links("More in [docs/pool.md](pool.md#limits).", in_reference=False)  # Sphinx puts the title there
    'More in [](pool.md#limits).'
    """
    text = re.sub(r"\[(?:docs/)?[\w-]+\.md\]\((?=[^)]*\.md)", "[](", text)
    if in_reference:
        return text
    for file, page in FILES.items():
        text = re.sub(rf"\]\(\.\./{re.escape(file)}(#[^)]*)?\)", rf"](reference/{page}.md\1)", text)
    picture = r'\[?<img src="(\.\./[^"]+)"[^>]*>\]?(?:\(\1\))?'
    text = re.sub(picture, r"![](\1)", text)
    return re.sub(rf"(?<!!)\[([^\]]+)\]\(\.\./({_OUTSIDE}[^)]*)\)", _plain, text)


def _plain(link: re.Match[str]) -> str:
    """Return a link as text; one that shows the path already says it once."""
    words, path = link[1], link[2]
    return words if path in words else f"{words} (`{path}`)"


def _page(file: str) -> Callable[[], str]:
    def page() -> str:
        text = (ROOT / file).read_text(encoding="utf-8")
        text = re.sub(r"\]\(docs/", "](../", text)
        for other, name in FILES.items():
            text = text.replace(f"]({other}", f"]({name}.md")
        text = re.sub(r"\[([^\]]+)\]\(README\.md[^)]*\)", r"\1", text)
        return re.sub(rf"(?<!!)\[([^\]]+)\]\(({_OUTSIDE}[^)]*)\)", _plain, text)

    return page


PAGES = {name: _page(file) for file, name in FILES.items()}
