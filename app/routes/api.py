"""All routes of the API, in the order in which they are looked for."""

from typing import Final

from starlette.routing import Route

from app.routes import (
    account,
    admin,
    anthropic_messages,
    branches,
    conversations,
    deleted_conversations,
    drafts,
    health,
    live,
    login,
    metrics,
    models,
    ollama,
    openai_chat,
    openai_completions,
    openai_conversations,
    places,
    presets,
    responses,
    runs,
    saved_prompts,
    search,
    tokens,
    transfer,
)

ROUTES: Final[tuple[Route, ...]] = (
    *openai_chat.routes,
    *openai_completions.routes,
    *responses.routes,
    *openai_conversations.routes,
    *anthropic_messages.routes,
    *ollama.routes,
    *tokens.routes,
    *models.routes,
    *conversations.routes,
    *deleted_conversations.routes,
    *branches.routes,
    *drafts.routes,
    *places.routes,
    *presets.routes,
    *saved_prompts.routes,
    *search.routes,
    *transfer.routes,
    *runs.routes,
    *login.routes,
    *account.routes,
    *admin.routes,
    *health.routes,
    *metrics.routes,
    *live.routes,
)
