"""GET /api/live: samples of the whole server, for who may see them and as long as he may."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.integration.api_server import RunningServer, api_client
from tests.integration.sse_events import events_of
from tests.integration.tenants import people
from tests.unit.fake_engine import FakeEngine
