"""The built site as a reader's browser sees it: pages, anchors and links."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit


class Link(NamedTuple):
    """Where a link leads: a file of the site and an anchor in it, or nothing for the top."""

    page: Path
    anchor: str


class Page(HTMLParser):
    """The anchors of a page, all its links, and the links of its text without menus."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.anchors: set[str] = set()
        self.loaded: list[str] = []  # addresses of pictures, styles and scripts
        self.links: list[Link] = []
        self.in_text: list[Link] = []
        self._articles = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        self.anchors.update(name for name in (said.get("id"), said.get("name")) if name)
        self._articles += tag == "article"
        if tag in ("img", "script", "link") and (address := said.get("src") or said.get("href")):
            self.loaded.append(address)
        if tag == "a" and (address := said.get("href")):
            parts = urlsplit(address)
            if not parts.scheme and not parts.netloc:
                link = Link(
                    (self.path.parent / unquote(parts.path)).resolve() if parts.path else self.path,
                    unquote(parts.fragment),
                )
                self.links.append(link)
                if self._articles:
                    self.in_text.append(link)

    def handle_endtag(self, tag: str) -> None:
        self._articles -= tag == "article"
