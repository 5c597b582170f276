"""Paths of this server's own page, as the only places to which a login returns."""

import re

from engine.api.errors import InvalidRequestError

MAX_PATH = 512
_OWN_PATH = re.compile(r"/(?:[A-Za-z0-9_.~-][A-Za-z0-9_.~/-]*)?(?:\?[A-Za-z0-9_.~=&%-]*)?", re.ASCII)


def parse_own_path(text: str) -> str:
    """Return `text` if it is a path of the page, such as `/c/abc?at=def`. Raise InvalidRequestError.

    The characters that browsers read as the beginning of another address (`//host`, a backslash, a colon, a control
    character) have no place in the pattern.
    """
    if len(text) > MAX_PATH or _OWN_PATH.fullmatch(text) is None or "//" in text:
        raise InvalidRequestError("next must be a path of this page, such as /c/ID", param="next")
    return text
