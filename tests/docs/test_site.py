"""The documentation as a site: it builds without a warning, no link is dead, and every question finds its answer."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from headway.api.settings import SETTINGS, variable_of
from headway.cli.main import cli
from tests.docs.pages import DOCS, ROOT
from tests.docs.site import Link, Page
from tests.report.run_page.browser import Browser, browsing, obstacle

SEEN = ("index", "first-workflow", "cheat-sheet", "reference/settings")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site and the man page as `make docs` does; return the folder of both."""
    folder = tmp_path_factory.mktemp("site")
    made = re.findall(r"python (-m sphinx .*)", (ROOT / "Makefile").read_text())
    assert len(made) == 2
    for words in made:
        command = [sys.executable, *words.replace("docs/_build", str(folder)).split()]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
    return folder


@pytest.fixture(scope="module")
def pages(built: Path) -> dict[Path, Page]:
    return {path.resolve(): Page(path.resolve()) for path in (built / "html").rglob("*.html")}


def listed() -> set[str]:
    """The pages in the menus: what the toctrees of docs/index.md name."""
    menus = re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "index.md").read_text(), re.DOTALL)
    lines = [line for menu in menus for line in menu.splitlines() if line and not line.startswith(":")]
    return {re.sub(r".*<(.*)>", r"\1", line) for line in lines}  # Title <page>, or page


def test_every_page_is_in_a_menu() -> None:
    missing = {path.stem for path in DOCS.glob("*.md")} - listed() - {"index"}
    assert not missing, (
        f"add {sorted(missing)} to a toctree of docs/index.md; pages about looking at runs to 'See a run'"
    )


def test_no_link_is_dead(pages: dict[Path, Page], built: Path) -> None:
    dead = []
    for path, page in pages.items():
        for link in page.links:
            target = pages.get(link.page)
            if target is None and link.page.exists():
                continue
            if target is None or (link.anchor and link.anchor not in target.anchors):
                dead.append(f"{path.name}: {link.page.name}#{link.anchor}")
    assert dead == []


def test_no_link_in_the_clone_is_dead() -> None:
    """In files that people read without the site: the README, and pages on a host of the repository."""
    dead = []
    for path in [*ROOT.glob("*.md"), *DOCS.glob("*.md"), *(ROOT / "examples").glob("*/*.md")]:
        text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            target = path.parent / link
            if "://" not in link and not target.exists() and target.parent != DOCS / "reference":
                dead.append(f"{path.relative_to(ROOT)}: {link}")
    assert dead == []


def test_links_out_of_the_docs_fit_the_site() -> None:
    module = DOCS / "_ext" / "headway_site" / "project_files.py"
    subprocess.run([sys.executable, "-m", "doctest", str(module)], check=True, capture_output=True)


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Page]) -> None:
    loaded = [address for page in pages.values() for address in page.loaded]
    assert len(loaded) > 100
    assert [address for address in loaded if "//" in address] == []


def clicks(pages: dict[Path, Page], start: Path) -> dict[Path, int]:
    """How many clicks on links in the text lead from one page to each of the others."""
    found, front = {start: 0}, [start]
    for page in front:  # grows while it is walked
        for link in pages[page].in_text:
            if link.page in pages and link.page not in found:
                found[link.page] = found[page] + 1
                front.append(link.page)
    return found


def answers() -> Iterator[tuple[str, list[str]]]:
    """Each newcomer's question, and the pages that its line links to."""
    for line in (DOCS / "questions.md").read_text().splitlines():
        if line.startswith("- "):
            yield line, re.findall(r"\]\(([^)]+)\)", line)


def test_each_question_is_answered_within_two_clicks(pages: dict[Path, Page], built: Path) -> None:
    html = (built / "html").resolve()
    away = clicks(pages, html / "index.html")
    questions = list(answers())
    assert len(questions) >= 30
    asked = set(pages[html / "questions.html"].in_text)
    for question, links in questions:
        assert links, question
        for link in links:
            page, _, anchor = link.partition("#")
            target = Link(html / page.replace(".md", ".html"), anchor)
            assert target in asked, question
            assert away[target.page] <= 2, question
            assert not anchor or anchor in pages[target.page].anchors, question


def test_the_reference_has_everything_that_the_code_has(built: Path) -> None:
    reference = {path.stem: path.read_text() for path in (built / "html" / "reference").glob("*.html")}
    for verb in cli.list_commands(click.Context(cli)):
        assert f'id="headway-{verb}"' in reference["commands"]
    for key in SETTINGS:
        assert variable_of(key) in reference["settings"]
    for name in ("ladder", "learning-rank", "asa", "mixture"):
        assert f">{name}</span>" in reference["policies"]
    for paper in (
        "phung-and-thain-2024",
        "souza-et-al-2020",
        "witt-et-al-2019",
        "zunker-2021",
        "the-glume-thesis-2020",
    ):
        assert f"papers.html#{paper}" in reference["policies"]
    for name in ("Executor", "replay", "RunSettings"):
        assert re.search(rf'id="headway\.{name}"', reference["python-api"])
    for key in ("malleable", "temp", "conda"):
        assert f">{key}</span>" in reference["workflow-schema"]


def test_the_recording_plays_without_a_script() -> None:
    for name in ("first-run.svg", "sizes.svg"):
        picture = (DOCS / "pictures" / name).read_text()
        assert "<script" not in picture
        assert not re.search(r"(href|src)=|url\((?!#)", picture)
    assert "@keyframes" in (DOCS / "pictures" / "first-run.svg").read_text()


def test_the_man_page_can_be_read(built: Path) -> None:
    if shutil.which("man") is None:
        pytest.skip("no man: tests/packages.sh installs it")
    page = built / "man" / "headway.1"
    shown = subprocess.run(
        ["man", "--warnings", "-l", "-P", "cat", str(page)],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "100"},
    )
    assert shown.stderr == ""
    for words in ("SYNOPSIS", "HEADWAY RUN", "--dry-run", "FILES"):
        assert words in shown.stdout


@pytest.mark.browser
@pytest.mark.skipif(bool(obstacle()), reason=obstacle())
def test_pages_in_a_browser(built: Path) -> None:
    """On a phone nothing hangs over the edge, axe finds nothing serious, and the cheat sheet is one sheet of paper."""
    with browsing() as browser:
        for name in SEEN:
            browser.driver.get((built / "html" / f"{name}.html").as_uri())
            assert browser.complaints() == [], name
            for dark in (False, True):
                browser.dark(on=dark)
                assert serious(browser) == [], name
            browser.driver.set_window_size(500, 900)
            assert browser.run("return document.documentElement.scrollWidth <= innerWidth"), name
            browser.driver.set_window_size(1280, 900)
            browser.complaints()  # of axe, which tries to read the style sheets
        browser.driver.get((built / "html" / "cheat-sheet.html").as_uri())
        paper = base64.b64decode(browser.driver.print_page())
        assert len(re.findall(rb"/Type\s*/Page\b", paper)) == 1


def serious(browser: Browser) -> list[str]:
    """What keeps people out: colours that are too close, links without a name, and so on."""
    from selenium_axe_python import Axe

    checker = Axe(browser.driver)
    checker.inject()
    found = [each for each in checker.run()["violations"] if each["impact"] in ("serious", "critical")]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]
