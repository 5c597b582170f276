"""`python -m app.config.settings_table FILE`: rewrite the table of settings in a Markdown file, such as README.md."""

import re
import sys
from pathlib import Path

from app.config.settings import OPTIONS

HEADER = "| flag and TOML key | variable | default | |\n| --- | --- | --- | --- |\n"
_TABLE = re.compile(re.escape(HEADER) + r"(?:\|.*\n)*")


def with_settings_table(markdown: str) -> str:
    """Return `markdown` with its table of settings replaced by the current one."""
    rows = (f"| `{each.name}` | `{each.variable}` | {each.default_text} | {each.text} |\n" for each in OPTIONS)
    return _TABLE.sub(lambda _: HEADER + "".join(rows), markdown)


def main() -> None:
    """Rewrite the table of the file that the command line names."""
    path = Path(sys.argv[1])
    path.write_text(with_settings_table(path.read_text()))


if __name__ == "__main__":
    main()
