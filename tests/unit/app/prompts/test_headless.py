"""Records that lead from a conversation without its head to its remembered answers."""

import pytest

from app.prompts.answer_seal import Dialogue, Seal
from app.prompts.headless import Headless, HeadPart
from models.chat.format import Message

SALT, IDENTITY = b"salt", "template"
SAID = [Message("user", "one"), Message("assistant", "first"), Message("user", "two")]
ANSWER = Message("assistant", "second")
HEAD = [Message("tools", "[]"), Message("system", "Rhyme.")]


def seals_of(messages: list[Message], *lacking: HeadPart, salt: bytes = SALT) -> dict[int, Seal]:
    """Return the seals that `messages` lead to, where the answer to `HEAD` and `SAID` is remembered."""
    remembered = [*HEAD, *SAID]
    dialogue = Dialogue(SALT, IDENTITY)
    for message in remembered:
        dialogue.say(message)
    record = Headless.of(SALT, IDENTITY, remembered)[0].record(ANSWER, dialogue.followed_by(ANSWER).seal)
    headless, own = Headless.of(salt, IDENTITY, messages)
    return headless.seals(own, dict([record]), frozenset(lacking))


def test_answer_is_found_without_tools_and_system_prompt() -> None:
    dialogue = Dialogue(SALT, IDENTITY)
    for message in [*HEAD, *SAID, ANSWER]:
        dialogue.say(message)
    asked = [*SAID, ANSWER, Message("user", "three")]
    assert seals_of(asked, "tools", "system") == {-2: dialogue.seal}
    assert seals_of([HEAD[1], *asked], "tools") == {-2: dialogue.seal}


@pytest.mark.parametrize(
    ("messages", "lacking", "salt"),
    [
        ([Message("system", "Be brief."), *SAID, ANSWER], ["tools"], SALT),
        ([*SAID, ANSWER], ["tools"], SALT),
        ([*SAID[:2], Message("user", "other"), ANSWER], ["tools", "system"], SALT),
        ([*SAID, ANSWER], ["tools", "system"], b"another tenant"),
    ],
)
def test_other_conversation_finds_nothing(messages: list[Message], lacking: list[HeadPart], salt: bytes) -> None:
    assert seals_of(messages, *lacking, salt=salt) == {}
