"""docs/reference/api lists every field of OpenAI's and Ollama's generation routes as the code takes it."""

import pytest

from app.apis.field_table import FOLDER, PAGES, with_tables
from app.schemas.parsing import RequestModel


@pytest.mark.parametrize("name", PAGES)
def test_the_tables_are_those_of_the_code(name: str) -> None:
    page = (FOLDER / name).read_text()
    assert page == with_tables(page, PAGES[name]), "run: python -m app.apis.field_table"


@pytest.mark.parametrize(
    "model", [pytest.param(model, id=place) for models in PAGES.values() for place, model in models.items()]
)
def test_every_number_list_and_text_of_many_has_a_cap(model: type[RequestModel]) -> None:
    for name, schema in model.model_json_schema()["properties"].items():
        for kind in schema.get("anyOf", [schema]):
            if kind.get("type") in ("integer", "number"):
                assert kind.keys() & {"maximum", "exclusiveMaximum"}, name
            if kind.get("type") == "array" and name != "prompt":
                assert "maxItems" in kind, name
