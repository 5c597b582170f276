"""Compatibility tables of the docs, compared with the rows that the tests declare."""

from pathlib import Path
from types import ModuleType

import pytest

from tests.clients import (
    test_ai_sdk,
    test_anthropic,
    test_cohere,
    test_instructor,
    test_litellm,
    test_llama_index,
    test_llm,
    test_ollama_node,
    test_openai_agents,
    test_openai_node,
    test_pydantic_ai,
)
from tests.clients.heavy import test_aider as test_heavy_aider
from tests.clients.heavy import test_aiperf as test_heavy_aiperf
from tests.clients.heavy import test_claude_code as test_heavy_claude_code
from tests.clients.heavy import test_coding_agents as test_heavy_coding_agents
from tests.clients.heavy import test_guidellm as test_heavy_guidellm
from tests.clients.heavy import test_jdk as test_heavy_jdk
from tests.clients.heavy import test_lm_eval as test_heavy_lm_eval
from tests.clients.heavy import test_nginx as test_heavy_nginx
from tests.clients.heavy import test_open_webui as test_heavy_open_webui
from tests.integration.app.access import test_keys as test_compat_keys
from tests.integration.app.apis import test_thinking as test_compat_thinking
from tests.integration.app.apis.anthropic import test_client as test_compat_anthropic
from tests.integration.app.apis.anthropic import test_deferred_tools as test_compat_deferred_tools
from tests.integration.app.apis.anthropic import test_provider_tools as test_compat_provider_tools
from tests.integration.app.apis.anthropic import test_tool_search as test_compat_tool_search
from tests.integration.app.apis.anthropic import test_tools as test_compat_anthropic_tools
from tests.integration.app.apis.ollama import test_client as test_compat_ollama
from tests.integration.app.apis.ollama import test_tools as test_compat_ollama_tools
from tests.integration.app.apis.openai import test_custom_tools as test_api_custom_tools
from tests.integration.app.apis.openai import test_embeddings as test_api_embeddings
from tests.integration.app.apis.openai import test_hosted_tools as test_api_hosted_tools
from tests.integration.app.apis.openai import test_langchain as test_compat_langchain
from tests.integration.app.apis.openai import test_logprobs as test_api_logprobs
from tests.integration.app.apis.openai import test_openai as test_api_openai
from tests.integration.app.apis.openai import test_prompt_progress as test_api_progress
from tests.integration.app.apis.openai import test_several_answers as test_api_answers
from tests.integration.app.apis.openai import test_structured_output as test_api_forms
from tests.integration.app.apis.responses import test_compaction as test_compat_compaction
from tests.integration.app.apis.responses import test_logprobs as test_compat_responses_logprobs
from tests.integration.app.apis.responses import test_namespaces as test_compat_namespaces
from tests.integration.app.apis.responses import test_tools as test_compat_responses_tools
from tests.integration.app.apis.responses import test_truncation as test_compat_truncation
from tests.integration.compatibility import table

DOCS = Path(__file__).parents[4] / "docs"


@pytest.mark.parametrize(
    ("document", "heading", "modules"),
    [
        (
            "reference/api/clients.md",
            "## Chat completions, completions and models",
            [
                test_api_openai,
                test_api_logprobs,
                test_api_progress,
                test_api_answers,
                test_api_embeddings,
                test_api_forms,
                test_compat_responses_tools,
                test_compat_responses_logprobs,
                test_compat_truncation,
                test_compat_compaction,
                test_api_custom_tools,
                test_compat_namespaces,
                test_api_hosted_tools,
                test_compat_langchain,
            ],
        ),
        (
            "reference/api/clients.md",
            "## Messages",
            [
                test_compat_anthropic,
                test_compat_anthropic_tools,
                test_compat_provider_tools,
                test_compat_deferred_tools,
                test_compat_tool_search,
            ],
        ),
        ("reference/api/clients.md", "## Ollama", [test_compat_ollama, test_compat_ollama_tools]),
        ("reference/api/clients.md", "## Models that think", [test_compat_thinking]),
        (
            "reference/api/clients.md",
            "## Libraries and packages for Node",
            [
                test_litellm,
                test_cohere,
                test_openai_agents,
                test_pydantic_ai,
                test_instructor,
                test_llama_index,
                test_llm,
                test_ai_sdk,
                test_openai_node,
                test_anthropic,
                test_ollama_node,
            ],
        ),
        (
            "reference/api/clients.md",
            "## Programs",
            [
                test_heavy_claude_code,
                test_heavy_coding_agents,
                test_heavy_aider,
                test_heavy_open_webui,
                test_heavy_lm_eval,
                test_heavy_guidellm,
                test_heavy_aiperf,
                test_heavy_nginx,
                test_heavy_jdk,
            ],
        ),
        ("guides/keys.md", "## Client compatibility", [test_compat_keys]),
    ],
)
def test_documented_rows_equal_rows_of_tests(document: str, heading: str, modules: list[ModuleType]) -> None:
    _, found, rest = (DOCS / document).read_text().partition(f"{heading}\n")
    assert found
    section = rest.partition("\n#")[0]
    documented = "\n".join(line for line in section.splitlines() if line.startswith("|"))
    assert documented == table(*modules)
