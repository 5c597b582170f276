"""Start of Chromium for the benchmarks of the page."""

import shutil

from playwright.async_api import Browser, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")


async def launch_chromium(playwright: Playwright) -> Browser:
    """Launch the first browser of `NAMES` that is installed, headless."""
    program = next(found for name in NAMES if (found := shutil.which(name)) is not None)
    # The sandbox does not work as root, which benchmarks in containers run as.
    return await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
