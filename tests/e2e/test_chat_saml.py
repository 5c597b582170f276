"""A login at a SAML provider in a browser, whose answer comes from another site. A fake engine answers."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Route, expect

from app.access.saml_logins import SamlLogins
from app.accounts.accounts import Accounts
from app.accounts.saml.identity_provider import read_metadata
from app.accounts.saml.provider import SamlPlan, SamlProvider
from app.accounts.saml.service import SamlService
from engine.testing.replay_engine import ReplayEngine
from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import STATIC
from tests.integration.api_server import RunningServer, running_server
from tests.saml_provider import LOGIN_URL, Answer, SamlKeys, posted, request_of, response
from tests.sizes import PAGE

pytestmark = PAGE

KEYS = SamlKeys()


@pytest_asyncio.fixture(loop_scope="session")
async def server(tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    if not (STATIC / "index.html").is_file():
        pytest.skip("The page is not built; run make setup")
    (tmp_path / "metadata.xml").write_text(KEYS.metadata())
    async with running_server(
        tmp_path, ReplayEngine(), static=STATIC, auth_policy="always", accounts=Accounts()
    ) as server:
        url = f"{server.url}/login/saml"
        saml = SamlProvider(SamlPlan(read_metadata(tmp_path / "metadata.xml"), SamlService(url, url)))
        logins = SamlLogins(saml, server.services.store.saml_answers)
        object.__setattr__(server.services.access, "saml_logins", logins)
        yield server


async def provider_page(route: Route) -> None:
    """Answer as the provider's page does: with a form that posts itself to this server."""
    request = request_of(route.request.url)
    answer_url = request.get("AssertionConsumerServiceURL")
    [text] = posted(response(Answer(request.get("ID"), answer_url), KEYS)).values()
    form = f'<form method="post" action="{answer_url}"><input name="SAMLResponse" value="{text}"></form>'
    await route.fulfill(body=f"{form}<script>document.forms[0].submit()</script>", content_type="text/html")


async def test_answer_of_another_site_logs_the_browser_in(
    browser: Browser, server: RunningServer[ReplayEngine]
) -> None:
    context = await browser.new_context(base_url=server.url)
    await context.route(f"{LOGIN_URL}?*", provider_page)
    ada = ChatPage(await context.new_page())
    await ada.page.goto("/")
    await ada.button("Log in at login.example").click()
    await ada.send("Hello.")
    await ada.expect_status("complete")
    await expect(ada.button("Ada")).to_be_visible()
    assert ada.page.url.startswith(f"{server.url}/c/")
    await context.close()
