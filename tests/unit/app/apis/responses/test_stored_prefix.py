"""The part of a request that is stored, behind messages that are stored already."""

from collections.abc import Sequence

from app.apis.responses.stored_prefix import StoredPrefix
from app.domain.records import Conversation, Message, Role
from app.domain.token_history import MessageTokens, joined_ids, pack_ids
from app.prompts.turn_prompt import Prompt

KEY = "key"
PATH: tuple[tuple[Role, list[int], bool], ...] = (
    ("user", [1, 2], True),
    ("assistant", [3], False),
    ("user", [4], False),
    ("assistant", [5, 6], False),
)


def message(number: int, role: Role, tokens: MessageTokens, run: str | None = None) -> Message:
    before = f"msg_{number - 1}" if number else None
    return Message(
        id=f"msg_{number}",
        conversation_id="conv_1",
        parent_id=before,
        role=role,
        content=f"{number}",
        status="complete",
        created_at=0.0,
        run_id=run,
        tokens=tokens,
    )


def stored(key: str = KEY) -> list[Message]:
    return [
        message(number, role, MessageTokens(pack_ids(ids), key, starts), "run" if role == "assistant" else None)
        for number, (role, ids, starts) in enumerate(PATH)
    ]


def rest(path: Sequence[Message], ids: Sequence[int]) -> list[Message]:
    prompt = Prompt(list(ids), MessageTokens(pack_ids(ids), KEY, starts_prompt=True))
    prefix = StoredPrefix(
        Conversation(
            id="conv_2", title=None, head_id=None, system_prompt=None, params={}, created_at=0.0, updated_at=0.0
        ),
        path,
        [1, 2, 3, 4],
    )
    asked = [message(number, "user", MessageTokens()) for number in range(10, 15)]
    made = prefix.rest_of(asked, prompt)
    assert {each.conversation_id for each in made} == {"conv_2"}
    parents = [each.parent_id for each in made]
    assert parents[1:] == [each.id for each in made[:-1]]
    above = path[: [each.id for each in path].index(parents[0] or "") + 1]
    assert joined_ids([*above, *made], KEY) == list(ids)
    return made


def test_prompt_that_continues_the_path_adds_its_last_ids() -> None:
    [last] = rest(stored(), [1, 2, 3, 4, 5, 6, 7])
    assert last.tokens == MessageTokens(pack_ids([7]), KEY)


def test_answer_with_other_ids_is_stored_again_as_text() -> None:
    again, last = rest(stored(), [1, 2, 3, 4, 9, 9, 7])
    assert (again.id, again.parent_id, again.tokens) == ("msg_13", "msg_2", MessageTokens())
    assert last.tokens == MessageTokens(pack_ids([9, 9, 7]), KEY)


def test_prompt_of_another_key_has_all_of_its_ids() -> None:
    [last] = rest(stored("other"), [1, 2, 3, 4, 5, 6, 7])
    assert last.tokens.starts_prompt


def test_ids_before_the_newest_whole_prompt_do_not_count() -> None:
    path = stored()
    path[2] = message(2, "user", MessageTokens(pack_ids([8, 8, 8]), KEY, starts_prompt=True))
    [last] = rest(path, [8, 8, 8, 5, 6, 7])
    assert last.tokens == MessageTokens(pack_ids([7]), KEY)
    [last] = rest(path, [1, 2, 3, 4, 5, 6, 7])
    assert last.tokens.starts_prompt
