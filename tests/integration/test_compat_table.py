"""The documentation promises what the tests hold, no more and no less."""

from pathlib import Path
from types import ModuleType

import pytest

from tests.integration import test_api_openai, test_compat_anthropic, test_compat_langchain
from tests.integration.compatibility import table

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "api.md"


@pytest.mark.parametrize(
    ("heading", "modules"),
    [
        ("### Chat completions, completions and models", [test_api_openai, test_compat_langchain]),
        ("### Messages", [test_compat_anthropic]),
    ],
)
def test_each_row_of_the_documentation_is_held_by_a_test(heading: str, modules: list[ModuleType]) -> None:
    _, found, rest = DOCUMENT.read_text().partition(f"{heading}\n")
    assert found
    section = rest.partition("\n#")[0]
    documented = "\n".join(line for line in section.splitlines() if line.startswith("|"))
    assert documented == table(*modules)
