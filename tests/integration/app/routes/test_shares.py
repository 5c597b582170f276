"""Links to chats: who reads them, until when, and what a hostile message can do on their page."""

import asyncio
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.conversations import shared_page_texts
from app.conversations.shared_markdown import SharedMarkdown
from app.conversations.shared_page_texts import LANGUAGES, SharedPageTexts, texts_in
from app.domain.digests import digest_of
from app.routes import shares
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.conversations_client import created, error_of, read, said

Api = RunningServer[ReplayEngine]
HOSTILE = (
    "|x|\n|-:|\n|y|\n\n"
    "<script>alert(1)</script>\n\n"
    'Text <script>alert(1)</script> [a](javascript:alert(1)) [b](https://example.org/"onclick=x) ![c](https://example.org/i)'
)

RICH = (
    "H<sub>2</sub>O<br>Press <kbd>Ctrl</kbd>, <mark>*soft*</mark>: $x^2$ costs $5 and \\(\\frac{a}{b}\\).\n\n"
    "$$\n\\sum_{i=1}^n i\n= y\n$$\n\n"
    "<details><summary>More **about** it</summary>\n\n| a |\n|-|\n| cell |\n\n</details>\n\n"
    "Said.[^1] ![chart](https://example.org/c.png)\n\n[^1]: A *note*."
)


async def shared(http: aiohttp.ClientSession, conversation: str, **fields: Any) -> dict[str, Any]:
    response = await http.post(f"/api/conversations/{conversation}/shares", json=fields)
    assert response.status == 201, await response.text()
    share: dict[str, Any] = await response.json()
    return share


async def page_of(api: Api, path: str, **headers: str) -> tuple[int, str, aiohttp.ClientResponse]:
    """Open a link as a browser without a login does."""
    browser = {"Accept": "text/html,*/*", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "cross-site", **headers}
    async with aiohttp.ClientSession(api.url) as visitor, visitor.get(path, headers=browser) as response:
        return response.status, await response.text(), response


