"""Sealed answers of stateless clients can be read only with the conversation they belong to."""

from app.domain.token_history import pack_ids
from app.prompts.answer_seal import NO_TAG, TAG_BYTES, Dialogue, KnownAnswer, Seal, seals_of_answers
from models.chat.format import Message
from models.chat.tool_calls import ToolCall

SALT = b"salt" * 8
IDS = pack_ids(range(1000, 1100))


def seal_of(*contents: str, salt: bytes = SALT, identity: str = "model") -> Seal:
    """Return the seal of the last of `contents`, an answer. Roles alternate, starting with the user's."""
    messages = [Message(("user", "assistant")[index % 2], content) for index, content in enumerate(contents)]
    return seals_of_answers(Dialogue(salt, identity), messages)[len(contents) - 1]


def test_seal_opens_only_with_same_conversation() -> None:
    sealed = seal_of("hi", "yes").close(NO_TAG, IDS)
    assert seal_of("hi", "yes").open(sealed) == KnownAnswer(sealed[:TAG_BYTES], NO_TAG, IDS)
    others = [
        seal_of("hi", "yes", salt=b"other" * 6),
        seal_of("hi", "yes", identity="another model"),
        seal_of("hi!", "yes"),
        seal_of("hi", "yes."),
        seal_of("h", "iyes"),
        seal_of("hi", "yes", "hi", "yes"),
    ]
    assert all(other.open(sealed) is None for other in others)
    assert len({other.name for other in (*others, seal_of("hi", "yes"))}) == len(others) + 1


def test_sealed_answer_contains_no_token_id_in_clear() -> None:
    sealed = seal_of("hi", "yes").close(NO_TAG, IDS)
    assert not any(IDS[at : at + 4] in sealed for at in range(0, len(IDS), 4))


def test_damaged_sealed_answer_is_not_opened() -> None:
    seal = seal_of("hi", "yes")
    sealed = seal.close(NO_TAG, IDS)
    for damaged in (sealed[:-1], sealed[:-1] + bytes([sealed[-1] ^ 1]), bytes([sealed[0] ^ 1]) + sealed[1:], b""):
        assert seal.open(damaged) is None


def test_tag_depends_on_ids_and_preceding_tag() -> None:
    seal = seal_of("hi", "yes")
    tags = {seal.close(before, ids)[:TAG_BYTES] for before in (NO_TAG, b"b" * TAG_BYTES) for ids in (IDS, IDS[4:])}
    assert len(tags) == 4
    assert seal.close(NO_TAG, IDS) == seal.close(NO_TAG, IDS)


def test_dialogue_can_be_followed_by_different_answers() -> None:
    dialogue = Dialogue(SALT, "model")
    dialogue.say(Message("user", "hi"))
    followed = [dialogue.followed_by(Message("assistant", text)).seal for text in ("yes", "no", "yes")]
    assert followed == [seal_of("hi", "yes"), seal_of("hi", "no"), seal_of("hi", "yes")]


def test_arguments_are_compared_as_values() -> None:
    def seal(arguments: str) -> Seal:
        return seals_of_answers(Dialogue(SALT, "model"), [Message("assistant", "", (ToolCall("f", arguments),))])[0]

    assert seal('{"a":1,"b":"é"}') == seal('{"a": 1, "b": "é"}') == seal('{\n"a": 1, "b": "\\u00e9"}')
    others = ('{"a":2,"b":"é"}', '{"a":1,"b":"é', '{"a": 1,"b":"é', "", "{}")
    assert len({seal(text).name for text in others}) == len(others)
