"""Files dragged over the page, as the browser receives them from the desktop."""

from pathlib import Path
from typing import Literal, Self

from playwright.async_api import CDPSession, Page


class FileDrag:
    """A file in a person's hand."""

    def __init__(self, devtools: CDPSession, file: Path) -> None:
        self._devtools = devtools
        self._data = {"items": [], "files": [str(file)], "dragOperationsMask": 1}

    @classmethod
    async def begin(cls, page: Page, file: Path) -> Self:
        return cls(await page.context.new_cdp_session(page), file)

    async def move(self, kind: Literal["dragEnter", "dragOver", "drop"], x: float, y: float) -> None:
        event = {"type": kind, "x": x, "y": y, "data": self._data}
        await self._devtools.send("Input.dispatchDragEvent", event)
