"""Registry of the tool formats by name, and the choice for a model."""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from models.chat.call_syntax.apertus import APERTUS
from models.chat.call_syntax.apertus import START as APERTUS_START
from models.chat.call_syntax.apriel import APRIEL
from models.chat.call_syntax.cohere import COHERE
from models.chat.call_syntax.cohere import START as COHERE_START
from models.chat.call_syntax.deepseek import ALL as DEEPSEEK_CALLS
from models.chat.call_syntax.deepseek import DEEPSEEK_V3, DEEPSEEK_V31
from models.chat.call_syntax.dsml import DEEPSEEK_V4, DEEPSEEK_V32, V4, V32
from models.chat.call_syntax.dsml import WORD as DSML
from models.chat.call_syntax.functionary import FUNCTIONARY
from models.chat.call_syntax.gemma4 import GEMMA4
from models.chat.call_syntax.gemma4 import START as GEMMA4_START
from models.chat.call_syntax.gigachat import GIGACHAT3, GIGACHAT31
from models.chat.call_syntax.gigachat import START as GIGACHAT_START
from models.chat.call_syntax.glm import GLM45, GLM47
from models.chat.call_syntax.granite import GRANITE
from models.chat.call_syntax.granite import START as GRANITE_START
from models.chat.call_syntax.harmony import HARMONY
from models.chat.call_syntax.hermes import HERMES, writes_hermes
from models.chat.call_syntax.hunyuan import HUNYUAN3
from models.chat.call_syntax.interface import CallSyntax
from models.chat.call_syntax.kimi import ALL as KIMI_CALLS
from models.chat.call_syntax.kimi import KIMI
from models.chat.call_syntax.kimi import ONE as KIMI_CALL
from models.chat.call_syntax.llama3 import LLAMA3
from models.chat.call_syntax.minicpm5 import MINICPM5
from models.chat.call_syntax.minimax import MINIMAX_M1, MINIMAX_M2
from models.chat.call_syntax.minimax import START as MINIMAX_START
from models.chat.call_syntax.minimax_m3 import MINIMAX_M3
from models.chat.call_syntax.mistral import MISTRAL_IDENTIFIED, MISTRAL_LIST, MISTRAL_NAMED
from models.chat.call_syntax.mistral import START as MISTRAL_START
from models.chat.call_syntax.muse import INVOKE as MUSE_INVOKE
from models.chat.call_syntax.muse import MUSE
from models.chat.call_syntax.nemotron import NEMOTRON2
from models.chat.call_syntax.nemotron import START as NEMOTRON_START
from models.chat.call_syntax.nested_reader import MARK as M3_MARK
from models.chat.call_syntax.pangu import END as PANGU_END
from models.chat.call_syntax.pangu import PANGU
from models.chat.call_syntax.pangu import START as PANGU_START
from models.chat.call_syntax.phi4_mini import PHI4_FUNCTOOLS, PHI4_MINI
from models.chat.call_syntax.pythonic import LFM2, LFM2_TOOLS, LINES_START, LLAMA4, OLMO3, PYTHONIC
from models.chat.call_syntax.qwen3_coder import QWEN3_CODER, SEED_OSS, SEED_START
from models.chat.call_syntax.solar import ONE as SOLAR_CALL
from models.chat.call_syntax.solar import SOLAR
from models.chat.harmony_thinking import CHANNEL, START


class Family(NamedTuple):
    """A named syntax. is_of: whether a chat template, or a model with these control tokens, uses the syntax."""

    name: str
    syntax: CallSyntax
    is_of: Callable[[str, Mapping[str, int]], bool]


AUTO: Final = "auto"
"""Name of the choice that leaves the format to the chat template."""

FALLBACK: Final = "hermes"
"""Format of models whose own is unknown. Ebb describes it in the prompt, and most models know it."""


def _has(*texts: str, but: tuple[str, ...] = ()) -> Callable[[str, Mapping[str, int]], bool]:
    """Recognize templates with all of `texts` and none of `but`."""
    return lambda template, _: all(text in template for text in texts) and not any(text in template for text in but)


_GLM45 = re.compile(r"<tool_call>\{function-name\}(?:\\n|\n)")
"""The line end behind the name in the instructions of the older templates."""

