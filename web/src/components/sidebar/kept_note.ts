import { organizeTexts } from "../../i18n/organize";
import type { PromisedChat } from "../../services/api/types";
import { moment } from "../../services/format/dates";
import { bytes } from "../../services/format/numbers";

/** Return whether the disk keeps the KV of a pinned chat, since when and how much, or why not. */
export function keptNote({ reason, bytes: size, since }: PromisedChat, now: Date): string {
  const texts = organizeTexts().chat.kept;
  switch (reason) {
    case null:
      return texts.whole(bytes(size), moment(since ?? now.getTime() / 1_000, now));
    case "reservation_full":
      return texts.full(bytes(size));
    case "no_reservation":
    case "no_disk":
      return texts.unreserved;
    case "not_computed":
    case "not_written":
    case "not_kept":
    case "too_short":
      return size > 0 ? texts.begun(bytes(size)) : texts.later;
    case "disk_away":
    case "disk_read_only":
    case "not_ready":
    case "not_pinned":
      return texts.away;
  }
}
