import { language } from "../i18n/language.svelte";
import type { ApiClient } from "../services/api/client";
import type { Chat } from "../stores/chat.svelte";
import type { ContextUse } from "../stores/context_use.svelte";
import type { Conversations } from "../stores/conversations.svelte";
import type { Drafts } from "../stores/drafts.svelte";
import type { Models } from "../stores/models.svelte";
import type { Router } from "../stores/router.svelte";
import type { ChangeFollower } from "../stores/change_follower.svelte";
import type { Session } from "../stores/session.svelte";
import { DraftSize } from "./draft_size.svelte";
import { offerFormerChats, type Offering } from "./former_chats";
import { notify, openNotified } from "./notifications";
import { offlineWorker } from "./offline";

interface Started {
  api: ApiClient;
  changes: ChangeFollower;
  chat: Chat;
  contextUse: ContextUse;
  conversations: Conversations;
  drafts: Drafts;
  models: Models;
  router: Router;
  session: Session;
}

/** Start everything that happens in the background of the page. Return the function that stops this. */
export function start(ebb: Started & Offering): () => void {
  ebb.changes.onAnswer = (id) => void notify(ebb.conversations, id).catch(() => undefined);
  const size = new DraftSize(ebb.api, ebb.chat, ebb.drafts, ebb.contextUse, ebb.models);
  const register = offlineWorker();
  return $effect.root(() => {
    $effect(() => size.start());
    // Not while an answer is being written: its frames need the processors that the new worker would use.
    $effect(() => (ebb.chat.busy ? undefined : register(language.current)));
    $effect(() => {
      if (ebb.session.tenant !== null && ebb.session.isAdmin) void offerFormerChats(ebb);
    });
    $effect(() => openNotified(ebb.router));
  });
}
