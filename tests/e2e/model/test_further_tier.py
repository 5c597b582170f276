"""A tier that is registered on the server and that the page does not know."""

import re
from pathlib import Path

from playwright.async_api import Browser, expect

from cache_tiers.tier import Tier
from tests.dict_tier import registered
from tests.e2e.conftest import STATIC
from tests.integration.conversations_client import created, said
from tests.integration.engine_rig import engine_config
from tests.integration.real_server import serving, settled
from tests.sizes import PAGE

pytestmark = PAGE

TEXT = "Tell me about rivers, please. " * 40


async def test_page_shows_further_tier(browser: Browser, shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    faults: list[str] = []
    with registered(Tier("tape", "the tape")):
        async with serving(config, tmp_path) as (http, engine):
            chat = await created(http)
            await said(http, chat, TEXT, params={"max_tokens": 2})
            await settled(engine)
        async with serving(config, tmp_path, static=STATIC) as (http, _):
            context = await browser.new_context(base_url=str(http._base_url))
            page = await context.new_page()
            page.on("pageerror", lambda error: faults.append(str(error)))
            page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
            await said(http, chat, "And lakes?", params={"max_tokens": 2})
            await page.goto(f"/c/{chat}")
            receipt = page.get_by_test_id("receipt").last
            await expect(receipt).to_contain_text(re.compile(r"\d+% restored from the Tape tier"))
            await expect(receipt.locator(".bar .depth-5")).to_have_count(1)
            await page.goto("/live")
            card = page.get_by_role("region", name="Tape")
            await expect(card).to_contain_text("Connection")
            await expect(page.get_by_role("img", name=re.compile("^Tape, in and out:"))).to_be_visible()
            await context.close()
    assert faults == []
