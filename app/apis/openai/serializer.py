"""Serializers for the two answer formats of OpenAI's API, as chunks of a stream and as one body."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.apis.openai.logprobs import ChatLogprobs, TextLogprobs, joined_logprobs, shown_logprobs
from app.domain.records import new_id
from app.http.error_formats import error_body
from app.prompts.volatile_lines import UNTREATED, TreatedLines
from app.runs.prompt_progress import llama_progress
from app.runs.usage import combined_usage, openai_usage, usage_of_answers
from app.schemas.response_bodies.usage import TokenUsage
from app.schemas.sampling import OpenAIRequest
from app.transport.frames import EVENTS, TextFrame
from app.transport.sse import DONE_FRAME, data_frame
from engine.api.errors import EbbError
from engine.api.outputs import FinishReason, RequestOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkFields:
    """Fields that begin every chunk of all answers to one request.

    include_usage: whether a stream ends with usage.
    num_drawn: number of answers generated for each prompt.
    lines: volatile lines that were treated in the prompt, for the receipt.
    """

    answer_id: str
    created: int
    model: str
    fingerprint: str
    include_usage: bool
    num_drawn: int
    lines: TreatedLines = UNTREATED

    @classmethod
    def new(
        cls,
        kind: str,
        *,
        model: str,
        fingerprint: str,
        include_usage: bool = False,
        num_drawn: int = 1,
        lines: TreatedLines = UNTREATED,
    ) -> "ChunkFields":
        """Make the fields for a new answer. `kind` is the prefix of its id."""
        return cls(
            answer_id=new_id(kind),
            created=int(time.time()),
            model=model,
            fingerprint=fingerprint,
            include_usage=include_usage,
            num_drawn=num_drawn,
            lines=lines,
        )

    def fields(self, object_name: str) -> dict[str, Any]:
        """Return the first fields of a chunk or a body."""
        return {
            "id": self.answer_id,
            "object": object_name,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.fingerprint,
        }


@dataclass(frozen=True, slots=True)
class TokenDetails:
    """vLLM's additions to an answer and to the chunks of its stream.

    prompt_ids: token ids of the prompt.
    with_ids: add the ids of the prompt and of the answer.
    with_usage: add the usage so far to every chunk.
    """

    prompt_ids: Sequence[int]
    with_ids: bool
    with_usage: bool

    @classmethod
    def of(cls, fields: OpenAIRequest, prompt_ids: Sequence[int]) -> "TokenDetails | None":
        """Return the additions that a request asked for; None without any."""
        with_ids, with_usage = bool(fields.return_token_ids), fields.has_continuous_usage
        return cls(prompt_ids, with_ids, with_usage) if with_ids or with_usage else None


class OpenAIShape(ABC):
    """Serializer of one answer. The constant parts of a text chunk are encoded once.

    ends_with_stop_token: whether a token that ends the answer is shown.
    details: additions that the client asked for; None without any.
    """

    framing = EVENTS
    object_name: str
    chunk_name: str

    def __init__(
        self,
        head: ChunkFields,
        *,
        index: int = 0,
        ends_with_stop_token: bool = False,
        details: TokenDetails | None = None,
    ) -> None:
        self._head = head
        self._index = index
        self._ends_with_stop_token = ends_with_stop_token
        self._details = details
        self._num_tokens = 0
        self._unsent_ids: list[int] = []
        self._text_chunk = self._chunk_of_text(self._content)

    @abstractmethod
    def opening(self) -> bytes:
        """Return the frames that precede the first text; may be empty."""

    def step(self, output: RequestOutput) -> bytes:
        """Return a chunk of reasoning, a chunk of text, both, or nothing."""
        self._count(output)
        frame = self._progress_chunks(output)
        if output.reasoning:
            frame += self._chunk([self._choice(self._thought(output.reasoning), None)])
        if (logprobs := self._logprobs_of(output)) is not None:
            frame += self._chunk([self._choice(self._content(output.text), None, logprobs)])
        elif output.text and self._details is not None:
            frame += self._chunk([self._choice(self._content(output.text), None)])
        elif output.text:
            frame += self._text_chunk.encode(output.text)
        return frame

    def _progress_chunks(self, output: RequestOutput) -> bytes:
        """Return a chunk for each report of the prompt's progress since its computation began, in llama.cpp's shape."""
        reports = [llama_progress(each) for each in output.progress if each.state == "computing"]
        choice = {"index": self._index, **self._unbegun(), "finish_reason": None}
        return b"".join(self._chunk([choice], prompt_progress=each) for each in reports)

    def ending(self, last: RequestOutput) -> bytes:
        """Return the finish reason, the usage if it was asked for, and the [DONE] frame."""
        return self.reason(last) + self.closing([last])

    def reason(self, last: RequestOutput) -> bytes:
        """Return the chunk with the finish reason of this answer."""
        return self._chunk([self._choice(self._no_content(), last.finish_reason)])

    def closing(self, lasts: Sequence[RequestOutput]) -> bytes:
        """Return the end of the stream: the usage of all answers if it was asked for, and the [DONE] frame.

        lasts: the last output of each answer, with the answers to one prompt adjacent.
        """
        if not self._head.include_usage:
            return DONE_FRAME
        head = self._head.fields(self.chunk_name)
        return data_frame({**head, "choices": [], "usage": self._usage(lasts)}) + DONE_FRAME

    def failure(self, error: EbbError) -> bytes:
        """Return the error event, which OpenAI's clients raise."""
        return data_frame({"error": error_body(error)})

    def whole(self, answer: RequestOutput) -> dict[str, Any]:
        """Return the response body."""
        return self.body([self.choice(answer)], [answer])

    def choice(self, answer: RequestOutput) -> dict[str, Any]:
        """Return the choice of an answer in a response body."""
        self._count(answer)
        message = self._message(answer.text, answer.reasoning)
        return self._choice(message, answer.finish_reason, self._logprobs_of(answer))

    def body(self, choices: Sequence[dict[str, Any]], answers: Sequence[RequestOutput]) -> dict[str, Any]:
        """Return the response body.

        choices: the choices to show.
        answers: all answers that were generated, in the order of `closing`.
        """
        return {**self._head.fields(self.object_name), "choices": choices, "usage": self._usage(answers)}

    def _usage(self, lasts: Sequence[RequestOutput]) -> TokenUsage:
        usages = [last.usage for last in lasts if last.usage is not None]
        count = self._head.num_drawn
        of_prompts = [usage_of_answers(usages[at : at + count]) for at in range(0, len(usages), count)]
        return openai_usage(combined_usage(of_prompts), self._head.lines)

    def _chunk_of_text(self, content: Callable[[str], dict[str, Any]]) -> TextFrame:
        """Encode the constant parts of a chunk. `content` makes its fields, given its text."""
        return TextFrame(lambda text: self._chunk([self._choice(content(text), None)]))

    def _chunk(self, choices: list[dict[str, Any]], **more: Any) -> bytes:
        # OpenAI sends a null usage with every chunk of a stream that ends with usage.
        usage = {"usage": self._usage_so_far()} if self._head.include_usage else {}
        return data_frame({**self._head.fields(self.chunk_name), "choices": choices, **usage, **more})

    def _choice(
        self, content: dict[str, Any], reason: FinishReason | None, logprobs: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": self._index, **content, "logprobs": logprobs, "finish_reason": reason}
        if reason == "timeout":
            # OpenAI's clients know a closed set of reasons. A timeout, too, is a limit that cut the answer.
            choice |= {"finish_reason": "length", "stop_reason": "timeout"}
        if self._details is not None and self._details.with_ids:
            choice["token_ids"], self._unsent_ids = self._unsent_ids, []
        return choice

    def _count(self, output: RequestOutput) -> None:
        """Count the tokens of an output. Their ids go with the next choice that is written."""
        if self._details is not None:
            self._num_tokens += len(output.token_ids)
            self._unsent_ids += output.token_ids

    def _usage_so_far(self) -> dict[str, int] | None:
        if self._details is None or not self._details.with_usage:
            return None
        prompt = len(self._details.prompt_ids)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": self._num_tokens,
            "total_tokens": prompt + self._num_tokens,
        }

    def _prompt_ids(self) -> dict[str, Any]:
        """Return the field with the prompt's ids, if the client asked for it."""
        if self._details is None or not self._details.with_ids:
            return {}
        return {"prompt_token_ids": list(self._details.prompt_ids)}

    @abstractmethod
    def _logprobs_of(self, output: RequestOutput) -> dict[str, Any] | None:
        """Return the log probabilities of the output; None if they were not asked for or there are none."""

    @abstractmethod
    def _content(self, text: str) -> dict[str, Any]:
        """Return the fields of a text chunk."""

    @abstractmethod
    def _unbegun(self) -> dict[str, Any]:
        """Return the fields of a chunk before the first text."""

    @abstractmethod
    def _thought(self, text: str) -> dict[str, Any]:
        """Return the fields of a reasoning chunk."""

    @abstractmethod
    def _no_content(self) -> dict[str, Any]:
        """Return the fields of the chunk with the finish reason."""

    @abstractmethod
    def _message(self, text: str, reasoning: str) -> dict[str, Any]:
        """Return the fields of an answer in a response body."""


