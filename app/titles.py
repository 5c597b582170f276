"""A title for a conversation that has none, from its first message."""

MAX_LENGTH = 60


def title_from(content: str) -> str:
    """The beginning of the text on one line, at most MAX_LENGTH characters, cut between words if it can be."""
    text = " ".join(content.split())
    if len(text) <= MAX_LENGTH:
        return text
    room = MAX_LENGTH - 1
    at_word = text[: room + 1].rpartition(" ")[0]
    return (at_word or text[:room]).rstrip() + "…"
