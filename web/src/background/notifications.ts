import { t } from "../i18n/language.svelte";
import { canNotify, wantsNotifications } from "../services/browser/notifications";
import type { Conversations } from "../stores/conversations.svelte";
import type { Router } from "../stores/router.svelte";

/**
 * Notify the person of an answer that ended while the page is hidden, if the person has asked for that. The worker shows
 * the notification, because phones allow that to workers only.
 */
export async function notify(conversations: Conversations, id: string): Promise<void> {
  if (document.visibilityState === "visible" || !wantsNotifications()) return;
  const title = conversations.find(id)?.title || t().chats.new;
  const worker = await navigator.serviceWorker.getRegistration();
  await worker?.showNotification(title, { body: t().conversation.finished, tag: id, icon: "/favicon.svg", data: id });
}

/** Open the chats whose notifications are clicked. Return the function that stops this. */
export function openNotified(router: Router): () => void {
  if (!canNotify || !("serviceWorker" in navigator)) return () => undefined;
  const { serviceWorker } = navigator;
  const onMessage = ({ data }: MessageEvent<{ open: string }>) => router.go(data.open);
  serviceWorker.addEventListener("message", onMessage);
  return () => serviceWorker.removeEventListener("message", onMessage);
}
