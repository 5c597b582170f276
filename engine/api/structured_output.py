"""The form that an answer must have. Plain data: it travels with SamplingParams."""

from dataclasses import dataclass, field
from typing import Literal

FormKind = Literal["json", "regex", "lark", "calls"]


@dataclass(frozen=True, slots=True)
class StructuredOutput:
    """Form of the whole answer, apart from its thoughts.

    json: `text` is a JSON Schema; the answer has no white space that the schema does not ask for. regex: in Rust's
    syntax, without look-around. lark: a grammar in llguidance's dialect of Lark, which begins with `start`. calls: one
    that the server has written around the schemas of tools.
    """

    kind: FormKind
    text: str
    path: str = field(default="", compare=False)
    """Path of the form in the client's request, for errors; empty if unknown."""
