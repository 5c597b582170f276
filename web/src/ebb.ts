import { createContext } from "svelte";

import { Api } from "./services/api";
import { Chat } from "./stores/chat.svelte";
import { Conversations } from "./stores/conversations.svelte";
import { HealthStore } from "./stores/health.svelte";
import { Notices } from "./stores/notices.svelte";
import { Router } from "./stores/router.svelte";
import { Session } from "./stores/session.svelte";

/** The stores of one page, wired once. Components reach them with `useEbb()`. */
export interface Ebb {
  session: Session;
  health: HealthStore;
  router: Router;
  conversations: Conversations;
  chat: Chat;
  notices: Notices;
}

export function createEbb(): Ebb {
  const api = new Api(() => session.lost());
  const session = new Session(api);
  const health = new HealthStore(api);
  const router = new Router();
  const conversations = new Conversations(api);
  const chat = new Chat(api, health, (conversation, created) => {
    conversations.put(conversation);
    if (created) router.go(conversation.id);
  });
  return { session, health, router, conversations, chat, notices: new Notices() };
}

export const [useEbb, provideEbb] = createContext<Ebb>();
