"""Files of conversations: how much of one is read, and that an export comes back as it was."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.conversations.export import conversation_beginning, conversation_end, file_beginning, file_end, messages_text
from app.conversations.importing import read_file
from app.domain.records import Message, new_id
from app.domain.response_record import ResponseRecord, response_id_of
from app.domain.tool_use import IsCall, IsResult, MayCall
from app.storage.items import NewItem
from app.storage.run_records import MessageEnd, TurnRows
from app.storage.store import Store
from engine.api.errors import InvalidRequestError
from tests.sizes import Size
from tests.unit.stored_chats import answered, message, record

EMPTY: dict[str, Any] = {
    "title": None,
    "params": {},
    "created_at": 1.0,
    "updated_at": 1.0,
    "head_id": None,
    "messages": [],
}
MESSAGE: dict[str, Any] = {"parent_id": None, "role": "user", "content": "", "status": "complete", "created_at": 1.0}


def file_of(*conversations: dict[str, Any], version: int = 3) -> bytes:
    whole = {"format": "ebb-conversations", "format_version": version, "conversations": conversations}
    return json.dumps(whole).encode()


def refusal(body: bytes) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        read_file(body)
    return caught.value


def test_file_of_too_many_messages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.conversations.importing.MAX_IMPORTED", 10)
    messages = [{**MESSAGE, "id": str(index)} for index in range(10)]
    error = refusal(file_of({**EMPTY, "id": "conv_1", "head_id": "0", "messages": messages}))
    assert "in parts" in error.message
    assert error.param == "conversations"


def test_empty_conversation_of_version_1_is_read() -> None:
    [imported] = read_file(file_of({**EMPTY, "id": "conv_1"}, version=1))
    assert (imported.source, imported.conversation.source, imported.conversation.head_id) == ("conv_1", "chat", None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "must be a JSON object"),
        ("", "must be a JSON object"),
        ("{", "not valid JSON"),
        ('{"a": 1', "',' was expected"),
        ('{"a" 1}', "':' was expected"),
        ('{"a": 1}x', "unexpected data"),
        ('{"format": NaN}', "format: "),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ('{"a": "\\ud83d"}', "format is required"),
        ('{"conversations": [1]}', "conversations[0]: Input should be a JSON object"),
        ('{"conversations": [{"messages": [1]}]}', "conversations[0].messages[0]: Input should be a JSON object"),
    ],
)
def test_file_that_is_no_export_is_refused(text: str, words: str) -> None:
    assert words in refusal(text.encode()).message


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tool_use": {"kind": "call", "call_id": "c", "name": "f", "arguments": 1}}, "tool_use.arguments"),
        ({"tool_use": {"kind": "else"}}, "tool_use"),
        ({"tool_use": [None, None]}, "tool_use"),
        ({"tool_use": 1}, "tool_use"),
        ({"tool_use": {"kind": "may_call", "start": "", "end": "x", "parallel": True}}, "tool_use.start"),
        ({"tool_use": {"kind": "may_call", "format": "else", "parallel": True}}, "tool_use.format"),
        ({"response": {}}, "response.model"),
        ({"content": 5}, "content"),
    ],
)
def test_wrong_field_of_a_message_is_named(fields: dict[str, Any], param: str) -> None:
    messages = [{**MESSAGE, "id": "a", **fields}]
    error = refusal(file_of({**EMPTY, "id": "conv_1", "head_id": "a", "messages": messages}))
    assert error.param == f"conversations[0].messages[0].{param}"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "conversations.db")
    yield store
    await store.close()


async def exported(store: Store) -> bytes:
    """Return the file of all conversations, as the route writes it."""
    texts = list[str]()
    async for each, name in store.conversations.each():
        messages, responses = await store.messages.all_of(each.id), await store.responses.all_of(each.id)
        ids = [message.id for message in messages]
        texts.append(
            conversation_beginning(each, name)
            + messages_text(messages, responses, name)
            + conversation_end(each, ids, ids[-1] if ids else None)
        )
    return (file_beginning() + ",\n".join(texts) + file_end()).encode()


def named_by_place(file: bytes) -> list[dict[str, Any]]:
    """Return the conversations of a file, each message named by its path instead of its id."""
    conversations = json.loads(file)["conversations"]
    for conversation in conversations:
        by_id = {each["id"]: each for each in conversation["messages"]}

        def path(message_id: str | None, by_id: dict[str, Any] = by_id) -> list[str]:
            if message_id is None:
                return []
            each = by_id[message_id]
            own = json.dumps([each["created_at"], each["role"], each["content"], each["params"]])
            return [*path(each["parent_id"]), own]

        for each in conversation["messages"]:
            if each.get("response", {}).get("previous_response_id") is not None:
                previous = each["response"]["previous_response_id"].replace("resp_", "msg_")
                each["response"]["previous_response_id"] = path(previous)
        conversation["head_id"] = path(conversation["head_id"])
        names = {each["id"]: path(each["id"]) for each in conversation["messages"]} | {None: []}
        for each in conversation["messages"]:
            each["id"], each["parent_id"] = names[each["id"]], names[each["parent_id"]]
        conversation["messages"].sort(key=lambda each: json.dumps(each))
    return sorted(conversations, key=json.dumps)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "create",
                "create api",
                "ask",
                "retry",
                "fail",
                "begin",
                "respond",
                "follow",
                "items",
                "take out",
                "hide",
                "hide chat",
                "fork",
                "rename",
                "metadata",
            ]
        ),
        st.integers(0, 3),
        TEXTS,
    ),
    max_size=14,
)


class Life:
    """A store in which random things happen, as routes do them."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def step(self, kind: str, number: int, text: str) -> None:
        conversations = [each async for each, _ in self.store.conversations.each()]
        if kind.startswith("create") or not conversations:
            given = {"title": text or None, "system_prompt": text, "params": {"top_k": number}, "pinned": number > 1}
            source = "api" if kind == "create api" else "chat"
            await self.store.conversations.create({**given, "source": source, "metadata": {"a": text}})
            return
        conversation = conversations[number % len(conversations)]
        messages = await self.store.messages.all_of(conversation.id)
        chosen = messages[number % len(messages)] if messages else None
        locked = any(each.status == "in_progress" for each in messages)
        match kind:
            case "ask" | "retry" | "fail" | "begin" | "respond" | "follow":
                await self.answer(kind, conversation.id, chosen, text)
            case "items" if not locked:
                call = IsCall("call_1", "f", '{"a": "' + text, namespace="n")
                items = [
                    NewItem("system", text),
                    NewItem("assistant", "", call),
                    NewItem("user", text, IsResult("call_1")),
                ]
                await self.store.items.add(conversation.id, items)
            case "take out" if not locked and conversation.head_id is not None:
                await self.store.items.remove(conversation.id, conversation.head_id)
            case "hide" if chosen is not None:
                await self.store.deletions.hide_message(chosen.id)
            case "hide chat":
                await self.store.deletions.hide_conversation(conversation.id)
            case "fork" if chosen is not None and chosen.status != "in_progress":
                await self.store.tree.fork(conversation.id, chosen.id)
            case "rename":
                await self.store.conversations.change(conversation.id, {"title": text or None, "archived": number > 0})
            case "metadata":
                await self.store.conversations.change(conversation.id, {"metadata": {"b": text}})

    async def answer(self, kind: str, conversation_id: str, parent: Message | None, text: str) -> None:
        conversation = await self.store.conversations.get(conversation_id)
        question = message(conversation, "user", text, parent)
        answer = message(conversation, "assistant", "", question)
        response = None
        if kind in ("respond", "follow"):
            previous = response_id_of(parent.id) if kind == "follow" and parent is not None else None
            named = conversation_id if kind == "respond" else None
            response = ResponseRecord(
                model="m",
                background=False,
                instructions=text,
                previous_response_id=previous,
                conversation_id=named,
                max_output_tokens=5,
                metadata={"a": text},
                tools=[{"type": "function"}],
            )
        new = replace(answer, tool_use=MayCall("hermes", True, namespaces=("n f",))) if kind == "retry" else answer
        await self.store.runs.begin(
            TurnRows(answer=new, run=record(new), questions=(question,), title=text or None, response=response)
        )
        if kind == "begin":
            return
        error = {"message": text, "type": "server_error", "param": None, "code": "x"} if kind == "fail" else None
        status, reason = ("failed", "error") if kind == "fail" else ("complete", "stop")
        end = MessageEnd(
            content=text,
            status=status,  # type: ignore[arg-type]
            finish_reason=reason,
            token_ids=b"",
            usage={"n": 1},
            error=error,
            reasoning=text or None,
        )
        await self.store.runs.finish(end.of(new))


