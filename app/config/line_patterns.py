"""Patterns of lines, as users write them: `Trace id: *,Turn * of *`."""

from app.domain.wildcards import plain_parts

MAX_PATTERNS = 32
MAX_PATTERN = 256
"""Maximum number of characters of a pattern."""
MIN_BEGINNING = 4
"""Number of characters, without spaces, that must precede the first `*`. Lines are found by them."""


def parse_line_patterns(text: str) -> tuple[str, ...]:
    r"""Split `Trace id: *,Turn * of *` into its patterns. Each matches a whole line, and `*` stands for any text.

    A star of the line itself is written `\*`. A comma of the line itself is matched by `*`.

    Raise ValueError for a pattern that is empty, too long, or does not begin with plain text, and for too many.
    """
    patterns = tuple(part.strip() for part in text.split(","))
    if len(patterns) > MAX_PATTERNS:
        raise ValueError(f"{len(patterns)} patterns are more than {MAX_PATTERNS}")
    for pattern in patterns:
        if len(pattern) > MAX_PATTERN:
            raise ValueError(f"{pattern[:20]!r}... has more than {MAX_PATTERN} characters")
        if "\n" in pattern or "\r" in pattern:
            raise ValueError(f"{pattern!r} is more than one line")
        if len(plain_parts(pattern)[0].replace(" ", "")) < MIN_BEGINNING:
            raise ValueError(
                f"{pattern!r} must begin with at least {MIN_BEGINNING} characters of the line, like 'Turn * of *'. "
                r"A star of the line itself is written \*"
            )
    return patterns
