"""The frames of the dashboard's pages; what they show comes later, as data."""

from __future__ import annotations

from headway.dashboard.pages import list_page, run_page

HOSTILE = "<script>bad()</script>"


def test_names_stay_text() -> None:
    for page in (list_page(HOSTILE, "csrf"), run_page(HOSTILE, "csrf")):
        assert HOSTILE not in page and "&lt;script&gt;bad()" in page
