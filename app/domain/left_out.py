"""Messages at the beginning of a conversation that its prompts leave out, so that a long chat can continue."""

from collections.abc import Sequence

from app.domain.records import Message


def num_left_out(path: Sequence[Message]) -> int:
    """Return the number of messages at the beginning of `path` (root first) that the prompt of its end lacks.

    The newest message that has a number decides. A prompt begins with a question, even where messages were deleted from
    the path or imported, and always has the message that decides.
    """
    given = (min(each.left_out, at) for at, each in reversed(list(enumerate(path))) if each.left_out is not None)
    return first_question(path, next(given, 0))


def first_question(path: Sequence[Message], at: int) -> int:
    """Return the index of the question at or before `at`; 0 without one. An index at the end is returned as it is."""
    while 0 < at < len(path) and path[at].role != "user":
        at -= 1
    return at
