"""Fields that Ollama's two generating routes share."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, Tag

from app.apis.ollama.keep_alive import KeepAliveFields
from app.apis.ollama.options import NO_OPTIONS, OllamaOptions, option_field
from app.host.backend import Backend
from app.prompts.thinking import preferred_mode, required_mode
from app.schemas.answer_forms import ANY_OBJECT, of_schema
from app.schemas.parsing import by_kind, optional
from app.schemas.sampling import NO_DEFAULTS, AnswerRequest, TopLogprobs
from app.schemas.unenforced import note_unenforced
from engine.api.sampling_params import SamplingParams
from models.thinking import ThinkingMode


def _form_kind(value: object) -> str | None:
    return "<schema>" if isinstance(value, dict) else "<word>" if value == "json" else None


def _think_kind(value: object) -> str | None:
    return "<switch>" if isinstance(value, bool) else "<level>" if value in LEVELS else None


Level = Literal["low", "medium", "high", "max"]
LEVELS: Final = get_args(Level)
AnswerForm = Annotated[
    Annotated[Literal["json"], Tag("<word>")]
    | Annotated[dict[str, Any], AfterValidator(note_unenforced), Tag("<schema>")],
    by_kind(_form_kind, "'json' or a JSON Schema, which is an object"),
]
Think = Annotated[
    Annotated[bool, Tag("<switch>")] | Annotated[Level, Tag("<level>")],
    by_kind(_think_kind, "true, false, 'low', 'medium', 'high' or 'max'"),
]


class OllamaRequest(KeepAliveFields, AnswerRequest):
    """A request for an answer. Ebb's own fields are `priority` and `timeout`."""

    ignored: ClassVar[frozenset[str]] = frozenset({"shift", "truncate"})
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {"_debug_render_only": (False,)}

    stream: Annotated[bool, BeforeValidator(lambda value: True if value is None else value)] = Field(
        default=True, description="streams the answer as lines of JSON, which is the default"
    )
    options: OllamaOptions | None = optional("the fields below")
    format: Annotated[AnswerForm | None, BeforeValidator(lambda value: None if value == "" else value)] = optional(
        "`json`, or a JSON Schema that the answer conforms to; an empty string allows any answer"
    )
    think: Think | None = optional(
        "whether the model thinks before it answers; `false` also leaves its thoughts out of the answer"
    )
    logprobs: bool | None = optional("returns the model's own log probability of every token of the answer")
    top_logprobs: TopLogprobs | None = optional(
        "number of most likely tokens to return for each token; no effect without `logprobs`"
    )

    @property
    def shows_thoughts(self) -> bool:
        """Whether the answer includes the model's reasoning, if there is any."""
        return self.think is not False

    def thinking_mode(self, engine: Backend) -> ThinkingMode | None:
        """Choose the thinking mode. None leaves it to the model.

        Raise InvalidRequestError if thinking is asked for and the model cannot think.
        """
        if self.think is None:
            return None
        if self.think is False:
            return preferred_mode(engine, "none")
        required_mode(engine, "slow", param="think")
        return preferred_mode(engine, "high" if self.think is True else self.think)

    def sampling_params(self, defaults: Mapping[str, float] = NO_DEFAULTS) -> SamplingParams:
        """Build the sampling parameters, including the form of the answer.

        defaults: the model's defaults, for options that the client leaves open.
        """
        params = (self.options or NO_OPTIONS).sampling_params(defaults)
        if self.format is not None:
            params = replace(params, form=ANY_OBJECT if self.format == "json" else of_schema(self.format))
        return replace(params, logprobs=self.top_logprobs or 0) if self.logprobs else params

    def client_field(self, engine_param: str) -> str:
        """Return the client's name of the field behind an engine parameter, for error messages."""
        names = {"form": "format", "logprobs": "top_logprobs"}
        return names.get(engine_param) or option_field(engine_param) or engine_param
