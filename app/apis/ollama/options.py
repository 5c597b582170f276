"""`options` of Ollama's generating routes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import Field

from app.schemas.parsing import RequestModel, optional
from app.schemas.sampling import (
    NO_DEFAULTS,
    MinP,
    Penalty,
    RepetitionPenalty,
    SamplingFields,
    Seed,
    StopStrings,
    TopK,
    TopP,
    Whole,
)
from engine.api.sampling_params import MAX_TEMPERATURE, SamplingParams

TokenLimit = Annotated[int, Field(ge=-2, le=1 << 31), Whole]
AnyTemperature = Annotated[float, Field(ge=0, le=MAX_TEMPERATURE)]
LastTokens = Annotated[int, Field(ge=-1, le=1 << 31), Whole]


class OllamaOptions(RequestModel):
    """Sampling fields under Ollama's names. Options about the way in which Ollama runs a model are ignored."""

    ignored: ClassVar[frozenset[str]] = frozenset(
        {
            "draft_num_predict",
            "embedding_only",
            "f16_kv",
            "logits_all",
            "low_vram",
            "main_gpu",
            "mirostat_eta",
            "mirostat_tau",
            "num_batch",
            "num_ctx",
            "num_gpu",
            "num_keep",
            "num_thread",
            "numa",
            "penalize_newline",
            "use_mlock",
            "use_mmap",
            "vocab_only",
        }
    )
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "mirostat": (0,),
        "tfs_z": (1, 1.0),
        "typical_p": (1, 1.0),
    }

    temperature: AnyTemperature | None = optional("0 always selects the most likely token")
    top_p: TopP | None = optional("as in chat completions")
    top_k: TopK | None = optional("as in chat completions")
    min_p: MinP | None = optional("as in chat completions")
    repeat_penalty: RepetitionPenalty | None = optional("`repetition_penalty` of chat completions")
    presence_penalty: Penalty | None = optional("as in chat completions")
    frequency_penalty: Penalty | None = optional("as in chat completions")
    repeat_last_n: LastTokens | None = optional("0 turns the penalties off; other values have no effect")
    seed: Seed | None = optional("as in chat completions; -1 draws one")
    stop: StopStrings | None = optional("as in chat completions")
    num_predict: TokenLimit | None = optional(
        "maximum number of tokens of the answer; 0, -1 and -2 allow all that the window has room for, as any larger "
        "number does"
    )

    def sampling_params(self, defaults: Mapping[str, float] = NO_DEFAULTS) -> SamplingParams:
        """Build the sampling parameters. defaults: the model's defaults, for options that the client leaves open."""
        penalizes = self.repeat_last_n != 0
        fields = SamplingFields(
            top_p=self.top_p,
            top_k=self.top_k,
            min_p=self.min_p,
            repetition_penalty=self.repeat_penalty if penalizes else None,
            presence_penalty=self.presence_penalty if penalizes else None,
            frequency_penalty=self.frequency_penalty if penalizes else None,
            seed=self.seed if self.seed != -1 else None,
            stop=self.stop,
            max_tokens=self.num_predict if (self.num_predict or 0) > 0 else None,
        )
        params = fields.sampling_params(defaults)
        return params if self.temperature is None else replace(params, temperature=self.temperature)


NO_OPTIONS = OllamaOptions()


def option_field(engine_param: str) -> str | None:
    """Return the path of the option behind an engine parameter; None if no option sets the parameter."""
    name = {"repetition_penalty": "repeat_penalty", "max_tokens": "num_predict"}.get(engine_param, engine_param)
    return f"options.{name}" if name in OllamaOptions.model_fields else None
