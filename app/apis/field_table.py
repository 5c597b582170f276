"""The tables in docs/reference/api that list every field of OpenAI's and Ollama's routes, made from the schemas.

    python -m app.apis.field_table

rewrites the tables in the pages.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from app.apis.ollama.chat_schema import OllamaChatRequest
from app.apis.ollama.embed_schema import OllamaEmbeddingsRequest, OllamaEmbedRequest
from app.apis.ollama.generate_schema import OllamaGenerateRequest
from app.apis.ollama.options import OllamaOptions
from app.apis.openai.chat_schema import ChatCompletionRequest
from app.apis.openai.completions_schema import CompletionRequest
from app.apis.openai.embeddings_schema import EmbeddingsRequest
from app.apis.ranking.rerank_schema import RerankRequest
from app.apis.ranking.score_schema import ScoreRequest
from app.schemas.parsing import RequestModel

FOLDER: Final = Path(__file__).parents[2] / "docs" / "reference" / "api"
BEGIN: Final = "<!-- python -m app.apis.field_table -->\n"
END: Final = "<!-- end of the generated tables -->\n"
PAGES: Final[dict[str, dict[str, type[RequestModel]]]] = {
    "chat-completions.md": {
        "POST /v1/chat/completions": ChatCompletionRequest,
        "POST /v1/completions": CompletionRequest,
    },
    "embeddings.md": {"POST /v1/embeddings": EmbeddingsRequest},
    "rerank.md": {"POST /v1/rerank and POST /v2/rerank": RerankRequest, "POST /v1/score": ScoreRequest},
    "ollama.md": {
        "POST /api/chat": OllamaChatRequest,
        "POST /api/generate": OllamaGenerateRequest,
        "options": OllamaOptions,
        "POST /api/embed": OllamaEmbedRequest,
        "POST /api/embeddings": OllamaEmbeddingsRequest,
    },
}
"""Schemas by their page, and by the route that takes them or the field that has them as its value."""


def with_tables(page: str, models: Mapping[str, type[RequestModel]]) -> str:
    """Return the text of a page with up-to-date tables of `models`."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = "".join(f"\n{field_table(name, model)}" for name, model in models.items())
    return f"{before}{BEGIN}{tables}\n{END}{after}"


def field_table(place: str, model: type[RequestModel]) -> str:
    """Render a table with one row per known field."""
    schema = model.model_json_schema()
    supported = {name: schema["properties"][name] for name in sorted(model.model_fields)}
    rows = [f"| `{name}` | {_values(each, schema)} | {each['description']} |" for name, each in supported.items()]
    rows += [
        f"| `{name}` | {_or_null(values)} | accepted without effect; any other value is refused |"
        for name, values in sorted(model.neutral.items())
    ]
    rows += [f"| `{name}` | anything | ignored |" for name in sorted(model.ignored)]
    return "\n".join([f"Fields of `{place}`:", "", "| field | values | |", "| --- | --- | --- |", *rows, ""])


def _or_null(values: tuple[Any, ...]) -> str:
    return ", ".join([f"`{json.dumps(value)}`" for value in values] + ["null"])


def _values(schema: dict[str, Any], document: dict[str, Any]) -> str:
    """Describe the type and the range of a field in a few words."""
    kinds = schema.get("anyOf") or schema.get("oneOf")
    if kinds is not None:
        values = (_values(kind, document) for kind in kinds if kind.get("type") != "null")
        return " or ".join(dict.fromkeys(values))
    if "$ref" in schema:
        return _values(document["$defs"][schema["$ref"].rpartition("/")[2]], document)
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    match schema["type"]:
        case "array":
            return f"{_size(schema, 'Items')}list of ({_values(schema['items'], document)})"
        case "object":
            entries = [_values(each, document) for each in schema.get("patternProperties", {}).values()]
            return f"{_size(schema, 'Properties')}object" + "".join(f" of ({each})" for each in entries)
        case "string":
            return "string" + (f", at most {schema['maxLength']} characters" if "maxLength" in schema else "")
        case "boolean":
            return "true, false"
        case kind:
            return f"{kind}{_range(schema)}"


def _size(schema: dict[str, Any], of: str) -> str:
    return f"at most {schema[f'max{of}']}: " if f"max{of}" in schema else ""


def _range(schema: dict[str, Any]) -> str:
    least = f"above {schema['exclusiveMinimum']}" if "exclusiveMinimum" in schema else f"{schema['minimum']}"
    most = schema["exclusiveMaximum"] - 1 if "exclusiveMaximum" in schema else schema["maximum"]
    return f", {least} to {most}"


if __name__ == "__main__":
    for name, models in PAGES.items():
        path = FOLDER / name
        path.write_text(with_tables(path.read_text(), models))
