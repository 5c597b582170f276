"""`python -m app.config.settings_table`: rewrite the table of settings in docs/reference/settings.md."""

import re
from pathlib import Path

from app.config.settings import OPTIONS

PAGE = Path(__file__).parents[2] / "docs/reference/settings.md"
HEADER = "| flag and TOML key | variable | default | |\n| --- | --- | --- | --- |\n"
_TABLE = re.compile(re.escape(HEADER) + r"(?:\|.*\n)*")


def with_settings_table(markdown: str) -> str:
    """Return `markdown` with its table of settings replaced by the current one."""
    rows = (f"| `{each.name}` | `{each.variable}` | {each.default_text} | {_linked(each.text)} |\n" for each in OPTIONS)
    return _TABLE.sub(lambda _: HEADER + "".join(rows), markdown)


def _linked(text: str) -> str:
    """Make the links of a description, which start from the folder docs, start from the page."""
    return text.replace("](", "](../")


def main() -> None:
    """Rewrite the table of the page."""
    PAGE.write_text(with_settings_table(PAGE.read_text()))


if __name__ == "__main__":
    main()
