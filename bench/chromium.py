"""Chromium on this machine, for the tests and the benchmarks of the page."""

import shutil

from playwright.async_api import Browser, Playwright

SHELL = "chromium-headless-shell"
"""Chromium without windows, which opens a page for less than half of the CPU time."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox",)
"""Flags of every start. The sandbox does not work as root, which tests and benchmarks in containers run as."""


def find_chromium(*, shell: bool = False) -> str | None:
    """Return the path of the browser that people use, or of the headless shell if only that is installed.

    shell: prefer the headless shell.
    """
    names = (SHELL, *BROWSERS) if shell else (*BROWSERS, SHELL)
    return next((found for name in names if (found := shutil.which(name)) is not None), None)


async def launch_chromium(playwright: Playwright, *, shell: bool = False) -> Browser:
    """Launch Chromium, headless. Raise FileNotFoundError if it is not installed.

    shell: prefer the headless shell.
    """
    path = find_chromium(shell=shell)
    if path is None:
        raise FileNotFoundError("Chromium is not installed. Install it (Debian, Ubuntu: apt-get install chromium).")
    return await playwright.chromium.launch(executable_path=path, args=FLAGS)
