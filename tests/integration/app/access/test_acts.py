"""The log says what administrators did, and who did it."""

import logging
from pathlib import Path

import pytest

from app.accounts.accounts import Accounts
from app.accounts.passwords import Passwords
from app.accounts.rules import GroupRules
from app.routes import admin
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import api_client, running_server
from tests.integration.conversations_client import created


class DrainableEngine(ReplayEngine):
    """Engine whose replicas can be drained."""

    def drain_replica(self, index: int) -> None:
        assert index == 1


async def test_every_act_of_an_administrator_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    accounts = Accounts(rules=GroupRules(admits_own=True), passwords=Passwords(memory_kib=64))
    async with running_server(tmp_path, DrainableEngine(), auth_policy="always", accounts=accounts) as server:
        caplog.set_level(logging.WARNING, "app.routes.acts")
        key, secret = await server.services.access.administration.create_key("root", "root", "admin")
        async with api_client(server.url, secret) as root:
            added = await (await root.post("/api/admin/people", json={"name": "Ada"})).json()
            made = await (await root.post("/api/admin/keys", json={"name": "bot", "scope": "admin"})).json()
            person = f"/api/admin/people/{added['id']}"
            acts = [
                (("PATCH", person), {"admin": True}, f"the person {added['id']} was made an administrator"),
                (("PATCH", person), {"admin": False}, f"the person {added['id']} was made a user"),
                (("PATCH", person), {"disabled": True}, f"the person {added['id']} was disabled"),
                (("PATCH", person), {"disabled": False}, f"the person {added['id']} was admitted again"),
                (("POST", f"{person}/password"), {}, f"the password of the person {added['id']} was reset"),
                (("DELETE", f"/api/admin/keys/{made['id']}"), None, f"the key {made['id']} was revoked"),
                (
                    ("PUT", "/api/admin/tenants/bot/limits"),
                    {"conversations": 7},
                    "the limits of the tenant bot were set to ",
                ),
                (("DELETE", "/api/admin/tenants/bot"), None, "the tenant bot was deleted"),
                (("POST", "/api/admin/replicas/1/drain"), None, "the replica 1 was drained"),
            ]
            for (method, path), body, _ in acts:
                response = await root.request(method, path, json=body)
                assert response.status < 300, await response.text()
            refused = await root.delete("/api/admin/keys/key_none")
            assert refused.status == 404
    lines = [record.getMessage() for record in caplog.records if record.name == "app.routes.acts"]
    begins = [
        f"the person {added['id']} was added as a user",
        f"the key {made['id']} to the tenant bot, of scope admin, was created",
        *(text for *_, text in acts),
    ]
    assert [line[: len(text)] for line, text in zip(lines, begins, strict=True)] == begins
    assert all(line.endswith(f" by the key {key.id}") for line in lines)
    assert added["password"] not in "".join(lines)
    assert made["key"] not in "".join(lines)
    tried = {("POST", "people"), ("POST", "keys"), *((act[0][0], act[0][1].split("/")[3]) for act in acts)}
    assert tried == {(each.method, each.path.split("/")[3]) for each in admin.operations if each.method != "GET"}


async def test_log_names_who_took_over_former_chats(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with running_server(tmp_path, ReplayEngine()) as server:
        async with api_client(server.url) as anybody:
            await created(anybody)
        key, secret = await server.services.access.administration.create_key("root", "root", "admin")
        async with api_client(server.url, secret) as root:
            await root.post("/api/account/former-chats")
    said = f"1 chats from before the first key were given to the tenant root by the key {key.id}"
    assert said in [record.getMessage() for record in caplog.records]
