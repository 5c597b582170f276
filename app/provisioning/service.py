"""The SCIM service: the library's protocol over the server's store."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from scim2_models import (
    AuthenticationScheme,
    Bulk,
    ChangePassword,
    EnterpriseUser,
    ETag,
    Filter,
    Group,
    Patch,
    ResourceType,
    SCIMException,
    ScimPolicy,
    ScimProvider,
    ServiceProviderConfig,
    Sort,
    UnauthorizedException,
    User,
)
from scim2_server.handler import ScimHandler
from scim2_server.requests import ScimRequest
from scim2_server.responses import ScimResponse
from scim2_server.service import ScimService

from app.accounts.scim_plan import ScimPlan
from app.provisioning.resources import ScimUser
from app.provisioning.storage import MAX_RESULTS, ProvisioningStorage
from app.storage.provisioning import ProvisioningStore

logger = logging.getLogger(__name__)


class Provisioning:
    """People and groups under /scim/v2, one request at a time, on a thread."""

    def __init__(self, store: ProvisioningStore, plan: ScimPlan, changed: Callable[[], Awaitable[None]]) -> None:
        """Serve the provider that has the token of `plan`. Call from the event loop.

        changed: called after each change of people and groups.
        """
        self.plan = plan
        provider = _provider()
        self._service = ScimService(provider)
        storage = ProvisioningStorage(store, plan, provider, changed, asyncio.get_running_loop())
        self._handler = ScimHandler(self._service, storage)
        self._turn = asyncio.Lock()

    def refuse(self) -> ScimResponse:
        """Return the response to a request without the token."""
        return self._service.error_response(UnauthorizedException(detail="The token is missing or wrong"))

    async def handle(
        self,
        *,
        method: str,
        base_url: str,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes,
    ) -> ScimResponse:
        """Serve a request that has the token. Faults of the server are raised.

        base_url: URL of the service, as the provider knows it. path: the rest, with a slash in front.
        """
        request = ScimRequest(method, base_url, path, query, headers, body)
        async with self._turn:
            try:
                response = await asyncio.to_thread(self._handler.handle, request)
            except SCIMException as error:
                logger.info("a request of the provisioning was refused: %s %s", error.status, error)
                return self._service.error_response(error)
        if method not in ("GET", "HEAD"):
            logger.info("provisioned: %s %s", method, path)
        return response


def _provider() -> ScimProvider:
    config = ServiceProviderConfig(
        patch=Patch(supported=True),
        bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
        filter=Filter(supported=True, max_results=MAX_RESULTS),
        change_password=ChangePassword(supported=False),
        sort=Sort(supported=False),
        etag=ETag(supported=True),
        authentication_schemes=[
            AuthenticationScheme(
                type=AuthenticationScheme.Type.oauthbearertoken,
                name="Bearer token",
                description="The token in the file of --scim-token-file",
                primary=True,
            )
        ],
    )
    # As Microsoft Entra sends and expects it.
    policy = ScimPolicy(
        unknown=ScimPolicy.Unknown.ignore,
        remove_value_as_filter=ScimPolicy.RemoveValue.apply,
        unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
    )
    types = [ResourceType.from_resource(ScimUser), ResourceType.from_resource(Group)]
    return ScimProvider([User, EnterpriseUser, Group], types, config, policy)
