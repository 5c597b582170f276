import { createContext } from "svelte";

import { Api } from "./services/api";
import { Appearance } from "./stores/appearance.svelte";
import { Chat } from "./stores/chat.svelte";
import { Conversations } from "./stores/conversations.svelte";
import { Drafts } from "./stores/drafts.svelte";
import { HealthStore } from "./stores/health.svelte";
import { Notices } from "./stores/notices.svelte";
import { Router } from "./stores/router.svelte";
import { Search } from "./stores/search.svelte";

/** The stores of one page, wired once. Components reach them with `useEbb()`. */
export interface Ebb {
  api: Api;
  appearance: Appearance;
  health: HealthStore;
  router: Router;
  conversations: Conversations;
  search: Search;
  chat: Chat;
  drafts: Drafts;
  notices: Notices;
}

export function createEbb(): Ebb {
  const api = new Api();
  const health = new HealthStore(api);
  const router = new Router();
  const conversations = new Conversations(api);
  const chat = new Chat(api, health, (conversation, created) => {
    conversations.put(conversation);
    if (created) router.go(conversation.id);
  });
  return {
    api,
    appearance: new Appearance(),
    health,
    router,
    conversations,
    search: new Search(api),
    chat,
    drafts: new Drafts(api),
    notices: new Notices(),
  };
}

export const [useEbb, provideEbb] = createContext<Ebb>();
