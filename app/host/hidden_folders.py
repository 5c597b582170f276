"""Messages without the folders of this machine. The log keeps them."""

import re
from typing import Final

_FOLDERS: Final = re.compile(r"(?:\bunix://|(?<![\w.:/]))(?:/[^\s/:;,'\"]+)+/(?=[^\s/:;,'\"])")


def without_folders(sentence: str) -> str:
    """Return `sentence` with only the last part of each absolute path. A byte that is no text becomes an escape."""
    return _FOLDERS.sub("", sentence).encode(errors="backslashreplace").decode()
