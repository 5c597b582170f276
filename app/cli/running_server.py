"""Commands that ask the running server for something."""

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any

from app.client.chat_client import NoServerError, RefusedError


def run_with_server(work: Coroutine[Any, Any, None]) -> int:
    """Run `work`, and print why the server did not take part in it. Returns the exit status."""
    try:
        asyncio.run(work)
    except NoServerError as error:
        print_no_server(error)
        return 1
    except RefusedError as error:
        print(f"ebb: {error.message}", file=sys.stderr)
        return 1
    return 0


def print_no_server(error: NoServerError) -> None:
    """Print that no server answers, and how to start one."""
    print(f"ebb: {error.message}\nStart a server in another terminal: ebb serve", file=sys.stderr)
