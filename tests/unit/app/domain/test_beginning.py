"""The beginning of a path that its prompts leave out."""

import pytest

from app.domain.left_out import LeftOut, beginning_of
from app.domain.records import Message, Role


def path(*given: tuple[Role, int | None]) -> list[Message]:
    return [
        Message(
            id=f"msg_{at}",
            conversation_id="conv",
            parent_id=f"msg_{at - 1}" if at else None,
            role=role,
            content="",
            status="complete",
            created_at=0.0,
            left_out=left_out,
        )
        for at, (role, left_out) in enumerate(given)
    ]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], 0),
        ([("user", None), ("assistant", None)], 0),
        ([("user", None), ("assistant", None), ("user", 2), ("assistant", 2), ("user", None)], 2),
        ([("user", None), ("assistant", None), ("user", 2), ("assistant", 2), ("user", 0), ("assistant", None)], 0),
        # Two messages at the beginning were deleted since.
        ([("user", 2), ("assistant", 2)], 0),
        # One message was deleted, so that the number is that of an answer.
        ([("user", None), ("assistant", None), ("user", None), ("assistant", None), ("user", 3)], 2),
    ],
)
def test_newest_question_with_a_number_decides(messages: list[tuple[Role, int | None]], expected: int) -> None:
    assert beginning_of(path(*messages)) == LeftOut(expected)
