"""The sampling fields that every generating route shares."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from app.limits import MAX_STOP_LENGTH, MAX_STOP_STRINGS
from app.schemas.answer_forms import FormFields
from app.schemas.parsing import RequestModel
from app.schemas.urgency import UrgencyFields
from engine.sampling_params import SamplingParams
from models.thinking import ThinkingMode


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


StopString = Annotated[str, Field(min_length=1, max_length=MAX_STOP_LENGTH)]
StopStrings = Annotated[list[StopString], Field(max_length=MAX_STOP_STRINGS), BeforeValidator(_as_list)]
Temperature = Annotated[float, Field(ge=0, le=2)]
TopP = Annotated[float, Field(gt=0, le=1)]
TopK = Annotated[int, Field(ge=-1, le=1 << 31)]
Seed = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]
TokenCount = Annotated[int, Field(ge=1, le=1 << 31)]
MinTokens = Annotated[int, Field(ge=0, le=1 << 31)]
ModelName = Annotated[str, Field(min_length=1, max_length=1024)]


NO_DEFAULTS: Mapping[str, float] = {}


class SamplingFields(RequestModel):
    """Each field may be left out or null: then the default of SamplingParams holds."""

    temperature: Temperature | None = None
    top_p: TopP | None = None
    top_k: TopK | None = None
    seed: Seed | None = None
    stop: StopStrings | None = None
    max_tokens: TokenCount | None = None
    min_tokens: MinTokens | None = None
    ignore_eos: bool | None = None

    def sampling_params(self, defaults: Mapping[str, float] = NO_DEFAULTS) -> SamplingParams:
        """What the engine gets. defaults: the model's, where the client leaves it open.

        A negative top_k means off, a negative seed its 64-bit two's complement.
        """
        chosen: dict[str, Any] = dict(defaults)
        chosen |= {name: value for name in SamplingFields.model_fields if (value := getattr(self, name)) is not None}
        if "top_k" in chosen:
            chosen["top_k"] = max(chosen["top_k"], 0)
        if "seed" in chosen:
            chosen["seed"] %= 1 << 64
        if "stop" in chosen:
            chosen["stop"] = tuple(chosen["stop"])
        return SamplingParams(**chosen)


class ChatParams(SamplingFields):
    """Those of a conversation or one of its turns. thinking: one of the modes that the model knows."""

    thinking: ThinkingMode | None = None


class GenerationRequest(SamplingFields, UrgencyFields):
    """What every route has that generates an answer and keeps nothing."""

    model: ModelName
    stream: bool | None = None

    def client_field(self, engine_param: str) -> str:
        """The client's name of a field that the engine refuses."""
        return engine_param


class OpenAIRequest(GenerationRequest, FormFields):
    """What the two OpenAI generation routes have in common."""

    ignored: ClassVar[frozenset[str]] = frozenset(
        {
            "user",
            "metadata",
            "parallel_tool_calls",
            "guided_decoding_backend",
            "service_tier",
            "safety_identifier",
            "prompt_cache_key",
        }
    )
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "n": (1,),
        "frequency_penalty": (0, 0.0),
        "presence_penalty": (0, 0.0),
        "logit_bias": ({},),
    }

    stream_options: "StreamOptions | None" = None

    def sampling_params(self, defaults: Mapping[str, float] = NO_DEFAULTS) -> SamplingParams:
        """As SamplingFields, with the form that the answer must have."""
        params, form = super().sampling_params(defaults), self.answer_form()
        return params if form is None else replace(params, form=form[0])

    def client_field(self, engine_param: str) -> str:
        """The engine's form comes from one of several fields."""
        form = self.answer_form() if engine_param == "form" else None
        return form[1] if form is not None else super().client_field(engine_param)

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with a chunk of usage."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)


class StreamOptions(RequestModel):
    """`include_obfuscation` is accepted and does nothing: Ebb pads no chunks."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


OpenAIRequest.model_rebuild()
