import { browserStorage } from "../browser_storage";

const STORED = "ebb-notify";

/** Whether the browser can notify at all: only in a secure context, that is with https or on this machine. */
export const canNotify = isSecureContext && "Notification" in window;

/** Return whether the person asked for notifications, and the browser still allows them. */
export function wantsNotifications(): boolean {
  return canNotify && browserStorage.get(STORED) === "on" && Notification.permission === "granted";
}

/** Turn notifications on or off. Resolves with whether they are on: the browser may refuse them. */
export async function chooseNotifications(on: boolean): Promise<boolean> {
  const allowed = on && canNotify && (await Notification.requestPermission()) === "granted";
  browserStorage.put(STORED, allowed ? "on" : null);
  return allowed;
}