FAMILIES: Final = (
    Family("openpangu", PANGU, lambda _, control: PANGU_START in control and PANGU_END in control),
    Family("mistral-v11", MISTRAL_IDENTIFIED, _has(MISTRAL_START, "[ARGS]", "[CALL_ID]")),
    Family("mistral-v13", MISTRAL_NAMED, _has(MISTRAL_START, "[ARGS]")),
    Family("mistral", MISTRAL_LIST, _has(MISTRAL_START)),
    Family("harmony", HARMONY, _has(CHANNEL, START)),
    Family("gemma4", GEMMA4, _has(f"{GEMMA4_START}call:")),
    Family("kimi-k2", KIMI, _has(KIMI_CALLS, KIMI_CALL)),
    Family("deepseek-v3.1", DEEPSEEK_V31, _has(DEEPSEEK_CALLS, but=("```json",))),
    Family("deepseek-v3", DEEPSEEK_V3, _has(DEEPSEEK_CALLS)),
    Family("granite3", GRANITE, _has("<|start_of_role|>", GRANITE_START)),
    Family("glm-4.5", GLM45, lambda template, _: _GLM45.search(template) is not None),
    Family("glm-4.7", GLM47, _has("<tool_call>", "<arg_key>", "<arg_value>")),
    Family("qwen3-coder", QWEN3_CODER, _has("<tool_call>", "<function=", "<parameter=")),
    Family("apriel", APRIEL, _has("<tool_calls>[", '"arguments": ')),
    Family(FALLBACK, HERMES, lambda template, _: writes_hermes(template)),
    Family("olmo3", OLMO3, _has(LINES_START, but=("DSML", "<invoke"))),
    Family("phi4-mini-functools", PHI4_FUNCTOOLS, _has("functools[")),
    Family("phi4-mini", PHI4_MINI, _has("<|tool|>")),
    Family("llama3", LLAMA3, _has("<|start_header_id|>", "ipython", but=("<function=",))),
    Family("llama4", LLAMA4, _has("<|header_start|>", '"parameters": ')),
    Family("apertus", APERTUS, _has(APERTUS_START)),
    Family("cohere", COHERE, _has(COHERE_START, '"tool_name": ')),
    Family("functionary-v3.1", FUNCTIONARY, _has("<|start_header_id|>", "<function=", "{start_tag}")),
    Family("gigachat3.1", GIGACHAT31, _has(GIGACHAT_START, "<|role_sep|>")),
    Family("gigachat3", GIGACHAT3, _has("<|role_sep|>", "function call")),
    Family("hunyuan3", HUNYUAN3, _has("<tool_sep{}>", "':opensource'")),
    Family("muse", MUSE, _has(MUSE_INVOKE)),
    Family("solar", SOLAR, _has(SOLAR_CALL)),
    Family("pythonic", PYTHONIC, _has("<|header_start|>")),
    Family("deepseek-v3.2", DEEPSEEK_V32, _has(DSML, f"{V32}>")),
    Family("deepseek-v4", DEEPSEEK_V4, _has(DSML, f"{V4}>")),
    Family("seed-oss", SEED_OSS, _has(SEED_START)),
    Family("minimax-m2", MINIMAX_M2, _has(MINIMAX_START)),
    Family("minimax-m1", MINIMAX_M1, _has("<tool_calls>", "<beginning_of_sentence>")),
    Family("nemotron2", NEMOTRON2, _has(f"{NEMOTRON_START}[")),
    Family("lfm2", LFM2, _has(LFM2_TOOLS)),
    Family("minimax-m3", MINIMAX_M3, _has(M3_MARK)),
    Family("minicpm5", MINICPM5, _has('<function name="', '<param name="')),
)
"""All formats. The first one that recognizes a model is its format, so the order matters."""

NAMES: Final = tuple(family.name for family in FAMILIES)


def recognized(template: str, control_tokens: Mapping[str, int]) -> str | None:
    """Return the name of the format that a model uses; None if it is unknown."""
    return next((family.name for family in FAMILIES if family.is_of(template, control_tokens)), None)


def named_format(name: str) -> str:
    """Return `name`. Raise ValueError, with the list of names, if no format has it."""
    if name not in NAMES:
        raise ValueError(f"must be one of {', '.join(NAMES)}")
    return name


def syntax_named(name: str) -> CallSyntax:
    """Return the syntax of a name of NAMES."""
    return next(family.syntax for family in FAMILIES if family.name == name)
