"""The child process that reads one document: `python -m app.documents.child KIND`, from stdin to stdout.

The document comes as bytes. The result is JSON: `{"text": …}` or `{"refusal": …}`.
"""

import json
import os
import re
import resource
import sys
from contextlib import suppress

from app.documents.refusal import Refusal, UnreadableError
from app.domain.bounds import MAX_DOCUMENT_TEXT

MEMORY_BYTES = 1 << 30
CPU_SECONDS = 20
NICENESS = 10

LIMITS = (
    (resource.RLIMIT_AS, MEMORY_BYTES),
    (resource.RLIMIT_CPU, CPU_SECONDS),
    (resource.RLIMIT_FSIZE, 0),
    (resource.RLIMIT_CORE, 0),
    (resource.RLIMIT_NOFILE, 64),
)


def main() -> None:
    """Read the document, and write its text or the reason why there is none."""
    for limit, value in LIMITS:
        # macOS has no limit on memory.
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, value))
    os.nice(NICENESS)
    data = sys.stdin.buffer.read()
    try:
        result = {"text": _read(data, is_html=sys.argv[1] == "html")}
    except UnreadableError as error:
        result = {"refusal": error.refusal}
    except (MemoryError, RecursionError):
        result = {"refusal": Refusal.TOO_COSTLY}
    except Exception:
        # A damaged or hostile file makes a parser raise anything.
        result = {"refusal": Refusal.BROKEN}
    sys.stdout.buffer.write(json.dumps(result).encode())


def _read(data: bytes, *, is_html: bool) -> str:
    # After the limits: the parsers are large.
    from app.documents.formats import text_of

    text = re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", text_of(data, is_html=is_html))).strip()
    if not text:
        raise UnreadableError(Refusal.EMPTY)
    if len(text) > MAX_DOCUMENT_TEXT:
        raise UnreadableError(Refusal.TOO_BIG)
    return text


if __name__ == "__main__":
    main()
