"""Sphinx builds the site from the Markdown pages of this folder and from pages that `_ext` generates: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from headway.version import __version__

project = "Headway"
author = "the Headway contributors"
copyright = author
release = version = __version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "headway_site"]
exclude_patterns = ["_build", "_ext"]
myst_heading_anchors = 4  # links such as page.md#a-heading, as on GitHub
myst_enable_extensions = ["attrs_block", "attrs_inline"]
suppress_warnings = ["myst.header"]  # pages of tables have headings of the third level under the title

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True
default_role = "code"  # docstrings write `names` as Markdown does
smartquotes = False  # --options stay what one types

html_theme = "furo"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b4a8f", "color-brand-content": "#0b4a8f"},
    "dark_css_variables": {"color-brand-primary": "#7fb2ea", "color-brand-content": "#7fb2ea"},
}
html_title = f"Headway {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_last_updated_fmt = None
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = "$ "
highlight_language = "text"

man_pages = [("reference/man", "headway", "run scientific workflows on a laptop or a Slurm cluster", "", 1)]
man_show_urls = False
