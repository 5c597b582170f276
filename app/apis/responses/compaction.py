"""Compaction of a conversation: the messages of the user and the system as they are, and a summary of all others.

The summary is sealed for its tenant, so that clients treat it as an opaque text, as in OpenAI's API. As input, it
stands for a message of the assistant.
"""

import base64
import binascii
import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from pydantic import TypeAdapter

from app.apis.responses.input_items import InputItem
from app.apis.responses.schema import CompactRequest, PromptFields, ReasoningFields
from app.apis.responses.serializer import items_json, usage_json
from app.apis.responses.tools_schema import ResponseTool, ResponseTools
from app.domain.records import Message, new_id
from app.domain.response_record import ResponseRecord
from app.domain.tool_use import IsResult
from app.prompts.headless import HeadPart
from app.prompts.turn_prompt import SUMMARY_HEAD, SUMMARY_TASK, Prompt, PromptMaker
from app.runs.usage import openai_usage
from engine.api.outputs import RequestOutput
from engine.api.sampling_params import SamplingParams

_TOOLS: Final = TypeAdapter[list[ResponseTool]](ResponseTools)
_KEY_BYTES: Final = 32
_FORMAT: Final = b"1"
"""First byte of the sealed contents, which may not be empty."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """A summary to be made.

    prompt: prompt of the request that makes it.
    kept: messages that stay as they are.
    max_tokens: limit of the summary.
    salt: the tenant's secret.
    maker: maker of the prompts that continue the compacted conversation; None if its head is unknown.
    adapter: as in `GenerateRequest`.
    """

    prompt: Prompt
    kept: Sequence[Message]
    max_tokens: int
    salt: bytes
    maker: PromptMaker | None
    adapter: str = ""

    def params(self) -> SamplingParams:
        """Return the sampling parameters of the summary."""
        return SamplingParams(temperature=0.0, max_tokens=self.max_tokens)

    async def next_prefix(self, summary: str) -> list[int]:
        """Return the ids with which the next prompt begins, whatever its question is; none if they are unknown.

        Raise InvalidRequestError if the template refuses the messages.
        """
        if self.maker is None:
            return []
        item = summary_item(summary)
        now = time.time()
        answer = Message(
            id=new_id("msg"),
            conversation_id="",
            parent_id=None,
            role=item.stored_role,
            content=item.text,
            status="complete",
            created_at=now,
            completed_at=now,
        )
        return await self.maker.next_prefix([*self.kept, answer])

    def body(self, summary: RequestOutput) -> dict[str, Any]:
        """Build the response body. `summary` has its usage."""
        assert summary.usage is not None
        sealed = {
            "id": new_id("cmp"),
            "type": "compaction",
            "encrypted_content": seal_summary(summary.text, self.salt),
        }
        return {
            "id": new_id("resp"),
            "object": "response.compaction",
            "created_at": int(time.time()),
            "output": [*(item for message in self.kept for item in items_json(message)), sealed],
            "usage": usage_json(openai_usage(summary.usage, self.prompt.lines)),
        }


def summary_item(summary: str) -> InputItem:
    """Return the message in the place of a compaction."""
    return InputItem(role="assistant", content=SUMMARY_HEAD + summary)


def asking_for_summary(request: CompactRequest) -> PromptFields:
    """Build the fields of the prompt that asks for the summary. Messages at the beginning may be dropped to fit."""
    items = [InputItem(role="user", content=request.input)] if isinstance(request.input, str) else request.input or []
    # Constructed without a check of the number of items, which may be the maximum.
    return PromptFields.model_construct(
        input=[*items, InputItem(role="user", content=SUMMARY_TASK)],
        instructions=request.instructions,
        previous_response_id=request.previous_response_id,
        tools=request.tools,
        reasoning=ReasoningFields(effort="none"),
        truncation="auto",
    )


def with_head_of(record: ResponseRecord, fields: PromptFields) -> PromptFields:
    """Return `fields` with the instructions and the tools of the response that they continue, where they have none."""
    own = {"instructions": record.instructions, "tools": _TOOLS.validate_python(record.tools)}
    return fields.model_copy(update={name: value for name, value in own.items() if getattr(fields, name) is None})


def lacking(fields: PromptFields) -> frozenset[HeadPart]:
    """Return the parts of the head of a conversation that `fields` do not have."""
    parts: dict[HeadPart, object] = {"tools": fields.tools, "system": fields.instructions}
    return frozenset(part for part, given in parts.items() if given is None)


def kept_messages(messages: Sequence[Message]) -> list[Message]:
    """Return the messages that a compaction keeps as they are."""
    return [each for each in messages if each.role != "assistant" and not isinstance(each.tool_use, IsResult)]


def seal_summary(summary: str, salt: bytes) -> str:
    """Encrypt a summary for the tenant that has the secret `salt`."""
    return base64.urlsafe_b64encode(_cipher(salt).encrypt(_FORMAT + summary.encode(), None)).decode()


def open_summary(sealed: str, salt: bytes) -> str | None:
    """Decrypt a summary. Returns None if it was changed, or was not sealed for this tenant."""
    try:
        contents = _cipher(salt).decrypt(base64.urlsafe_b64decode(sealed), None)
    except (InvalidTag, binascii.Error, ValueError):
        return None
    return contents.removeprefix(_FORMAT).decode()


def _cipher(salt: bytes) -> AESSIV:
    return AESSIV(hashlib.blake2b(key=salt, digest_size=_KEY_BYTES, person=b"ebb-compaction").digest())