async def test_link_shows_the_chat_as_it_was(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await created(http, title="Tides & <b>", system_prompt="periwinkle")
    first = await said(http, conversation, "one <i>")
    share = await shared(http, conversation)
    await said(http, conversation, "later")
    status, text, response = await page_of(api, share["path"])
    assert status == 200
    assert '<h1 dir="auto">Tides &amp; &lt;b&gt;</h1>' in text
    assert "one &lt;i&gt;" in text
    assert first["content"].strip().split()[0] in text
    assert "later" not in text
    assert "periwinkle" not in text
    assert "prompt tokens" not in text
    assert "<script" not in text
    policy = response.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "script-src" not in policy
    assert "unsafe" not in policy
    assert response.headers["X-Robots-Tag"] == "noindex, nofollow"
    [listed] = (await read(http, "/api/shares"))["data"]
    assert listed == {name: value for name, value in share.items() if name != "path"}
    rows = await api.services.store.database.read("SELECT * FROM share")
    secret = share["path"].removeprefix("/share/")
    assert len(secret) == 43
    assert [row["digest"] for row in rows] == [digest_of(secret)]
    assert secret not in str([tuple(row) for row in rows])


async def test_receipts_are_shown_only_if_wanted(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await created(http)
    await said(http, conversation, "one")
    share = await shared(http, conversation, receipts=True)
    _, text, _ = await page_of(api, share["path"])
    assert re.search(r"[\d,]+ of [\d,]+ prompt tokens came from the cache", text)
    _, chinese, _ = await page_of(api, share["path"], **{"Accept-Language": "zh-CN,zh;q=0.9"})
    assert '<html lang="zh-Hans" dir="ltr">' in chinese
    assert "来自缓存" in chinese


async def test_page_is_in_the_language_that_the_reader_prefers(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await created(http)
    await said(http, conversation, "one")
    path = (await shared(http, conversation))["path"]
    for asked, lang, note in [
        ("de-AT,de;q=0.9,en;q=0.8", "de", "Geteilt am"),
        ("eo, ru;q=0.5, fr;q=0.7", "fr", "Partagé le"),
        ("de;q=0, ja;q=0.1", "ja", "に共有されました"),
        ("pt", "pt-BR", "Compartilhada em"),
        ("de;q=many, *", "en", "Shared on"),
        ("zh-TW", "zh-Hant", "分享"),
        ("zh-Hans-SG", "zh-Hans", "分享于"),
        ("no", "nb", "Delt"),
    ]:
        _, text, _ = await page_of(api, path, **{"Accept-Language": asked})
        assert f'<html lang="{lang}" dir="ltr">' in text, asked
        assert note in text
        status, text, _ = await page_of(api, "/share/none", **{"Accept-Language": asked})
        assert (status, f'<html lang="{lang}" dir="ltr">' in text) == (404, True)


def test_texts_are_in_all_languages_of_the_chat_page() -> None:
    page = Path(__file__).parents[4] / "web" / "src" / "i18n"
    assert set(LANGUAGES.values()) == {folder.name for folder in page.iterdir() if folder.is_dir()}
    for texts in map(texts_in, LANGUAGES.values()):
        assert set(re.findall(r"{(\w+)}", texts.note)) == {"created", "expires"}
        assert set(re.findall(r"{(\w+)}", texts.receipt)) == {"cached", "prompt", "seconds"}
    from_the_right = [tag for tag in LANGUAGES.values() if texts_in(tag).direction == "rtl"]
    assert from_the_right == ["ar", "fa", "he", "ur"]
    assert texts_in("de").number(1234.5, decimals=2) == "1.234,50"
    assert texts_in("en").number(1234567) == "1,234,567"


def test_text_that_a_language_lacks_is_english(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    english = {field.name: f"{field.name}." for field in fields(SharedPageTexts) if field.name != "lang"}
    (tmp_path / "en.json").write_text(json.dumps(english))
    for tag in ("sv", "fa"):
        own = {name: tag for name in english if name != "foot"}
        (tmp_path / f"{tag}.json").write_text(json.dumps(own))
    monkeypatch.setattr(shared_page_texts, "_FOLDER", tmp_path)
    swedish, persian = texts_in.__wrapped__("sv"), texts_in.__wrapped__("fa")
    assert (swedish.you, swedish.foot, swedish.direction) == ("sv", "foot.", "ltr")
    assert (persian.you, persian.foot, persian.direction) == ("fa", "\u2068foot.\u2069", "rtl")


async def test_hostile_messages_stay_text_on_the_page(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await created(http, title="</title><script>")
    answer = await said(http, conversation, HOSTILE + '\n\n<file name="a.html">\n</pre><script>\n</file>')
    await http.post(f"/api/messages/{answer['id']}/edit", json={"content": HOSTILE})
    _, text, _ = await page_of(api, (await shared(http, conversation))["path"])
    assert not re.search(r"<(script|img|iframe|b)\b", text)
    assert not re.search(r'href=(?!"https://)', text)
    assert '<td dir="auto" class="right">y</td>' in text
    assert "style=" not in text
    assert "<summary>a.html</summary>" in text
    [link] = re.findall(r"<a [^>]*>b</a>", text)
    assert 'rel="noopener noreferrer nofollow"' in link
    assert not re.search(r"\son\w+=", link)


async def test_answer_on_the_page_means_what_it_does_in_the_chat(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await created(http)
    answer = await said(http, conversation, "one")
    await http.post(f"/api/messages/{answer['id']}/edit", json={"content": RICH})
    _, text, response = await page_of(api, (await shared(http, conversation))["path"])
    for shown in (
        "H<sub>2</sub>O<br />\nPress <kbd>Ctrl</kbd>, <mark><em>soft</em></mark>: <math",
        "costs $5 and <math",
        "<mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow></mfrac>",
        '<p><math display="block">',
        "<summary>More <strong>about</strong> it</summary>",
        '<td dir="auto">cell</td>',
        'Said.<sup><a class="footnote-ref" id="fnref-1-1-1" href="#fn-1-1">1</a></sup>',
        '<div class="footnote" id="fn-1-1"><b class="footnote-number">1.</b>\n<p dir="auto">A <em>note</em>.',
        '<a href="https://example.org/c.png" rel="noopener noreferrer nofollow">chart</a>',
    ):
        assert shown in text
    assert "<img" not in text
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'sha256-")


async def test_link_ends_with_its_chat_its_owner_or_time(
    http: aiohttp.ClientSession, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = await created(http)
    answer = await said(http, conversation, "one")
    share = await shared(http, conversation)
    gone, text, response = await page_of(api, "/share/none")
    assert (gone, "This link does not exist" in text, "<script" in text) == (404, True, False)
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'")
    await http.delete(f"/api/conversations/{conversation}")
    assert (await page_of(api, share["path"]))[0] == 404
    assert (await read(http, "/api/shares"))["data"] == []
    await http.post(f"/api/conversations/{conversation}/restore")
    assert (await page_of(api, share["path"]))[0] == 200
    await http.delete(f"/api/messages/{answer['id']}")
    assert (await page_of(api, share["path"]))[0] == 404
    await http.post(f"/api/messages/{answer['id']}/restore")
    monkeypatch.setattr(api.services.store.shares, "_now", lambda: share["expires_at"])
    assert (await page_of(api, share["path"]))[0] == 404
    monkeypatch.undo()
    assert (await page_of(api, share["path"]))[0] == 200
    assert (await http.delete(f"/api/shares/{share['id']}")).status == 204
    assert (await page_of(api, share["path"]))[0] == 404
    assert (await http.delete(f"/api/shares/{share['id']}")).status == 404
    await shared(http, conversation)
    await http.delete(f"/api/conversations/{conversation}?permanently=true")
    assert await api.services.store.database.read("SELECT * FROM share") == []


async def test_links_are_off_unless_the_server_allows_them(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine()) as on, api_client(on.url) as http:
        conversation = await created(http)
        empty = await http.post(f"/api/conversations/{conversation}/shares", json={})
        assert (await error_of(empty, 409))["code"] == "conversation_empty"
        await said(http, conversation, "one")
        share = await shared(http, conversation)
        assert (await read(http, "/api/login"))["share_links"] is True
        assert (await http.post(f"/api/conversations/{conversation}/shares", json={"days": 366})).status == 400
    async with running_server(tmp_path, ReplayEngine(), share_links=False) as off, api_client(off.url) as http:
        assert (await page_of(off, share["path"]))[0] == 404
        refused = await http.post(f"/api/conversations/{conversation}/shares", json={})
        assert (await error_of(refused, 403))["code"] == "share_links_off"
        assert [each["id"] for each in (await read(http, "/api/shares"))["data"]] == [share["id"]]
        assert (await read(http, "/api/login"))["share_links"] is False


async def test_many_views_are_refused_for_a_while(
    http: aiohttp.ClientSession, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "VIEWS_PER_MINUTE", 2)
    conversation = await created(http)
    await said(http, conversation, "one")
    path = (await shared(http, conversation))["path"]
    assert [(await page_of(api, path))[0] for _ in range(3)] == [200, 200, 429]
    _, text, response = await page_of(api, path, **{"Accept-Language": "de"})
    assert "Zu viele Aufrufe" in text
    assert 0 < int(response.headers["Retry-After"]) <= 60
    other = await shared(http, conversation)
    assert (await page_of(api, other["path"]))[0] == 200


async def test_page_is_rendered_once_in_each_language(
    http: aiohttp.ClientSession, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered = list[str]()
    render = SharedMarkdown.render

    def counted(self: SharedMarkdown, text: str) -> str:
        rendered.append(text)
        return render(self, text)

    monkeypatch.setattr(SharedMarkdown, "render", counted)
    conversation = await created(http, title="First")
    await said(http, conversation, "one")
    path = (await shared(http, conversation))["path"]
    pages = await asyncio.gather(*(page_of(api, path) for _ in range(4)))
    assert {(status, text) for status, text, _ in pages} == {(200, pages[0][1])}
    assert len(rendered) == 1
    await page_of(api, path, **{"Accept-Language": "de"})
    assert len(rendered) == 2
    await http.patch(f"/api/conversations/{conversation}", json={"title": "Second"})
    assert "Second" in (await page_of(api, path))[1]
