"""Responses, items and conversations in OpenAI's JSON format.

Source: the types of the `openai` package, 3.57.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal

from app.apis.responses.diagnostics import diagnostics_of
from app.domain.records import Conversation, Message
from app.domain.response_record import ResponseRecord, call_ids_of, reasoning_id_of, response_id_of, text_id_of
from app.domain.tool_use import IsCall, IsResult, MayCall
from models.chat.custom_input import input_of
from models.chat.tool_calls import ToolCall

ItemStatus = Literal["in_progress", "completed", "incomplete"]
ResponseStatus = Literal["in_progress", "completed", "incomplete", "cancelled", "failed"]

_CALLS_NOTHING: Final = MayCall("", parallel=True)

RESTARTED = {"code": "server_error", "message": "The server stopped before the answer was complete"}


def output_text(text: str) -> dict[str, Any]:
    """Build the content part of an answer's text, which is the only one."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def reasoning_text(text: str) -> dict[str, Any]:
    """Build the content part of an answer's reasoning, which is the only one."""
    return {"type": "reasoning_text", "text": text}


def reasoning_json(answer: Message) -> dict[str, Any]:
    """Build the item of an answer's reasoning. No summary is made of reasoning."""
    has_ended = bool(answer.content) or answer.status == "complete"
    return {
        "id": reasoning_id_of(answer.id),
        "type": "reasoning",
        "summary": [],
        "content": [reasoning_text(answer.reasoning or "")],
        "encrypted_content": None,
        "status": "completed" if has_ended else item_status(answer),
    }


def output_json(answer: Message) -> list[dict[str, Any]]:
    """Build the items that a response has so far."""
    thought = [reasoning_json(answer)] if answer.reasoning else []
    return thought + (items_json(answer) if has_output(answer) else [])


def has_output(answer: Message) -> bool:
    """Return whether an answer has items other than its reasoning.

    A complete answer has one, even without any text, unless nothing was to be generated.
    """
    return (answer.status == "complete" and not answer.is_prompt_alone) or bool(answer.parsed.parts)


def items_json(message: Message) -> list[dict[str, Any]]:
    """Convert a message to items: its texts and its calls, in order. A message without either is an empty text."""
    may_call = message.tool_use if isinstance(message.tool_use, MayCall) else _CALLS_NOTHING
    match message.tool_use:
        case IsCall() as made:
            ids, call = (message.id, made.call_id), ToolCall(made.name, made.arguments)
            return [_item_of_call(ids, call, "completed", is_custom=made.is_custom, namespace=made.namespace)]
        case IsResult(call_id=call_id, is_custom=is_custom):
            kind = "custom_tool_call_output" if is_custom else "function_call_output"
            result = {"id": message.id, "type": kind, "status": "completed"}
            return [{**result, "call_id": call_id, "output": message.content}]
    items, num_calls, names_apart = list[dict[str, Any]](), 0, may_call.names_apart
    parts = message.parsed.parts or ("",)
    for index, part in enumerate(parts):
        status = _part_status(message, part, is_last=index == len(parts) - 1)
        if isinstance(part, str):
            items.append(text_json(message, text_id_of(message.id, index - num_calls), part, status))
        else:
            ids = call_ids_of(message.id, num_calls)
            namespace, name = names_apart.get(part.name, (None, part.name))
            call, is_custom = replace(part, name=name), part.name in may_call.custom
            items.append(_item_of_call(ids, call, status, is_custom=is_custom, namespace=namespace))
            num_calls += 1
    return items


def _part_status(message: Message, part: str | ToolCall, *, is_last: bool) -> ItemStatus:
    if isinstance(part, str):
        return item_status(message) if is_last else "completed"
    if part.is_complete:
        return "completed"
    return "in_progress" if is_last and message.status == "in_progress" else "incomplete"


def call_ids(message: Message) -> set[str]:
    """Return the ids of the calls in a message."""
    match message.tool_use:
        case IsCall(call_id=call_id):
            return {call_id}
        case MayCall():
            kinds = ("function_call", "custom_tool_call")
            return {item["call_id"] for item in items_json(message) if item["type"] in kinds}
    return set()


def _item_of_call(
    ids: tuple[str, str], call: ToolCall, status: ItemStatus, *, is_custom: bool, namespace: str | None
) -> dict[str, Any]:
    return (
        custom_call_json(ids, call.name, input_of(call.arguments), status, namespace)
        if is_custom
        else call_json(ids, call, status, namespace)
    )


def call_json(ids: tuple[str, str], call: ToolCall, status: ItemStatus, namespace: str | None = None) -> dict[str, Any]:
    """Build the item of a call. ids: of the item and of the call. namespace: of the tool; None if it is in none."""
    item_id, call_id = ids
    return {
        "id": item_id,
        "type": "function_call",
        "status": status,
        "call_id": call_id,
        "name": call.name,
        **_within(namespace),
        "arguments": call.arguments,
    }