class ChatShape(OpenAIShape):
    """Serializer of chat.completion and chat.completion.chunk.

    Reasoning is sent as `reasoning_content`, as in DeepSeek's API. An answer without any lacks the field.
    """

    object_name = "chat.completion"
    chunk_name = "chat.completion.chunk"

    def __init__(
        self,
        head: ChunkFields,
        logprobs: ChatLogprobs | None = None,
        *,
        index: int = 0,
        ends_with_stop_token: bool = False,
        details: TokenDetails | None = None,
        with_reasoning: bool = True,
    ) -> None:
        """Make the serializer.

        logprobs: serializes log probabilities; None leaves them out.
        with_reasoning: send the reasoning.
        """
        self._logprobs = logprobs
        self._with_reasoning = with_reasoning
        super().__init__(head, index=index, ends_with_stop_token=ends_with_stop_token, details=details)

    def opening(self) -> bytes:
        """Return the chunk with the role."""
        return self._chunk([self._choice({"delta": {"role": "assistant", "content": ""}}, None)], **self._prompt_ids())

    def step(self, output: RequestOutput) -> bytes:
        """Return a chunk of reasoning, a chunk of text, both, or nothing."""
        return super().step(output if self._with_reasoning else replace(output, reasoning=""))

    def body(self, choices: Sequence[dict[str, Any]], answers: Sequence[RequestOutput]) -> dict[str, Any]:
        """Return the response body."""
        return {**super().body(choices, answers), **self._prompt_ids()}

    def _logprobs_of(self, output: RequestOutput) -> dict[str, Any] | None:
        if self._logprobs is None or not output.logprobs:
            return None
        shown = shown_logprobs(output, ends_with_stop_token=self._ends_with_stop_token)
        return self._logprobs.content(shown)

    def _content(self, text: str) -> dict[str, Any]:
        return {"delta": {"content": text}}

    def _unbegun(self) -> dict[str, Any]:
        return {"delta": {"role": "assistant", "content": None}}

    def _thought(self, text: str) -> dict[str, Any]:
        return {"delta": {"reasoning_content": text}}

    def _no_content(self) -> dict[str, Any]:
        return {"delta": {}}

    def _message(self, text: str, reasoning: str) -> dict[str, Any]:
        thought = {"reasoning_content": reasoning} if reasoning and self._with_reasoning else {}
        return {"message": {"role": "assistant", "content": text, "refusal": None, **thought}}


