"""A real browser for the tests: Debian's Chromium, told what to do by Selenium."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

PATIENCE_S = 120.0


def obstacle() -> str:
    """Return why there is no browser, or nothing."""
    if not (find_spec("selenium") and find_spec("selenium_axe_python")):
        return "no selenium and no selenium-axe-python: they are in the extra `dev`"
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"no {' and no '.join(missing)}: tests/packages.sh installs them" if missing else ""


class Browser:
    """A browser without a window."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver

    def open(self, file: Path) -> None:
        """Open a page and wait until its script has drawn it."""
        self.driver.get(file.as_uri())
        self.wait("return document.documentElement.dataset.drawn === 'true'")

    def run(self, script: str, *values: Any) -> Any:
        """Run a script in the page and return its answer."""
        return self.driver.execute_script(script, *values)

    def wait(self, script: str) -> None:
        """Wait until a script in the page returns something true."""
        from selenium.webdriver.support.wait import WebDriverWait

        WebDriverWait(self.driver, PATIENCE_S).until(lambda driver: driver.execute_script(script))

    def text(self, selector: str) -> str:
        """The text of an element as it is seen."""
        return str(self.run("return document.querySelector(arguments[0]).innerText", selector))

    def complaints(self) -> list[str]:
        """What the page's script and the browser have complained about since the last question."""
        return [str(entry["message"]) for entry in self.driver.get_log("browser")]

    def dark(self, *, on: bool) -> None:
        """Prefer dark pages, or light ones."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


@contextmanager
def browsing() -> Iterator[Browser]:
    """Start a browser and end it."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    for option in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1280,900",
    ):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options, Service(shutil.which("chromedriver")))
    driver.set_script_timeout(5 * PATIENCE_S)  # the check of a page for everybody takes long on a busy machine
    try:
        yield Browser(driver)
    finally:
        driver.quit()
