"""The page of a run, of a real run in a real browser."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium")
pytest.importorskip("selenium_axe_python")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium_axe_python import Axe

from headway.report.run_page.data import Attempts, Category, Node, PageData, Tasks
from headway.report.run_page.data import Job as PageJob
from headway.report.run_page.page import page_of
from tests.cli.bench import SMALL, Bench
from tests.report.run_page.browser import Browser, browsing, obstacle

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.skipif(bool(obstacle()), reason=obstacle())]
WORKFLOW = """
name: "small: & <b>odd</b>"
tasks:
  make:
    each: {n: [1, 2, 3, 4, 5, 6]}
    run: echo {n} > made-{n}
    outputs: ["made-{n}"]
    resources: {cores: 1, memory: 100 MB}
  grow:
    run: python3 -c "bytearray(120_000_000)"; [ $HEADWAY_TRY = 2 ] && touch grown
    retries: 1
    inputs: [made-1]
    outputs: [grown]
    resources: {cores: 1, memory: 60 MB}
  "<script>bad('x')</script>":
    run: echo "cannot open </script><img src=x onerror=bad()>" >&2; exit 3
    inputs: [made-2]
    outputs: [never]
  last:
    run: cat never
    inputs: [never]
    outputs: [end]
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    home = tmp_path_factory.mktemp("page")
    made = Bench(home / "flow", home)
    made.write(WORKFLOW)
    done = made("run", "-q", "--keep-going", *SMALL)
    assert done.returncode == 1
    return made


@pytest.fixture
def page(flow: Bench, browser: Browser) -> Browser:
    assert "report-1.html" in flow.succeeds("report", "1")
    browser.dark(on=False)
    browser.open(flow.directory / "report-1.html")
    return browser


def test_the_page_says_what_happened(page: Browser) -> None:
    assert page.text("h1") == "small: & <b>odd</b>, run 1"
    assert re.match(r"Failed after .*: 7 tasks run, 1 failed, 1 cut off by that", page.text(".lead"))
    assert "7 of 9" in page.text("#tiles")
    assert "its command exited with code 3" in page.text("#failures")
    assert "cannot open </script><img src=x onerror=bad()>" in page.text("#failures pre")
    assert "Attempts without a result, by cause: exit-code 2." in page.text("#failures")
    assert re.search(r"asks for 60 MB; given 60 MB at first, .* at most 12. MB; 1 retry", page.text("#memory"))
    assert page.run("return document.querySelectorAll('#graph svg text').length") > 3
    assert "ladder" in page.text("#settings")
    assert page.complaints() == []


def test_every_resource_every_picture_as_a_table_and_how_to_do_it_again(page: Browser) -> None:
    choice = Select(page.driver.find_element(By.CSS_SELECTOR, "#memory select"))
    choice.select_by_visible_text("cores")
    assert "asks for 1 core; given 1 core at first, 1 core at last; used at most" in page.text("#memory")
    choice.select_by_visible_text("run time")
    assert "no limit was given; used at most" in page.text("#memory")
    for summary in page.driver.find_elements(By.TAG_NAME, "summary"):
        summary.click()
    rows = page.run(
        "return [...document.querySelectorAll('#memory tbody tr')].map((row) => row.innerText.split('\\t'))"
    )
    grow = next(row for row in rows if row[0] == "grow")
    assert grow[1:6] == ["1", "1", "60 MB", "60 MB", "60 MB"] and grow[7].startswith("12")
    assert page.run("return document.querySelectorAll('#over-time tbody tr').length") == 16
    assert "exit-code (1 task)" in page.text("#failures")
    told = page.text("#settings")
    assert "headway run --again --sizer=ladder" in told and "--cores=2" in told
    assert re.search(r"Python\t\d+\.\d+", told) and re.search(r"machines\t1 with 2 cores, 1 GB memory: ", told)
    assert page.complaints() == []


def test_a_run_writes_its_page_at_its_end(flow: Bench) -> None:
    """Also if it reuses everything, and if a settings file wants it."""
    said = flow.succeeds("run", "make", "--report", *SMALL)
    assert "page in report-2.html" in said and (flow.directory / "report-2.html").is_file()
    flow.write("report = true\n", "headway.toml")
    assert flow.json("run", "make", *SMALL)["page"].endswith("/report-3.html")
    (flow.directory / "headway.toml").unlink()
    assert "6 reused" in (flow.directory / "report-3.html").read_text()


def test_nothing_of_a_run_becomes_code_or_a_request(page: Browser) -> None:
    assert page.run("return document.querySelectorAll('img').length + document.scripts.length") == 2
    loaded = page.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert loaded == []
    page.run("const image = new Image(); image.src = 'http://127.0.0.1:9/x'; document.body.append(image)")
    page.wait("return true")
    assert any("Content Security Policy" in said for said in page.complaints())


