"""Names of files that a browser saves: the title of a conversation, as every file system takes it.

Content-Disposition follows RFC 6266: `filename*` has the name in UTF-8 (RFC 8187), and `filename` is for clients that
do not know `filename*`.
"""

import re
import unicodedata
from typing import Final
from urllib.parse import quote

MAX_NAME_BYTES: Final = 180
"""Maximum length of a name in UTF-8 before its extension. File systems allow 255 bytes, browsers add a number."""

_FORBIDDEN: Final = re.compile(r'[<>:"/\\|?*]+')
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
"""Names that mean devices on Windows, with any extension."""


def attachment(title: str | None, extension: str) -> dict[str, str]:
    """Return the headers of a response that is saved as a file. title: None or an unusable one stands for "chat"."""
    name = f"{safe_name(title or '')}.{extension}"
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    # Decomposition makes plain slashes and colons of wide ones.
    plain = re.sub(r"[^ -~]|%", "", _FORBIDDEN.sub(" ", plain)).strip()
    if plain.startswith("."):
        plain = f"chat{plain}"
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
    return {"Content-Disposition": disposition, "Cache-Control": "no-store"}


def safe_name(title: str) -> str:
    """Return a name without characters and endings that a file system refuses or a file manager misreads."""
    kept = "".join(" " if character.isspace() else character for character in title if _is_shown(character))
    name = " ".join(_FORBIDDEN.sub(" ", kept).split())
    name = name.encode()[:MAX_NAME_BYTES].decode(errors="ignore").strip(" .-")
    if not name:
        return "chat"
    return f"{name} chat" if _RESERVED.fullmatch(name) else name


def _is_shown(character: str) -> bool:
    """Return whether a character is visible. Control characters and marks of direction disguise an extension."""
    return character.isspace() or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn")
