"""A Sphinx extension that writes the pages of `reference/` from Headway's code before Sphinx reads the pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from headway_site import commands, json_results, policies, project_files, python_api, settings, workflow_schema

# The name of a page, and the function that returns its Markdown.
PAGES: dict[str, Callable[[], str]] = {
    "commands": commands.page,
    "man": commands.man_page,
    "workflow-schema": workflow_schema.page,
    "settings": settings.page,
    "policies": policies.page,
    "python-api": python_api.page,
    "json-results": json_results.page,
    **project_files.PAGES,
}


def write_pages(app: Sphinx) -> None:
    """Write every generated page; one that has not changed is left alone, so that Sphinx does not read it again."""
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):
        if old.stem not in PAGES:
            old.unlink()
    for name, page in PAGES.items():
        path, text = folder / f"{name}.md", page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def point_into_the_site(app: Sphinx, docname: str, source: list[str]) -> None:
    """Change links to files outside of `docs/`, which are right in a clone, into links that are right in the site."""
    text = source[0].replace("```tsv\n", "```text\n")  # Sphinx has no colours for tables
    source[0] = project_files.site_links(text, in_reference=docname.startswith("reference/"))


def open_to_all(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Let the keyboard scroll wide blocks of code, and tell screen readers the level of the menu's headings."""
    menu, body = context.get("furo_navigation_tree", ""), context.get("body", "")
    context["furo_navigation_tree"] = menu.replace('role="heading"', 'role="heading" aria-level="2"')
    context["body"] = body.replace("<pre>", '<pre tabindex="0">')


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx what to call, and when."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", point_into_the_site)
    app.connect("html-page-context", open_to_all, priority=900)  # after the theme has made the menu
    return {"parallel_read_safe": True, "parallel_write_safe": True}
