"""`docs`: the documentation, which is installed with the program."""

from __future__ import annotations

from pathlib import Path

from headway.api.answers import Answer
from headway.api.nearest import nearest
from headway.model.errors import InputError

_PACKAGE = Path(__file__).parents[1]


class DocsResult(Answer, frozen=True):
    """All pages with their titles, where they are, and the text of the page that was asked for."""

    directory: str
    pages: dict[str, str]
    page: str = ""
    text: str = ""


def docs(page: str = "") -> DocsResult:
    """List the pages of the documentation, and return the text of one.

    >>> docs("sizing").text.splitlines()[0]
    '# How much does a task get?'
    """
    installed, cloned = _PACKAGE / "pages", _PACKAGE.parents[1] / "docs"
    directory = installed if installed.is_dir() else cloned  # of an editable install
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(directory.glob("*.md"))}
    page = page.removeprefix("docs/").removesuffix(".md")
    if page and page not in texts:
        raise InputError(f"there is no page {page!r}", where="docs", todo=nearest(page, texts, otherwise="there are"))
    titles = {name: text.partition("\n")[0].removeprefix("# ") for name, text in texts.items()}
    return DocsResult(str(directory), titles, page, texts.get(page, ""))
