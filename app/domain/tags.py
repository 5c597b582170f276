"""Names of tags."""


def tag_name(text: str) -> str:
    """Return a text as the name of a tag: on one line, with a space in place of spaces and NUL characters.

    PostgreSQL cannot compare a text with a NUL character.
    """
    return " ".join(text.replace("\0", " ").split())
