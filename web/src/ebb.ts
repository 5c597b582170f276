import { createContext } from "svelte";

import { ApiClient } from "./services/api/client";
import { Tabs } from "./services/browser/tabs";
import { Highlighter } from "./services/code/highlighter";
import { Appearance } from "./stores/appearance.svelte";
import { Chat } from "./stores/chat.svelte";
import { ChatTiers } from "./stores/chat_tiers.svelte";
import { Conversations } from "./stores/conversations.svelte";
import { Drafts } from "./stores/drafts.svelte";
import { HealthStore } from "./stores/health.svelte";
import { Notices } from "./stores/notices.svelte";
import { Printing } from "./stores/printing.svelte";
import { Router } from "./stores/router.svelte";
import { Search } from "./stores/search.svelte";
import { Session } from "./stores/session.svelte";
import { Warming } from "./stores/warming";

/** The stores of one page, wired once. Components reach them with `useEbb()`. */
export interface Ebb {
  api: ApiClient;
  session: Session;
  appearance: Appearance;
  health: HealthStore;
  router: Router;
  conversations: Conversations;
  tabs: Tabs;
  search: Search;
  chat: Chat;
  drafts: Drafts;
  notices: Notices;
  chatTiers: ChatTiers;
  printing: Printing;
  warming: Warming;
  highlighter: Highlighter;
}

export function createEbb(): Ebb {
  const api = new ApiClient(() => session.lost());
  const drafts = new Drafts(api);
  const tabs = new Tabs();
  const session = new Session(api, () => drafts.forget(), () => tabs.tell("left"));
  const health = new HealthStore(api);
  const router = new Router();
  const chatTiers = new ChatTiers(api);
  const conversations = new Conversations(api, () => tabs.tell());
  const chat = new Chat(api, health, (conversation, how) => {
    conversations.put(conversation);
    if (how === "created") router.go(conversation.id);
    if (how !== "seen") tabs.tell();
  });
  return {
    api,
    session,
    appearance: new Appearance(),
    health,
    router,
    conversations,
    tabs,
    search: new Search(api),
    chat,
    drafts,
    notices: new Notices(),
    chatTiers,
    printing: new Printing(),
    warming: new Warming(api, (id) => chatTiers.refresh([id]).then(() => chatTiers.of(id))),
    highlighter: new Highlighter(),
  };
}

export const [useEbb, provideEbb] = createContext<Ebb>();
