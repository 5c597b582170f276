"""Hostile text stays text, from the model and from a user.

The fixture that opens the pages checks every test for page errors, requests to other origins and policy violations.
"""

from typing import Any

from playwright.async_api import Route, expect

from tests.e2e.chat_page import ChatPage

HOSTILE = r"""<script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">
<svg onload="window.hacked = 1"></svg>

[click](javascript:window.hacked=1) ![pixel](https://evil.test/pixel.png)

<iframe srcdoc="<script>parent.hacked = 1</script>"></iframe>

```html
<img src=x onerror="window.hacked = 1">
```

$\href{javascript:window.hacked=1}{tex}$
$$\includegraphics{https://evil.test/pixel.png}$$ $\text{<img src=x onerror=alert(1)>}$

<a href="javascript:window.hacked=1" onmouseover="window.hacked=1">raw</a>
<https://evil.test/"onclick="window.hacked=1>
[data](data:text/html,<script>parent.hacked=1</script>) [entity](jav&#x09;ascript:window.hacked=1)
<form action="https://evil.test"><button autofocus onfocus="window.hacked=1">go</button></form>
<math><mtext><table><mglyph><style><img src=x onerror="window.hacked=1"></style></mglyph></table></mtext></math>
<style>@import "https://evil.test/x.css";</style><base href="https://evil.test/"><meta http-equiv="refresh" content="0">

# <img src=x onerror="window.hacked=1"> heading

| a |
|---|
| <img src=x onerror="window.hacked = 1"> |
"""


FORBIDDEN = (
    "img, script, iframe, style, form, base, meta, input:not([type=checkbox]), .markdown > svg, "
    "[onerror], [onload], [onclick], [onfocus], [onmouseover], a:not([href^=http], [href^=mailto], :not([href]))"
)


async def test_hostile_markdown_from_model_runs_no_code(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1)
    await chat.send("Hello.")
    await chat.expect_status("incomplete")

    async def hostile(route: Route) -> None:
        response = await route.fetch()
        body: dict[str, Any] = await response.json()
        body["messages"][-1]["content"] = HOSTILE
        await route.fulfill(response=response, json=body)

    await chat.page.route(f"**/api/conversations/{conversation}?*", hostile)
    await chat.page.reload()

    answer = chat.answers.last
    await expect(answer.locator(".hljs-tag").first).to_be_visible()
    await expect(answer.locator(".katex").first).to_be_visible()
    await expect(answer).to_contain_text("<script>window.hacked = 1</script>")
    assert await answer.locator(".markdown").locator(FORBIDDEN).count() == 0
    await answer.get_by_text("click", exact=True).click()
    assert await chat.page.evaluate("window.hacked") is None


async def test_hostile_text_from_user_is_shown_verbatim(chat: ChatPage) -> None:
    text = '<img src=x onerror="window.hacked = 1"><b>bold</b>'
    await chat.open_new_chat(tokens=1)
    await chat.send(text)
    await chat.expect_status("incomplete")

    await expect(chat.questions.last).to_have_text(text)
    await expect(chat.chats.first).to_have_text(text)
    assert await chat.page.evaluate("window.hacked") is None
