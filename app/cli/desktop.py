"""`ebb desktop`: the page in a separate window.

If no server answers at the address of the settings, the command starts one, which ends with the window.
"""

import asyncio
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from app.client.chat_client import ChatClient, NoServerError
from app.config.extras import install_command
from app.config.settings import Settings, has_screen
from app.transport.tls import own_certificate
from engine.api.errors import EbbError
from engine.process.parent_process import die_with

SIZE: Final = (1200, 800)
"""Width and height of the window, in px."""
POLL_SECONDS: Final = 0.1
STOP_SECONDS: Final = 30.0
"""Seconds within which the server must end after the window is closed."""

Serve = Callable[[Settings], int]
"""Serves until a signal arrives, and returns the exit status."""


class NoWindowError(EbbError):
    """The library that opens windows cannot be used."""

    code = "no_window"


def desktop(settings: Settings, serve: Serve) -> int:
    """Show the page in a window until it is closed. Returns the exit status; that of the server if it ends first.

    Raise NoWindowError.
    """
    library = _library()
    if _answers(settings):
        return _show(library, settings)
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(serve, settings, os.getpid()))
    server.start()
    try:
        while not _answers(settings):
            if server.exitcode is not None:
                return server.exitcode
            time.sleep(POLL_SECONDS)
        return _show(library, settings)
    finally:
        server.terminate()
        server.join(STOP_SECONDS)
        if server.exitcode is None:
            server.kill()


def _serve(serve: Serve, settings: Settings, parent: int) -> None:
    die_with(parent)
    sys.exit(serve(settings))


def _library() -> Any:
    try:
        import webview
    except ImportError:
        raise NoWindowError(
            f"`ebb desktop` needs a library that opens windows: {install_command('desktop')}. Or open the page of "
            "`ebb serve` in a browser"
        ) from None
    if not has_screen():
        raise NoWindowError("There is no screen: neither DISPLAY nor WAYLAND_DISPLAY is set. Run `ebb serve` instead")
    return webview


def _answers(settings: Settings) -> bool:
    """Return whether a server of Ebb answers, be it that its model is still being loaded."""
    return asyncio.run(_healthy(settings))


async def _healthy(settings: Settings) -> bool:
    try:
        async with ChatClient(settings.client_url, None, own_certificate(settings)) as client:
            return "status" in await client.health()
    except NoServerError:
        return False


def _show(library: Any, settings: Settings) -> int:
    library.settings["ALLOW_DOWNLOADS"] = True
    width, height = SIZE
    library.create_window("Ebb", settings.client_url, width=width, height=height, text_select=True, zoomable=True)
    # The login, the language and the theme are kept, as in a browser.
    place = settings.state_dir / "desktop"
    gui = "qt" if sys.platform == "linux" else None
    library.start(gui=gui, private_mode=False, storage_path=str(place))
    return 0
