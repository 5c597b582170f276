"""Instructor against a running server: one test for each row of docs/reference/api."""

from typing import Any

from tests.clients.environments import environment
from tests.clients.served import Run
from tests.integration.compatibility import row

INSTRUCTOR = environment("instructor")
PACKAGE = INSTRUCTOR.package("instructor")


@row(
    PACKAGE,
    "from_openai(client, mode=Mode.TOOLS)",
    "an object of the type; so with the modes `TOOLS_STRICT`, `JSON_SCHEMA` and `RESPONSES_TOOLS`",
)
def test_each_mode_returns_the_type(run: Run) -> None:
    seen = run(INSTRUCTOR, "modes.py")["modes"]
    assert sorted(seen) == ["JSON_SCHEMA", "RESPONSES_TOOLS", "TOOLS", "TOOLS_STRICT"]
    for forecast in seen.values():
        check(forecast)
        assert forecast["tokens"] > 10


@row(PACKAGE, "from_openai(client, mode=Mode.JSON)", "a JSON object, which the client validates")
def test_json_mode_returns_an_object(run: Run) -> None:
    assert run(INSTRUCTOR, "modes.py")["json"] == "Loose"


@row(PACKAGE, "from_anthropic(client, mode=Mode.ANTHROPIC_TOOLS)", "an object of the type")
def test_anthropic_mode_returns_the_type(run: Run) -> None:
    check(run(INSTRUCTOR, "modes.py")["anthropic"])


@row(PACKAGE, "client.create_partial(...)", "the object while it is written")
def test_partial_object_grows(run: Run) -> None:
    partial = run(INSTRUCTOR, "modes.py")["partial"]
    check(partial)
    assert partial["parts"] > 1


def check(forecast: dict[str, Any]) -> None:
    assert forecast["city"] in ("Paris", "Rome")
    assert forecast["degrees"] in (10, 20)
