"""Schemas embedded in a grammar."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from engine.api.errors import InvalidRequestError
from engine.grammar.enforceable import enforceable

OPTIONS: Final = "x-guidance"
"""Field of a tool's schema with options for the grammar library, which the server sets."""
CHECKED_RULE: Final = "checked_form"
"""Rule of a schema that a complete answer has if it has no call."""
_EMBEDDED: Final = re.compile(r"%json\s*")


@dataclass(frozen=True, slots=True)
class EmbeddedSchema:
    """A schema in a grammar.

    line: number of its line, from 1.
    """

    schema: object
    line: int

    @property
    def enforced(self) -> object:
        """The schema in the words that the grammar library enforces, with the options that it has."""
        made = enforceable(self.schema).schema
        if isinstance(self.schema, dict) and isinstance(made, dict) and OPTIONS in self.schema:
            made[OPTIONS] = self.schema[OPTIONS]
        return made


def embedded(grammar: str) -> Iterator[str | EmbeddedSchema]:
    """Yield the pieces of a grammar: its schemas, and the text around them without the words that announce a schema.

    Raises:
        InvalidRequestError: the text after %json is not JSON.
    """
    end = line = 0
    for start in _EMBEDDED.finditer(grammar):
        if start.start() < end:
            continue
        rules = grammar[end : start.start()]
        line += rules.count("\n")
        yield rules
        try:
            schema, end = json.JSONDecoder().raw_decode(grammar, start.end())
        except (ValueError, RecursionError):
            raise InvalidRequestError(
                "the text after %json is not JSON, or is nested too deeply", param="form"
            ) from None
        yield EmbeddedSchema(schema, line + 1)
        line += grammar.count("\n", start.start(), end)
    yield grammar[end:]