@dataclass(frozen=True, slots=True)
class Echo:
    """The prompt that a completion repeats.

    first_is_shown: whether its first token is part of the text.
    """

    text: str
    first_id: int
    first_is_shown: bool


class TextShape(OpenAIShape):
    """Serializer of text_completion, also the name of its chunks. Reasoning is text like any other here."""

    object_name = "text_completion"
    chunk_name = "text_completion"

    def __init__(
        self,
        head: ChunkFields,
        logprobs: TextLogprobs | None = None,
        *,
        index: int = 0,
        echo: Echo | None = None,
        ends_with_stop_token: bool = False,
        details: TokenDetails | None = None,
    ) -> None:
        """Make the serializer. `logprobs` serializes this completion's log probabilities; None leaves them out."""
        self._logprobs = logprobs
        self._echo = echo
        self._echo_is_due = echo is not None
        self._prompt_ids_are_due = False
        super().__init__(head, index=index, ends_with_stop_token=ends_with_stop_token, details=details)
        self._prompt_ids_are_due = True

    def opening(self) -> bytes:
        """Return the echoed prompt. With logprobs it is sent along with the first of them."""
        if self._echo is None or self._logprobs is not None:
            return b""
        self._echo_is_due = False
        return self._chunk([self._choice(self._content(self._echo.text), None)])

    def step(self, output: RequestOutput) -> bytes:
        """Return the chunks of a step, the first along with an echoed prompt."""
        if self._echo_is_due and self._echo is not None:
            if not (output.token_ids or output.finished):
                return self._progress_chunks(output)
            self._count(output)
            logprobs = self._logprobs_of(output)
            echoed = self._chunk([self._choice(self._content(self._echo.text + output.text), None, logprobs)])
            return self._progress_chunks(output) + echoed
        return super().step(output)

    def _logprobs_of(self, output: RequestOutput) -> dict[str, Any] | None:
        if self._logprobs is None:
            return None
        own = shown_logprobs(output, ends_with_stop_token=self._ends_with_stop_token)
        if self._echo_is_due and self._echo is not None:
            self._echo_is_due = False
            first, shown = self._echo.first_id, self._echo.first_is_shown
            prompt = self._logprobs.of_prompt(first, output.prompt_logprobs, first_is_shown=shown)
            return joined_logprobs(prompt, self._logprobs.of_answer(own))
        return self._logprobs.of_answer(own) if output.logprobs else None

    def _content(self, text: str) -> dict[str, Any]:
        return {"text": text}

    def _unbegun(self) -> dict[str, Any]:
        return {"text": "", "logprobs": None}

    def _thought(self, text: str) -> dict[str, Any]:
        return {"text": text}

    def _no_content(self) -> dict[str, Any]:
        return {"text": ""}

    def _choice(
        self, content: dict[str, Any], reason: FinishReason | None, logprobs: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        choice = super()._choice(content, reason, logprobs)
        if self._prompt_ids_are_due:
            self._prompt_ids_are_due = False
            choice |= self._prompt_ids()
        return choice

    def _message(self, text: str, reasoning: str) -> dict[str, Any]:
        return {"text": (self._echo.text if self._echo is not None else "") + reasoning + text}
