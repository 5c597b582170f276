"""Ten journeys of people through the page in Firefox and in Safari's engine, and one without cookies in Firefox."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.browsers.engines import ENTER, ESCAPE, Engine, firefox, missing
from tests.e2e.chat_page import answers_of
from tests.e2e.server_process import ServerProcess
from tests.e2e.showcase import long_chat

FIELD = "document.querySelector('#message')"
LAST = "[...document.querySelectorAll('article[data-status]')].at(-1)"
ENDLESS = 1_500
ANSWER = r"""So $x^2$ grows.[^1]

| a | b |
| - | - |
| 1 | **2** |

- [x] done

```python
def height() -> float: ...
```

<details><summary>More</summary>

Folded.

</details>

[^1]: A note.
"""


def call(server: ServerProcess, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(server.url + path, json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as response:
        read: dict[str, Any] = json.load(response)
        return read


def open_chat(engine: Engine, server: ServerProcess, *, tokens: int = 2, title: str = "A chat") -> None:
    """Open a new chat, whose answers have a fixed length."""
    chat = call(server, "POST", "/api/conversations", {"params": answers_of(tokens), "title": title})
    engine.open(f"{server.url}/c/{chat['id']}")
    engine.sees(f"{FIELD} !== null && document.activeElement === {FIELD}")


def ask(engine: Engine, text: str, *, status: str | None = "incomplete") -> None:
    engine.click("#message")
    engine.type(text + ENTER)
    if status is not None:
        engine.sees(f"{LAST}?.dataset.status === {json.dumps(status)}")


def test_page_opens(engine: Engine, server: ServerProcess) -> None:
    engine.open(server.url)
    engine.sees(f"{FIELD} !== null && document.querySelector('nav') !== null")
    assert engine.run("document.documentElement.scrollWidth <= innerWidth")


def test_question_is_answered(engine: Engine, server: ServerProcess) -> None:
    open_chat(engine, server, tokens=12)
    ask(engine, "When is high water?", status=None)
    engine.sees(f"{LAST}?.querySelector('.markdown')?.textContent.trim().length > 0")
    engine.sees(f"{LAST}.dataset.status === 'incomplete'")
    assert engine.run("document.querySelector('[data-testid=question]').textContent.trim()") == "When is high water?"


def test_answer_is_stopped(engine: Engine, server: ServerProcess) -> None:
    open_chat(engine, server, tokens=ENDLESS)
    ask(engine, "Describe the harbour.", status="in_progress")
    engine.sees(f"{LAST}.querySelector('.markdown')?.textContent.trim().length > 0")
    engine.type(ESCAPE)
    engine.sees(f"{LAST}.dataset.status === 'cancelled'")


def test_long_question_is_edited_in_a_field_that_grows(engine: Engine, server: ServerProcess) -> None:
    open_chat(engine, server)
    ask(engine, "Low tide.")
    engine.click("button", text="Edit question")
    engine.sees("document.querySelector('form textarea:not(#message)') !== null")
    field = "document.querySelector('form textarea:not(#message)')"
    engine.run(f"{field}.setRangeText('One\\nTwo\\n'.repeat(5))")
    engine.run(f"{field}.dispatchEvent(new Event('input', {{bubbles: true}}))")
    engine.sees(f"{field}.scrollHeight <= {field}.clientHeight + 1 && {field}.clientHeight > 200")
    engine.type(ENTER)
    engine.sees("document.querySelector('[data-testid=question]')?.textContent.includes('Two')")


def test_answer_of_all_kinds_is_drawn(engine: Engine, server: ServerProcess) -> None:
    file = long_chat("All kinds", 2)
    file["conversations"][0]["messages"][1]["content"] = ANSWER
    imported = call(server, "POST", "/api/import?duplicates=true", file)["imported"]
    engine.open(f"{server.url}/c/{imported[0]}")
    for drawn in (".katex", "table td strong", "pre .hljs-keyword", "input:checked", ".footnotes a"):
        engine.sees(f"document.querySelector('.markdown {drawn}') !== null")
    engine.click(".markdown summary")
    engine.sees("document.querySelector('.markdown details').open")
    assert engine.run("document.documentElement.scrollWidth <= innerWidth")


def test_answer_is_copied_at_the_first_click(engine: Engine, server: ServerProcess) -> None:
    open_chat(engine, server)
    ask(engine, "Copy me.")
    engine.click("article[data-status] button", text="Copy")
    engine.sees(f"[...{LAST}.querySelectorAll('[aria-live]')].some((each) => each.textContent === 'Copied')")


def test_menu_is_as_tall_as_its_items(engine: Engine, server: ServerProcess) -> None:
    open_chat(engine, server)
    ask(engine, "Open a menu.")
    engine.click("article[data-status] button", text="More actions for this answer")
    menu = "document.querySelector('[role=menu]:popover-open')"
    engine.sees(f"{menu}?.querySelectorAll('[role=menuitem]').length > 3")
    height, items, window = engine.run(
        f"[{menu}.offsetHeight, [...{menu}.children].reduce((sum, each) => sum + each.offsetHeight, 0), innerHeight]"
    )
    assert items <= height < items + 40
    assert height < window / 2
    engine.type(ESCAPE)
    engine.sees(f"{menu} === null")


def test_chat_is_found_by_its_title(engine: Engine, server: ServerProcess) -> None:
    open_chat(engine, server, title="Rare keelson")
    engine.click("[role=search] input")
    engine.type("keelson")
    engine.sees("[...document.querySelectorAll('nav a')].some((each) => each.textContent.includes('Rare keelson'))")


def test_page_opens_without_a_connection(engine: Engine, server: ServerProcess) -> None:
    engine.open(server.url)
    engine.sees("navigator.serviceWorker.controller !== null || navigator.serviceWorker.ready.then(() => true)")
    server.kill()
    try:
        engine.run("setTimeout(() => location.reload())")
        engine.sees(f"{FIELD} !== null && document.body.innerText.includes('Server unreachable')")
    finally:
        server.start()
    engine.sees("!document.body.innerText.includes('Server unreachable')")


def test_dark_theme_is_dark(engine: Engine, server: ServerProcess) -> None:
    engine.open(server.url)
    engine.sees(f"{FIELD} !== null")
    engine.run("localStorage.setItem('ebb-theme', 'dark')")
    engine.open(f"{server.url}/?again")
    try:
        shade = "Number(/[0-9]+/.exec(getComputedStyle(document.body).backgroundColor)[0])"
        engine.sees(f"document.documentElement.dataset.theme === 'dark' && {shade} < 60")
    finally:
        engine.run("localStorage.removeItem('ebb-theme')")


@pytest.mark.parametrize("preference", [{"network.cookie.cookieBehavior": 2}, {"dom.storage.enabled": False}])
def test_page_works_where_cookies_are_blocked(
    server: ServerProcess, tmp_path: Path, preference: dict[str, object]
) -> None:
    if lacking := missing():
        pytest.skip(f"{', '.join(lacking)} not installed; run scripts/get-test-tools browsers")
    with firefox(tmp_path / "blocked", **preference) as engine:
        open_chat(engine, server)
        ask(engine, "No cookies?")
