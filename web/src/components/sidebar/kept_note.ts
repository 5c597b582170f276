import { organizeTexts } from "../../i18n/organize";
import type { PromisedChat } from "../../services/api/types";
import { bytes } from "../../services/format/numbers";

/** Return how much KV of a pinned chat the disk keeps, or why it does not. */
export function keptNote({ reason, bytes: size }: PromisedChat): string {
  const texts = organizeTexts().chat.kept;
  switch (reason) {
    case null:
      return texts.all(bytes(size));
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