def test_the_table_of_tasks_is_searched_sorted_and_read(page: Browser) -> None:
    search = page.driver.find_element(By.CSS_SELECTOR, "#tasks input")
    search.send_keys("make")
    assert "6 of 9" in page.text("#tasks .controls")
    search.clear()
    search.send_keys(Keys.SPACE, Keys.BACKSPACE)
    head = page.driver.find_element(By.XPATH, "//section[@id='tasks']//th/button[text()='used']")
    head.click()
    assert page.run("return document.querySelector('#tasks th[aria-sort]').innerText") == "used"
    first = page.driver.find_element(By.CSS_SELECTOR, "#tasks tbody tr[tabindex]")
    assert first.find_elements(By.TAG_NAME, "td")[0].text == "grow"
    first.send_keys(Keys.ENTER)
    assert re.search(r"attempt 1 .*: exit-code; .*\nattempt 2 .*: success", page.text("#tasks .detail"))
    assert page.complaints() == []


def test_the_timeline_is_moved_by_keys_and_tells_stories(page: Browser) -> None:
    canvas = page.driver.find_element(By.CSS_SELECTOR, "#timeline canvas")
    canvas.send_keys("+", "+", Keys.ARROW_RIGHT)
    begin, end, whole = page.run("return [timeline.from, timeline.to, timeline.whole]")
    assert 0 < begin < end < whole and end - begin == pytest.approx(whole / 4)
    canvas.send_keys("0")
    assert page.run("return timeline.to - timeline.from") == pytest.approx(whole)
    x, y = page.run(
        "const attempt = triesOf[tasks.id.indexOf('grow')].at(-1);"
        "const middle = (attempts.start[attempt] + endOf(attempt)) / 2;"
        "return [timeline.x(middle), timeline.top + (timeline.lane[attempt] + .5) * timeline.tall]"
    )
    page.run("arguments[0].scrollIntoView({block: 'center'})", canvas)
    size = canvas.size
    ActionChains(page.driver).move_to_element_with_offset(
        canvas, round(x - size["width"] / 2), round(y - size["height"] / 2)
    ).click().perform()
    assert page.text("#timeline .detail").startswith("grow: succeeded")
    page.driver.find_element(By.CSS_SELECTOR, "#timeline input").send_keys("make")
    assert page.run("return timeline.found(tasks.id.indexOf('grow'))") is False
    assert page.complaints() == []


def test_dark_and_narrow_and_for_everybody(page: Browser) -> None:
    """axe looks for what keeps people out: colours that are too close, fields without names, and so on."""
    light = page.run("return getComputedStyle(document.body).backgroundColor")
    assert not axe(page)
    page.dark(on=True)
    assert not axe(page)
    assert page.run("return getComputedStyle(document.body).backgroundColor") != light
    page.driver.set_window_size(500, 900)
    try:
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        page.driver.set_window_size(1280, 900)


def axe(page: Browser) -> list[str]:
    checker = Axe(page.driver)
    checker.inject()
    return [f"{found['id']}: {found['nodes'][0]['html']}" for found in checker.run()["violations"]]


def test_a_long_run_is_shown_with_few_elements(browser: Browser, tmp_path: Path) -> None:
    """100,000 tasks: the table holds only the rows that are seen, and its end can be reached."""
    number = 100_000
    file = tmp_path / "long.html"
    file.write_text(page_of(long_run(number), ""))
    browser.open(file)
    assert browser.run("return document.querySelectorAll('#tasks tbody tr').length") < 100
    browser.run("const box = document.querySelector('#tasks .rows'); box.scrollTop = box.scrollHeight")
    browser.wait(f"return document.querySelector('#tasks tbody').innerText.includes('work[{number - 1}]')")
    assert browser.complaints() == []
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert len(re.findall(rb"/Type\s*/Page\b", b64decode(printed))) < 10  # the rows that are seen, and no empty space


def long_run(number: int) -> PageData:
    every = range(number)
    return PageData(
        title="long",
        headline="Succeeded",
        state="succeeded",
        begun_at=1.7e9,
        until=number / 100 + 10,
        categories=[Category("work", "#0072b2", number, number, 0, 0)],
        states=["succeeded"],
        endings=["success"],
        jobs=[PageJob("this machine", "all", 0.0, 0.0, 0.0)],
        nodes=[Node("local", 0)],
        tasks=Tasks([f"work[{n}]" for n in every], [0] * number, [0] * number, [0.0] * number),
        attempts=Attempts(
            task=list(every),
            number=[1] * number,
            node=[0] * number,
            start=[n / 100 for n in every],
            end=[n / 100 + 1 for n in every],
            ending=[0] * number,
            cores=[1.0] * number,
            busy=[1.0] * number,
            given=[100.0] * number,
            used=[50.0] * number,
        ),
    )


def test_ten_thousand_tasks_take_less_than_two_megabytes() -> None:
    page = page_of(long_run(10_000), "")
    assert len(page.encode()) < 2_000_000


def test_the_answer_as_json_and_bad_targets(flow: Bench, tmp_path: Path) -> None:
    told: dict[str, Any] = flow.json("report", "1", "--out", str(tmp_path / "page.html"))
    assert told["run"] == "1" and Path(told["file"]).read_text().startswith("<!DOCTYPE html>")
    assert told["tasks"]["id"][0] == "make[1]" and told["state"] == "failed"
    assert "this file exists" in flow.fails(2, "report", "--out", str(tmp_path / "page.html"))
    assert "there is no such folder" in flow.fails(2, "report", "--out", str(tmp_path / "no/page.html"))
    assert "there is no run 9" in flow.fails(2, "report", "9")
