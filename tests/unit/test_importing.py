"""How much of a file is taken in."""

import pytest

from app.importing import conversations_of
from app.limits import MAX_IMPORTED
from app.schemas.imports import ImportedFields, ImportFile
from engine.errors import InvalidRequestError


def file_of(count: int) -> ImportFile:
    empty: dict[str, object] = {
        "title": None,
        "params": {},
        "created_at": 1.0,
        "updated_at": 1.0,
        "head_id": None,
        "messages": [],
    }
    conversations = [ImportedFields.model_validate({**empty, "id": "conv_1"})] * count
    return ImportFile.model_construct(conversations=conversations)


def test_a_file_that_would_hold_up_every_other_writer_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="export conversations one by one") as caught:
        conversations_of(file_of(MAX_IMPORTED + 1))
    assert caught.value.param == "conversations"


def test_an_empty_conversation_is_taken() -> None:
    [imported] = conversations_of(file_of(1))
    assert (imported.source, imported.conversation.head_id, imported.messages) == ("conv_1", None, [])
