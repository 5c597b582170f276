import { t } from "../i18n/language.svelte";
import { organizeTexts } from "../i18n/organize";
import { describeError } from "../services/api/errors";
import { count } from "../services/format/numbers";
import { sentences } from "../services/format/sentences";
import type { Notices } from "./notices.svelte";
import type { Organizer, Report } from "./organizer.svelte";

/** Time after which the page shows how far a change is. */
const PATIENCE_MS = 1_000;

/** A change of many chats, which takes many requests. */
export interface BulkWork {
  /** Number of the chats. */
  total: number;
  change: (report: Report) => Promise<unknown>;
  /** Revert the change of these chats. */
  undo: (changed: readonly string[], report: Report) => Promise<unknown>;
  /** Text about the number of chats that were changed. */
  said: (count: number) => string;
}

/**
 * Change many chats, say how many were changed, and offer to undo that, also if only a part of them was. Return whether all
 * was done.
 */
export async function changeMany(notices: Notices, { total, change, undo, said }: BulkWork): Promise<boolean> {
  const changed: string[] = [];
  const revert = () => revertMany(notices, changed, undo);
  try {
    await whileShown(notices, total, (report) => {
      return change((ids) => report(changed.push(...ids)));
    });
  } catch (error) {
    offerUndoOfPart(notices, { changed, total, error, revert });
    return false;
  }
  notices.offerUndo(said(changed.length), revert);
  return true;
}

/** Undo the change of many chats. Says how many were reverted if that fails. */
async function revertMany(notices: Notices, changed: readonly string[], undo: BulkWork["undo"]): Promise<void> {
  const reverted: string[] = [];
  try {
    await whileShown(notices, changed.length, (report) => undo(changed, (ids) => report(reverted.push(...ids))));
  } catch (error) {
    offerUndoOfPart(notices, { changed: reverted, total: changed.length, error, revert: null });
  }
}

/**
 * Restore all chats that were deleted after `since`, at most `total`. Say how many were restored if that fails. Return whether
 * all were.
 */
export async function restoreMany(notices: Notices, organizer: Organizer, total: number, since = 0): Promise<boolean> {
  const restored: string[] = [];
  try {
    await whileShown(notices, total, (report) => organizer.restoreDeleted(since, (ids) => report(restored.push(...ids))));
    return true;
  } catch (error) {
    offerUndoOfPart(notices, { changed: restored, total, error, revert: null });
    return false;
  }
}

/** Run a piece of work on many chats, and show how far it is once it takes long. report: takes the number that is done. */
export async function whileShown<T>(notices: Notices, total: number, work: (report: (done: number) => void) => Promise<T>): Promise<T> {
  let done = 0;
  let late = false;
  const show = () => {
    if (late) notices.progress = { text: organizeTexts().selection.progress(count(done), count(total)), done, total };
  };
  const timer = setTimeout(() => {
    late = true;
    show();
  }, PATIENCE_MS);
  try {
    return await work((now) => {
      done = Math.min(now, total);
      show();
    });
  } finally {
    clearTimeout(timer);
    notices.progress = null;
  }
}

interface Part {
  changed: readonly string[];
  total: number;
  error: unknown;
  /** Undoes what was changed; null if that was an undo itself. */
  revert: (() => Promise<void>) | null;
}

function offerUndoOfPart(notices: Notices, { changed, total, error, revert }: Part): void {
  if (changed.length === 0) {
    notices.failed(organizeTexts().selection.failed, error);
    return;
  }
  const { what, todo } = describeError(error);
  const text = sentences(organizeTexts().selection.partly(count(changed.length), count(total)), what, todo);
  notices.show(text, revert && { label: t().undo, act: () => void revert() });
}
