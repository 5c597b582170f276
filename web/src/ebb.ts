import { createContext } from "svelte";

import { language, t, withTexts } from "./i18n/language.svelte";
import { ApiClient } from "./services/api/client";
import { Tabs } from "./services/browser/tabs";
import { Highlighter } from "./services/code/highlighter";
import { Diagrams } from "./services/sandbox/diagrams";
import { Activity } from "./stores/activity.svelte";
import { Appearance } from "./stores/appearance.svelte";
import { ChangeFollower } from "./stores/change_follower.svelte";
import { Chat } from "./stores/chat.svelte";
import { ChatTiers } from "./stores/chat_tiers.svelte";
import { ContextUse } from "./stores/context_use.svelte";
import { Conversations } from "./stores/conversations.svelte";
import { Drafts } from "./stores/drafts.svelte";
import { FindInChat } from "./stores/find.svelte";
import { Hit } from "./stores/hit.svelte";
import { HealthStore } from "./stores/health.svelte";
import { Layout } from "./stores/layout.svelte";
import { Models } from "./stores/models.svelte";
import { Notices } from "./stores/notices.svelte";
import { Organizer } from "./stores/organizer.svelte";
import { Presets } from "./stores/presets.svelte";
import { Printing } from "./stores/printing.svelte";
import { Queue } from "./stores/queue.svelte";
import { Refresh } from "./stores/refresh.svelte";
import { Router } from "./stores/router.svelte";
import { Search } from "./stores/search.svelte";
import { Session } from "./stores/session.svelte";
import { Shortcuts } from "./stores/shortcuts.svelte";
import { Warming } from "./stores/warming";

/** The stores of one page, wired once. Components reach them with `useEbb()`. */
export interface Ebb {
  api: ApiClient;
  session: Session;
  activity: Activity;
  appearance: Appearance;
  changes: ChangeFollower;
  health: HealthStore;
  router: Router;
  conversations: Conversations;
  tabs: Tabs;
  search: Search;
  chat: Chat;
  chatTiers: ChatTiers;
  contextUse: ContextUse;
  drafts: Drafts;
  find: FindInChat;
  hit: Hit;
  layout: Layout;
  models: Models;
  notices: Notices;
  organizer: Organizer;
  presets: Presets;
  printing: Printing;
  queue: Queue;
  refresh: Refresh;
  shortcuts: Shortcuts;
  warming: Warming;
  highlighter: Highlighter;
  diagrams: Diagrams;
}

/** Create the stores of a page and wire them. */
export function createEbb(): Ebb {
  const api = new ApiClient(() => session.onLost());
  const activity = new Activity(api);
  const drafts = new Drafts(api, (id) => discardQuestion(id));
  const tabs = new Tabs();
  const session = new Session(api, () => forget(), () => tabs.broadcast("left"));
  const health = new HealthStore(api);
  const router = new Router();
  const chatTiers = new ChatTiers(api);
  const conversations = new Conversations(api, () => tabs.broadcast("changed"));
  const organizer = new Organizer(api, conversations);
  conversations.onReread = () => void organizer.load().catch(() => undefined);
  conversations.onRows = (rows) => activity.list(rows);
  const chat = new Chat(api, health, (conversation, how) => {
    // Conversations of the API are not chats.
    if (conversation.source === "chat") conversations.put(conversation);
    if (how === "seen") activity.list([conversation]);
    if (how === "created") router.go(conversation.id);
    if (how !== "seen") tabs.broadcast("changed");
  }, {
    get name() {
      return models.name;
    },
    prepare: (name, signal, onstep) => models.prepare(name, signal, onstep),
  });
  const models: Models = new Models(api, health, chat);
  const discardQuestion = (id: string) => {
    if (!conversations.awaitsQuestion(id) || (chat.id === id && chat.messages.length > 0)) return;
    // The chat is left first: text that is typed from now on must not be lost with it.
    if (chat.id === id) router.go(null);
    void conversations.discard(id).catch(() => undefined);
  };
  const queue = new Queue(chat, drafts);
  const forget = () => {
    drafts.forget();
    queue.forget();
  };
  const refresh = new Refresh(health, session, conversations, chat, drafts, tabs);
  return {
    api,
    session,
    activity,
    appearance: new Appearance(),
    changes: new ChangeFollower({ api, activity, chat, conversations, refresh }),
    health,
    router,
    conversations,
    tabs,
    search: new Search(api),
    chat,
    chatTiers,
    contextUse: new ContextUse(chat, models),
    drafts,
    find: new FindInChat(api),
    hit: new Hit(),
    layout: new Layout(chat),
    models,
    notices: new Notices(),
    organizer,
    presets: new Presets(api, chat, organizer),
    printing: new Printing(() => chat.pages.readWhole()),
    queue,
    refresh,
    shortcuts: new Shortcuts(),
    warming: new Warming(api, (id) => chatTiers.refresh([id]).then(() => chatTiers.of(id))),
    highlighter: new Highlighter(),
    diagrams: new Diagrams(),
  };
}

/** Ask a person whose password an administrator set to choose another one. */
function nudge({ layout, notices, session }: Ebb): void {
  if (!session.current?.principal?.initial_password) return;
  const refusal = { label: t().login.later, act: () => undefined };
  notices.show(t().login.initialPassword, { label: t().login.choose, act: () => (layout.dialog = "account"), refusal });
}

/** Start the stores that follow the browser, the server, or each other, for as long as the page is open. */
export function startEbb(ebb: Ebb): void {
  const { changes, chat, chatTiers, conversations, health, layout, presets, printing, refresh, router, session, tabs } = ebb;
  void session.load().then(() => (session.out ? undefined : presets.load())).then(() => nudge(ebb)).catch(() => undefined);
  health.start();
  router.start();
  tabs.listen("left", () => session.onLeft());
  chatTiers.start();
  presets.start();
  printing.start();
  language.start();
  ebb.appearance.start();
  ebb.shortcuts.start();
  chat.onAnswerEnd((id) => {
    void chatTiers.refresh([id]);
    // The model may give a chat a better title after its first answer.
    if (chat.id === id && chat.messages.length <= 2) void conversations.awaitTitle(id).catch(() => undefined);
  });
  chat.followRouter(router);
  chatTiers.followList(conversations, health);
  refresh.start();
  // At once: the first reading of the chats waits for the stream.
  changes.followSession(session);
  layout.start();
  ebb.activity.start(chat);
  startBackground(ebb);
}

/** Start what the first view does not need: notifications, the offline page and the size of drafts. */
function startBackground(ebb: Ebb): void {
  withTexts(import("./background/background.svelte")).then(
    (background) => background.start(ebb),
    () => undefined,
  );
}

export const [useEbb, provideEbb] = createContext<Ebb>();
