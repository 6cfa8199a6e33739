"""The dashboard in a real browser, beside a run that really goes on."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("selenium")
pytest.importorskip("selenium_axe_python")

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium_axe_python import Axe

import headway
from tests.cli.bench import SMALL, Bench
from tests.dashboard.servers import Server, serving
from tests.report.run_page.browser import Browser, browsing, obstacle

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.skipif(bool(obstacle()), reason=obstacle())]
# Each task waits for a file, so that the test says when it ends.
WORKFLOW = """
name: live
tasks:
  "<script>bad()</script>":
    run: echo first; until [ -e HERE/go-1 ]; do sleep 0.05; done; echo last; touch one
    outputs: [one]
    resources: {cores: 1, memory: 50 MB}
  second:
    run: echo wait >&2; until [ -e HERE/go-2 ]; do sleep 0.05; done; touch two
    inputs: [one]
    outputs: [two]
    resources: {cores: 1, memory: 50 MB}
"""
ACT = "//div[@id='acts']/button[text()='{}']"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    home = tmp_path_factory.mktemp("dashboard")
    made = Bench(home / "runs", home)
    made.environment["PATH"] = without_slurm(home / "programs")
    flow = Bench(made.directory / "flow", home)
    flow.write(WORKFLOW.replace("HERE", str(flow.directory)))
    odd = headway.Workflow("odd & <b>names</b>", [headway.Task(id="two\nlines", category="x", command="echo hello")])
    (made.directory / "odd").mkdir()
    headway.start(odd, made.directory / "odd")
    taught = Bench(made.directory / "taught", home)
    taught.write("name: taught\ntasks: {learn: {run: 'true'}}\n")
    taught.succeeds("run", "-q", *SMALL)
    return made


def without_slurm(folder: Path) -> str:
    """A search path for programs that has no Slurm, also where one is installed."""
    folder.mkdir()
    for program in sorted(
        {file.name: file for place in ("/usr/bin", "/bin") for file in Path(place).iterdir()}.values()
    ):
        if not re.match(r"s(info|queue|batch|control|acct|cancel|run|share|diag)", program.name):
            (folder / program.name).symlink_to(program)
    return str(folder)


@pytest.fixture(scope="module")
def manager(bench: Bench) -> Iterator[subprocess.Popen[str]]:
    flow = Bench(bench.directory / "flow", bench.directory.parent)
    process = flow.start("run", "-q", "--keep-going", *SMALL)
    yield process
    (bench.directory / "flow/go-1").touch()
    (bench.directory / "flow/go-2").touch()
    process.communicate(timeout=240)


@pytest.fixture(scope="module")
def server(bench: Bench) -> Iterator[Server]:
    with serving(bench, "--share") as found:
        yield found


@pytest.fixture(scope="module")
def browser(server: Server) -> Iterator[Browser]:
    with browsing() as found:
        found.driver.get(server.told["url"])
        assert found.driver.current_url == f"http://{server.host}/", "the token is not in the address any more"
        yield found


def visit(browser: Browser, server: Server, path: str) -> None:
    browser.driver.get(f"http://{server.host}{path}")
    browser.wait("return document.documentElement.dataset.drawn === 'true'")


def axe(browser: Browser) -> list[str]:
    checker = Axe(browser.driver)
    checker.inject()
    return [f"{found['id']}: {found['nodes'][0]['html']}" for found in checker.run()["violations"]]


def everything_is_well(browser: Browser, server: Server) -> None:
    """No complaint in the console, and no request to anywhere else."""
    assert browser.complaints() == []
    loaded = browser.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert loaded and all(name.startswith((f"http://{server.host}/", "data:")) for name in loaded), loaded


def row(browser: Browser, name: str) -> str:
    found = browser.run(
        "return [...document.querySelectorAll('#runs tbody tr')].find((row) => row.innerText.includes(arguments[0]))"
        "?.innerText ?? ''",
        name,
    )
    return " ".join(str(found).split())


def test_the_list_shows_a_run_that_begins(
    browser: Browser, server: Server, manager: subprocess.Popen[str], bench: Bench
) -> None:
    visit(browser, server, "/")
    bench.wait_for(lambda: "running" in row(browser, "live, run 1"), "the run in the list")
    assert "0 of 2" in row(browser, "live, run 1") and row(browser, "live, run 1").endswith("flow")
    assert "succeeded 1 of 1" in row(browser, "odd & <b>names</b>, run 1")
    search = browser.driver.find_element(By.CSS_SELECTOR, "#runs input")
    search.send_keys("odd")
    browser.wait("return document.querySelector('#runs .controls').innerText.includes('1 of 3')")
    search.send_keys(Keys.BACKSPACE * 3)
    browser.driver.find_element(By.XPATH, "//section[@id='runs']//th/button[text()='run']").click()
    first = browser.run("return document.querySelector('#runs tbody a').innerText")
    assert first == "live, run 1"
    assert not axe(browser)
    everything_is_well(browser, server)


def test_a_task_with_a_line_break_in_its_name(browser: Browser, server: Server) -> None:
    visit(browser, server, f"/runs/{server.runs()['odd & <b>names</b> 1']['id']}")
    assert browser.text("h1") == "odd & <b>names</b>, run 1"
    browser.driver.find_element(By.CSS_SELECTOR, "#tasks tbody tr[tabindex]").send_keys(Keys.ENTER)
    tab(browser, "Output")
    browser.wait("return document.querySelector('#tasks .text')?.innerText.includes('hello')")
    tab(browser, "Why")
    browser.wait("return document.querySelector('#tasks .text').innerText.includes('it ran because')")
    everything_is_well(browser, server)


def tab(browser: Browser, name: str) -> None:
    browser.driver.find_element(By.XPATH, f"//section[@id='tasks']//button[text()='{name}']").click()


def test_the_page_of_a_run_moves_while_it_goes_on(
    browser: Browser, server: Server, manager: subprocess.Popen[str], bench: Bench
) -> None:
    visit(browser, server, f"/runs/{server.runs()['live 1']['id']}")
    browser.dark(on=False)
    browser.wait("return tasks.state.some((state) => data.states[state] === 'running')")
    assert "0 of 2" in browser.text("#tiles") and browser.text("#live") == "running"
    browser.wait("return document.querySelectorAll('#graph svg text').length > 2")
    canvas = browser.driver.find_element(By.CSS_SELECTOR, "#timeline canvas")
    canvas.send_keys("+")
    begin, end = browser.run("return [timeline.from, timeline.to]")
    # The log of a task that runs
    line = browser.driver.find_element(By.CSS_SELECTOR, "#tasks tbody tr[tabindex]")
    line.send_keys(Keys.ENTER)
    tab(browser, "Output")
    browser.wait("return document.querySelector('#tasks .text')?.innerText === 'first\\n'")
    for hidden in ("true", "false"):  # the reader looks at another tab, and comes back
        browser.run(f"Object.defineProperty(document, 'hidden', {{value: {hidden}, configurable: true}})")
        browser.run("document.dispatchEvent(new Event('visibilitychange'))")
    (bench.directory / "flow/go-1").touch()
    browser.wait("return document.querySelector('#tasks .text').innerText.includes('last')")
    browser.wait("return document.querySelector('#tiles').innerText.includes('1 of 2')")
    browser.wait(
        "return document.querySelector('#tasks .detail').innerText.startsWith('<script>bad()</script>: succeeded')"
    )
    assert browser.run("return document.querySelector('#tasks tr[aria-selected=true] td').innerText") == (
        "<script>bad()</script>"
    )
    assert browser.run("return [timeline.from, timeline.to]") == [begin, end], "what was zoomed stays"
    tab(browser, "Why")
    browser.wait(
        "return document.querySelector('#tasks .text').innerText.includes('it ran because: no earlier result')"
    )
    everything_is_well(browser, server)
    assert not axe(browser)
    light = browser.run("return getComputedStyle(document.body).backgroundColor")
    browser.dark(on=True)
    assert not axe(browser)
    assert browser.run("return getComputedStyle(document.body).backgroundColor") != light
    narrow = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    try:
        assert browser.run("return innerWidth === 400 && document.documentElement.scrollWidth <= 400")
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.dark(on=False)


def test_who_may_only_look_has_no_buttons(browser: Browser, server: Server, manager: subprocess.Popen[str]) -> None:
    browser.driver.get(server.told["share"])
    visit(browser, server, f"/runs/{server.runs()['live 1']['id']}")
    assert browser.driver.find_elements(By.CSS_SELECTOR, "#acts button") == []
    assert "read only" in browser.text(".views")
    everything_is_well(browser, server)
    answer = "arguments[1](fetch(arguments[0], {method: 'POST'}).then((reply) => reply.status))"
    assert browser.driver.execute_async_script(answer, f"{browser.driver.current_url}/cancel") == 403
    browser.driver.get(server.told["url"])
    assert len(browser.complaints()) == 1, "the browser itself notes the refusal"


def test_cancel_and_resume_by_keyboard(
    browser: Browser, server: Server, manager: subprocess.Popen[str], bench: Bench
) -> None:
    visit(browser, server, f"/runs/{server.runs()['live 1']['id']}")
    act(browser, "Cancel")
    assert manager.wait(120) == 130, "the run is really cancelled"
    browser.wait("return document.querySelector('#live').innerText === 'stopped'")
    assert "`headway resume" in browser.text(".lead")
    (bench.directory / "flow/go-2").touch()
    act(browser, "Resume")
    browser.wait("return document.querySelector('#live').innerText === 'succeeded'")
    browser.wait("return document.querySelector('#tiles').innerText.includes('2 of 2')")
    assert (bench.directory / "flow/two").exists()
    assert browser.driver.find_elements(By.XPATH, f"{ACT.format('Cancel')}[not(@hidden)]") == []
    everything_is_well(browser, server)


def act(browser: Browser, name: str) -> None:
    """Walk with the Tab key to a button, and through the question that it asks."""
    browser.wait(
        f"return [...document.querySelectorAll('#acts button')].some((b) => !b.hidden && b.innerText === '{name}')"
    )
    body = browser.driver.find_element(By.TAG_NAME, "body")
    browser.run("document.activeElement.blur()")
    for _ in range(12):
        body.send_keys(Keys.TAB)
        body = browser.driver.switch_to.active_element
        if body.text == name:
            break
    assert body.text == name
    body.send_keys(Keys.ENTER)
    asked = browser.driver.switch_to.active_element
    assert asked.text == "Leave it", "what changes nothing comes first"
    assert not axe(browser)
    asked.send_keys(Keys.TAB)
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)


def test_history_and_queue(browser: Browser, server: Server) -> None:
    """Without Slurm the page says so. `tests/slurm/test_plan.py` asks it beside one."""
    visit(browser, server, "/history")
    assert re.search(r"taught\s+learn\s+1\s+0\s", browser.text("#history"))
    assert not axe(browser)
    visit(browser, server, "/queue")
    browser.driver.find_element(By.CSS_SELECTOR, "#shape button").click()
    browser.wait(
        "return /squeue|Slurm|sinfo/.test(document.querySelector('#answer').innerText)"
        " && !document.querySelector('#answer').innerText.startsWith('asking')"
    )
    assert not axe(browser)
    complaints = [said for said in browser.complaints() if "/queue/wait" not in said]
    assert complaints == [], "the browser itself notes an answer that is an error"


def test_run_with_a_page_of_its_own(browser: Browser, tmp_path: Path) -> None:
    bench = Bench(tmp_path / "own", tmp_path)
    bench.write(f"name: own\ntasks: {{wait: {{run: 'until [ -e {tmp_path}/go ]; do sleep 0.05; done'}}}}")
    process = bench.start("run", "--serve", "-q", *SMALL)
    assert process.stderr is not None
    said = process.stderr.readline()
    address = re.search(r"this run is shown at (http://127.0.0.1:\d+/\?token=\S+)", said)
    assert address, said
    while "/runs/" not in browser.driver.current_url:  # until the run has begun there is only the list
        browser.driver.get(address[1])
    browser.wait("return document.querySelector('#live')?.innerText === 'running'")
    (tmp_path / "go").touch()
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 0
    assert "`headway report` writes one that stays" in errors
    assert "leave one out" in bench.fails(2, "run", "--serve", "--dry-run")
