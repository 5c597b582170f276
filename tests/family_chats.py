"""Chat templates and control tokens of each family of models, by model type."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tests.family_templates import (
    DEEPSEEK3,
    DEEPSEEK31,
    GEMMA2,
    GEMMA3,
    GEMMA4,
    GLM45,
    GLM47,
    GRANITE3,
    HARMONY,
    HERMES,
    LLAMA3,
    LLAMA4,
    LLAMA4_JSON,
    OLMO3,
    PHI4,
    PHI4_FUNCTOOLS,
    PHI4_MINI,
    QWEN3,
    QWEN3_CODER,
)
from tests.mistral_templates import MISTRAL3, MISTRAL11, MISTRAL13
from tests.tiny_openpangu import OPENPANGU
from tests.tiny_tokenizer import CHAT_TEMPLATE


@dataclass(frozen=True, slots=True)
class FamilyChat:
    """Templates of a family's models, and those of their control tokens that Ebb looks for."""

    templates: tuple[str, ...] = (CHAT_TEMPLATE,)
    tokens: tuple[str, ...] = ()


_THINK: Final = ("<think>", "</think>")
_QWEN: Final = FamilyChat((HERMES, QWEN3, QWEN3_CODER), _THINK)
_DEEPSEEK_CHAT: Final = FamilyChat((DEEPSEEK3, DEEPSEEK31), _THINK)
_MISTRALS: Final = (MISTRAL3, MISTRAL11, MISTRAL13)

CHATS: Final[Mapping[str, FamilyChat]] = {
    "llama": FamilyChat((LLAMA3,)),
    "qwen2": _QWEN,
    "qwen3": _QWEN,
    "qwen2_moe": _QWEN,
    "qwen3_moe": _QWEN,
    "mistral": FamilyChat(_MISTRALS, ("[THINK]", "[/THINK]")),
    "ministral3": FamilyChat(_MISTRALS, ("[THINK]", "[/THINK]")),
    "ministral": FamilyChat(_MISTRALS),
    "smollm3": FamilyChat((HERMES.replace("if tools", "if xml_tools").replace("in tools", "in xml_tools"),), _THINK),
    "granite": FamilyChat((GRANITE3,)),
    "PanguEmbedded": FamilyChat((OPENPANGU,), ("[unused11]", "[unused12]", "[unused16]", "[unused17]")),
    "gemma": FamilyChat((GEMMA2,)),
    "gemma2": FamilyChat((GEMMA2,)),
    "gemma3_text": FamilyChat((GEMMA3,)),
    "gemma3n_text": FamilyChat((GEMMA3,)),
    "gemma4_text": FamilyChat((GEMMA4,), ("<|channel>", "<channel|>")),
    "phi3": FamilyChat((PHI4_MINI, PHI4_FUNCTOOLS, PHI4), _THINK),
    "gpt_oss": FamilyChat((HARMONY,)),
    "llama4_text": FamilyChat((LLAMA4_JSON, LLAMA4)),
    "deepseek_v2": _DEEPSEEK_CHAT,
    "deepseek_v3": _DEEPSEEK_CHAT,
    "glm4_moe": FamilyChat((GLM45, GLM47), _THINK),
    "olmo3": FamilyChat((OLMO3,)),
}
"""Chats by model type. Other types have a template without tools."""
