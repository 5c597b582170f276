import { t } from "../i18n/language.svelte";
import { wantsNotifications } from "../services/browser/notifications";
import type { Conversations } from "../stores/conversations.svelte";
import type { Router } from "../stores/router.svelte";

interface Stores {
  conversations: Conversations;
  router: Router;
}

/** Notify the person of an answer that ended while the page is hidden, if the person has asked for that. */
export function notify({ conversations, router }: Stores, id: string): void {
  if (document.visibilityState === "visible" || !wantsNotifications()) return;
  const title = conversations.list.find((item) => item.id === id)?.title || t().chats.new;
  const notification = new Notification(title, { body: t().conversation.finished, tag: id, icon: "/favicon.svg" });
  notification.onclick = () => {
    window.focus();
    router.go(id);
    notification.close();
  };
}
