"""The `llm` command and its Python API, with the server as a model of `extra-openai-models.yaml`."""

import json
import os
import subprocess
import sys
from pathlib import Path

folder = Path.cwd() / "llm"
folder.mkdir()
os.environ["LLM_USER_PATH"] = str(folder)
URL, MODEL, KEY = os.environ["EBB_URL"], os.environ["EBB_MODEL"], os.environ["EBB_KEY"]
models = [
    {
        "model_id": "ebb",
        "model_name": MODEL,
        "api_base": f"{URL}/v1",
        "api_key_name": "ebb",
        "supports_tools": True,
        "supports_schema": True,
    },
    {
        "model_id": "ebb-completion",
        "model_name": MODEL,
        "api_base": f"{URL}/v1",
        "api_key_name": "ebb",
        "completion": True,
    },
]
# JSON is YAML.
(folder / "extra-openai-models.yaml").write_text(json.dumps(models))

import llm  # noqa: E402

CALM = ("-o", "temperature", "0", "-o", "max_tokens", "24")


def command(*arguments: str, given: str = "") -> str:
    """Run `llm` and return what it prints."""
    done = subprocess.run([sys.executable, "-m", "llm", *arguments], input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def weather(city: str) -> str:
    """Get the weather in a city."""
    return f"Sunny in {city}."


command("keys", "set", "ebb", "--value", KEY)
schema = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"]}
model = llm.get_model("ebb")
conversation = model.conversation()
first = conversation.prompt("Tell me about rivers.", system="Be brief about rivers.", temperature=0, max_tokens=24)
first.text()
second = conversation.prompt("And lakes?", temperature=0, max_tokens=24)
second.text()
chain = model.conversation(tools=[weather]).chain(
    "What is the weather in Paris?", options={"temperature": 0, "max_tokens": 60}
)
print(
    json.dumps(
        {
            "prompt": command("-m", "ebb", *CALM, "Tell me about the sea.").strip(),
            "whole": command("-m", "ebb", *CALM, "--no-stream", "Tell me about the sea.").strip(),
            "continued": command("-c", *CALM, "And lakes?").strip(),
            "schema": json.loads(command("-m", "ebb", *CALM, "--schema", json.dumps(schema), "The weather in Paris?")),
            "completion": command("-m", "ebb-completion", "-o", "max_tokens", "8", "The sea is").strip(),
            "models": command("models").splitlines(),
            "usage": [
                {"input": turn.usage().input, "output": turn.usage().output, "details": turn.usage().details}
                for turn in (first, second)
            ],
            "chain": chain.text(),
        }
    )
)
