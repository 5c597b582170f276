"""Compatibility tables of the docs, compared with the rows that the tests declare."""

from pathlib import Path
from types import ModuleType

import pytest

from tests.integration import (
    test_api_answers,
    test_api_forms,
    test_api_logprobs,
    test_api_openai,
    test_compat_anthropic,
    test_compat_anthropic_tools,
    test_compat_keys,
    test_compat_langchain,
    test_compat_responses_tools,
    test_compat_thinking,
)
from tests.integration.compatibility import table

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.mark.parametrize(
    ("document", "heading", "modules"),
    [
        (
            "api.md",
            "### Chat completions, completions and models",
            [
                test_api_openai,
                test_api_logprobs,
                test_api_answers,
                test_api_forms,
                test_compat_responses_tools,
                test_compat_langchain,
            ],
        ),
        ("api.md", "### Messages", [test_compat_anthropic, test_compat_anthropic_tools]),
        ("api.md", "### Models that think", [test_compat_thinking]),
        ("keys.md", "## Client compatibility", [test_compat_keys]),
    ],
)
def test_documented_rows_equal_rows_of_tests(document: str, heading: str, modules: list[ModuleType]) -> None:
    _, found, rest = (DOCS / document).read_text().partition(f"{heading}\n")
    assert found
    section = rest.partition("\n#")[0]
    documented = "\n".join(line for line in section.splitlines() if line.startswith("|"))
    assert documented == table(*modules)
