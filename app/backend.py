"""What the routes need of an engine. `engine.async_llm.AsyncLLMEngine` is one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Protocol

from engine.config import EngineConfig
from engine.outputs import Place, RequestOutput
from engine.sampling_params import SamplingParams
from engine.stats import EngineStats
from engine.trail import Trail
from engine.urgency import NORMAL, Urgency
from models.pangu.chat_format import Message
from models.thinking import Thinking, ThinkingMode
from models.tool_format import ToolFormat


class TextTokenizer(Protocol):
    """Text to token ids."""

    @property
    def vocab_size(self) -> int:
        """How many ids have a token."""

    @property
    def drops_first_space(self) -> bool:
        """Whether a space that begins a stretch of text between control tokens is none of it."""

    @property
    def longest_text(self) -> int:
        """The characters beyond which `encode` raises TextTooLongError, whatever a text says."""

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Return the ids of `text`. With `special`, the text of a control token becomes that token.

        Raises TextTooLongError for a text of far more tokens than the window has.
        """

    def describe(self, ids: Sequence[int]) -> str:
        """The text of `ids` for a person: control tokens by their names, parts of characters as U+FFFD."""

    def token_bytes(self, id_: int) -> bytes:
        """What this token adds to a text: b"" for control tokens."""

    def encode_prompt(self, text: str) -> list[int]:
        """Return the ids of a raw prompt, with what the model wants around a text. Raises TextTooLongError."""


class PromptFormat(Protocol):
    """Messages to token ids. All raise ModelError if the template refuses the messages."""

    @property
    def thinking(self) -> Thinking | None:
        """How the model thinks before it answers; None if it does not."""

    @property
    def tools(self) -> ToolFormat:
        """How the model calls tools."""

    def render(self, messages: Sequence[Message], *, thinking: ThinkingMode | None = None) -> list[int]:
        """The whole prompt, up to where the answer begins. thinking: a mode that the model knows; None leaves it to
        the model."""

    def extend(
        self,
        prior_ids: Sequence[int],
        messages: Sequence[Message],
        *,
        num_new: int = 1,
        thinking: ThinkingMode | None = None,
    ) -> list[int]:
        """What follows `prior_ids`, which end with an answer, when the last `num_new` messages are said after it."""

    def next_prefix(self, messages: Sequence[Message]) -> list[int]:
        """What the prompt of the next question begins with, whatever it will be."""


class GenerationStream(Protocol):
    """News of one request; outputs that nobody has read merge."""

    @property
    def request_id(self) -> str:
        """What `abort` takes."""

    @property
    def params(self) -> SamplingParams:
        """Resolved: seed and max_tokens are set."""

    @property
    def text_before(self) -> str:
        """What the tokens say that the answer began with; empty unless it was given some."""

    @property
    def reasoning_before(self) -> str:
        """The same of what was thought."""

    def __aiter__(self) -> AsyncIterator[RequestOutput]:
        """Ends after the output with a finish_reason."""

    def listen(self, hear: Callable[[RequestOutput], bool]) -> None:
        """Offer unread output, and from then on each output as it comes, to `hear`, which says whether it takes it.

        Nothing is offered while a reader has something to read. `hear` must not block. If it raises, this stream ends
        with an error, and no other.
        """


class PrefixTiers(Protocol):
    """What lies in the tiers of prompts that are not asked yet."""

    async def warm(self, name: str, token_ids: Sequence[int], *, tenant: str) -> bool:
        """A prompt that begins with these tokens may be asked soon: bring what only Redis has of it as far as host
        memory, if there is room for it. Returns whether anything is brought. name: for `leave`; the next one of the
        same name takes its place."""

    def leave(self, name: str) -> None:
        """It will not be asked."""

    async def places(self, prefixes: Sequence[Sequence[int]], *, tenant: str) -> list[Place | None]:
        """The lowest place that a prompt which goes on from each has to turn to; None: nothing is kept of its end."""


class Backend(Protocol):
    """A running engine; all calls from the event loop's thread."""

    @property
    def model_name(self) -> str:
        """What clients call the model."""

    @property
    def kv_fingerprint(self) -> str:
        """Names the model and whatever else may change a bit of what it computes."""

    @property
    def max_model_len(self) -> int:
        """Tokens of prompt and answer together."""

    @property
    def config(self) -> EngineConfig:
        """What it was built from."""

    @property
    def prefixes(self) -> PrefixTiers:
        """Of prompts that are not asked yet."""

    @property
    def redis_note(self) -> str:
        """Why Redis is off, in a sentence; empty when it is on."""

    @property
    def tokenizer(self) -> TextTokenizer:
        """The model's tokenizer."""

    @property
    def chat_format(self) -> PromptFormat:
        """The model's chat template."""

    @property
    def sampling_defaults(self) -> Mapping[str, float]:
        """What the model's makers sample with: some of temperature, top_p and top_k."""

    async def prepare(
        self, params: SamplingParams, prompt_token_ids: Sequence[int] = (), *, tenant: str = "local"
    ) -> None:
        """Do in other threads what takes long of `generate` with these parameters, which should follow at once.

        Raises InvalidRequestError, OverloadedError.
        """

    def generate(
        self,
        prompt_token_ids: Sequence[int],
        params: SamplingParams,
        *,
        request_id: str | None = None,
        tenant: str,
        urgency: Urgency = NORMAL,
        produced: Sequence[int] = (),
        keep_kv: bool = True,
        on_place: Callable[[], None] | None = None,
    ) -> GenerationStream:
        """Queue a request, or raise an EbbError before any work.

        tenant: whose KV it uses and leaves. produced: the beginning of the answer, if there is one; the stream tells
        what follows. keep_kv: False leaves the KV of all tiers as it is.
        on_place: called when the request gets its place in the batch; neither blocks nor raises.
        """

    def fork(self, request_id: str, choice: int) -> GenerationStream:
        """Queue one more answer, number `choice`, to the prompt of a request that `generate` has just returned, which
        is number 0; before anything is awaited. Raises OverloadedError."""

    def abort(self, request_id: str) -> None:
        """End a request; its stream gets a last output with "abort"."""

    def tenant_salt(self, tenant: str) -> bytes:
        """32 secret bytes, of this tenant alone; others after it was deleted."""

    def requests_of(self, tenant: str) -> list[str]:
        """The ids of a tenant's requests that have not ended."""

    async def delete_tenant(self, tenant: str) -> None:
        """End its requests; nobody finds in any tier what it left. Raises EngineError if that would not last."""

    async def erase(self, trails: Sequence[Trail], *, tenant: str) -> None:
        """Forget the KV that only these trails of a tenant have, in all tiers; in Redis only if it can be reached
        now."""

    def stats(self) -> EngineStats:
        """A snapshot; cheap."""

    @property
    def is_broken(self) -> bool:
        """Whether the engine has failed for good; nothing is served any more."""

    @property
    def gave_up(self) -> asyncio.Event:
        """Set when the engine fails for good. Its streams have ended with "abort" by then: the process should hand its
        runs over as at SIGTERM, and exit with a status other than 0."""

    @property
    def why_gave_up(self) -> str:
        """The reason, in a sentence; empty while `gave_up` is not set."""

    async def start(self) -> None:
        """Begin to serve."""

    async def stop(self, drain_seconds: float) -> None:
        """Refuse new requests, let running ones end within `drain_seconds`, abort the rest, flush the tiers."""