def custom_call_json(
    ids: tuple[str, str], name: str, text: str, status: ItemStatus, namespace: str | None = None
) -> dict[str, Any]:
    """Build the item of a custom tool's call. ids, namespace: as in `call_json`. text: the input."""
    item_id, call_id = ids
    return {
        "id": item_id,
        "type": "custom_tool_call",
        "status": status,
        "call_id": call_id,
        "name": name,
        **_within(namespace),
        "input": text,
    }


def _within(namespace: str | None) -> dict[str, str]:
    return {} if namespace is None else {"namespace": namespace}


def text_json(message: Message, item_id: str, text: str, status: ItemStatus) -> dict[str, Any]:
    """Build the item of a text of a message."""
    return {
        "id": item_id,
        "type": "message",
        "role": message.role,
        "status": status,
        "content": [output_text(text) if message.role == "assistant" else {"type": "input_text", "text": text}],
    }


def conversation_json(conversation: Conversation) -> dict[str, Any]:
    """Build a conversation object, which contains no items."""
    return {
        "id": conversation.id,
        "object": "conversation",
        "created_at": int(conversation.created_at),
        "metadata": conversation.metadata,
    }


def begun(answer: Message) -> Message:
    """Return `answer` as it was before its first token."""
    return replace(
        answer,
        content="",
        reasoning=None,
        status="in_progress",
        completed_at=None,
        finish_reason=None,
        error=None,
        usage=None,
    )


def response_json(record: ResponseRecord, answer: Message, *, is_stored: bool = True) -> dict[str, Any]:
    """Build the response object of `answer`, which may be in progress."""
    status = response_status(answer)
    params = answer.params or {}
    return {
        "id": response_id_of(answer.id),
        "object": "response",
        "created_at": int(answer.created_at),
        "completed_at": int(answer.completed_at) if status == "completed" and answer.completed_at else None,
        "status": status,
        "background": record.background,
        "error": _error(answer) if status == "failed" else None,
        "incomplete_details": _incomplete_details(answer) if status == "incomplete" else None,
        "instructions": record.instructions,
        "max_output_tokens": record.max_output_tokens,
        "max_tool_calls": None,
        "metadata": record.metadata,
        "model": record.model,
        "output": output_json(answer),
        "parallel_tool_calls": record.parallel_tool_calls,
        "previous_response_id": record.previous_response_id,
        "conversation": {"id": record.conversation_id} if record.conversation_id is not None else None,
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "default",
        "store": is_stored,
        "temperature": params.get("temperature"),
        "text": {"format": record.text_format},
        "tool_choice": record.tool_choice,
        "tools": [_tool_json(tool) for tool in record.tools],
        "top_logprobs": params.get("logprobs") or 0,
        "top_p": params.get("top_p"),
        "truncation": record.truncation,
        "usage": usage_json(answer.usage) if answer.usage is not None else None,
        "user": None,
        **diagnostics_of(record, answer.usage),
    }


def _tool_json(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool with the fields that clients expect, which records of earlier versions may lack."""
    expected = ("description", "parameters", "strict") if tool["type"] == "function" else ("description",)
    return {**dict.fromkeys(expected), **tool}


def response_status(answer: Message) -> ResponseStatus:
    """Return the status of an answer's response.

    An answer cut off by a server restart counts as failed, since none of its own limits ended it.
    """
    match answer.status:
        case "complete":
            return "completed"
        case "incomplete" if answer.finish_reason in (None, "abort"):
            return "failed"
        case _:
            return answer.status


def item_status(message: Message) -> ItemStatus:
    """Return the status of the last item of a message."""
    match message.status:
        case "complete":
            return "completed"
        case "in_progress":
            return "in_progress"
        case _:
            return "incomplete"


def _incomplete_details(answer: Message) -> dict[str, Any]:
    # OpenAI's clients know a closed set of reasons, so a timeout is reported as a limit.
    details = {"reason": "max_output_tokens"}
    return {**details, "stop_reason": "timeout"} if answer.finish_reason == "timeout" else details


def _error(answer: Message) -> dict[str, Any]:
    if answer.error is None:
        return RESTARTED
    overloaded = answer.error["type"] == "rate_limit_error"
    return {"code": "rate_limit_exceeded" if overloaded else "server_error", "message": answer.error["message"]}


def usage_json(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Convert usage as chat completions have it. `kv` names the tiers that the cached tokens came from."""
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {**usage["prompt_tokens_details"], "cache_write_tokens": 0},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": usage.get("completion_tokens_details", {"reasoning_tokens": 0}),
        "total_tokens": usage["total_tokens"],
        "kv": {name: value for name, value in usage["kv"].items() if name != "reuse"},
    }