def test_export_of_any_state_comes_back_equal(size: Size, tmp_path_factory: pytest.TempPathFactory) -> None:
    @settings(
        max_examples=size.pick(small=25, full=500),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
    @given(steps=STEPS)
    def holds(steps: list[tuple[str, int, str]]) -> None:
        asyncio.run(round_trip(steps, tmp_path_factory.mktemp("life")))

    holds()


async def round_trip(steps: list[tuple[str, int, str]], folder: Path) -> None:
    here, there = await Store.open(folder / "here.db"), await Store.open(folder / "there.db")
    try:
        life = Life(here)
        for step in steps:
            await life.step(*step)
        first = await exported(here)
        await there.imports.add(read_file(first), duplicates=False)
        second = await exported(there)
        assert named_by_place(second) == named_by_place(first)
        assert await there.imports.add(read_file(first), duplicates=False) == {}
    finally:
        await here.close()
        await there.close()


async def test_cut_calls_survive_export_and_import(store: Store) -> None:
    may_call = {"kind": "may_call", "start": "<tool_call>", "end": "</tool_call>", "parallel": True}
    sent = {"kind": "call", "call_id": "c", "name": "f", "arguments": '{"a": "b'}
    written = '<tool_call>\n{"name": "f", "arguments": {"a": "b'
    answer = {"role": "assistant", "status": "incomplete", "finish_reason": "length"}
    messages = [
        {**MESSAGE, "id": "a"},
        {**MESSAGE, **answer, "id": "b", "parent_id": "a", "content": written, "tool_use": may_call},
        {**MESSAGE, "id": "c", "parent_id": "b", "role": "assistant", "tool_use": sent},
    ]
    body = file_of({**EMPTY, "id": "conv_1", "head_id": "c", "messages": messages})
    await store.imports.add(read_file(body), duplicates=False)
    [_, *stored] = read_file(await exported(store))[0].messages
    assert [each.parsed.calls[0].arguments for each in stored] == ['{"a": "b', '{"a": "b']
    assert [each.parsed.text for each in stored] == ["", ""]


async def test_export_of_many_real_turns_can_be_imported(store: Store, size: Size) -> None:
    """Bounds on strings and containers that were meant for bodies of chats refused 900 turns."""
    turns = size.pick(small=1_500, full=50_000)
    phases = [{"name": "prefill", "ms": 1.5}] * 4
    tiers = {"cached_tokens": 3, "by_tier": {"device": 3, "cpu": 0}}
    usage = {"prompt_tokens": 9, "prompt_tokens_details": tiers, "ebb": {"phases": phases}}
    params = {"temperature": 0.3, "stop": ["a", "b"], "logit_bias": {"1": 2.0}, "seed": 7, "top_p": 0.9}
    messages, parent = [], None
    for index in range(2 * turns):
        role = "assistant" if index % 2 else "user"
        messages.append(
            {**MESSAGE, "id": new_id("msg"), "parent_id": parent, "role": role, "usage": usage, "params": params}
        )
        parent = messages[-1]["id"]
    body = file_of({**EMPTY, "id": "conv_1", "head_id": parent, "messages": messages})
    assert len(await store.imports.add(read_file(body), duplicates=False)) == 1
    assert len(json.loads(await exported(store))["conversations"][0]["messages"]) == 2 * turns
    assert len(read_file(await exported(store))[0].messages) == 2 * turns


async def test_edited_answer_survives_export_and_import(store: Store) -> None:
    conversation = await store.conversations.create({"title": "Tides"})
    _, answer = await answered(store, conversation, "When?")
    await store.tree.edit(answer.id, new_id("msg"), "At noon.")
    [one] = read_file(await exported(store))
    assert [each.finish_reason for each in one.messages] == [None, "stop", "edited"]
    await store.imports.add([replace(one, source="elsewhere")], duplicates=True)
    for each in read_file(await exported(store)):
        assert [(message.content, message.finish_reason) for message in each.messages][1:] == [
            ("Yes.", "stop"),
            ("At noon.", "edited"),
        ]
        assert each.conversation.head_id == each.messages[2].id
