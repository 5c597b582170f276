import Archive from "@lucide/svelte/icons/archive";
import ArchiveRestore from "@lucide/svelte/icons/archive-restore";
import Download from "@lucide/svelte/icons/download";
import FileText from "@lucide/svelte/icons/file-text";
import FileType from "@lucide/svelte/icons/file-type";
import FolderInput from "@lucide/svelte/icons/folder-input";
import Link from "@lucide/svelte/icons/link";
import ListChecks from "@lucide/svelte/icons/list-checks";
import Pencil from "@lucide/svelte/icons/pencil";
import Pin from "@lucide/svelte/icons/pin";
import PinOff from "@lucide/svelte/icons/pin-off";
import Search from "@lucide/svelte/icons/search";
import Trash2 from "@lucide/svelte/icons/trash-2";

import type { Ebb } from "../../ebb";
import { answerTexts } from "../../i18n/answers";
import { t } from "../../i18n/language.svelte";
import { organizeTexts } from "../../i18n/organize";
import { exportPath } from "../../services/api/client";
import type { Conversation, ConversationChanges } from "../../services/api/types";
import { download } from "../../services/browser/download";
import { FIND_KEYS } from "../../services/browser/shortcuts";
import type { MenuItem } from "../ui/MenuItems.svelte";
import { keptNote } from "./kept_note";

interface Actions {
  rename: () => void;
  /** Change the chat. Return whether it was changed; a failure is shown. */
  change: (changes: ConversationChanges) => Promise<boolean>;
  /** Open a dialog about the chat. */
  open: (dialog: "organize" | "share") => void;
  select: () => void;
  remove: () => void;
}

/** Return the menu of a chat in the list. It is loaded after the first view. */
export function chatItems({ id, title, pinned, archived }: Conversation, ebb: Ebb, actions: Actions): MenuItem[] {
  const { change } = actions;
  const archive = async () => {
    if (!(await change({ archived: true }))) return;
    const undo = () => ebb.conversations.change(id, { archived: false });
    ebb.notices.offerUndo(organizeTexts().chat.archivedNotice(title || t().chats.new), undo, t().chats.notChanged);
  };
  const note = async () => keptNote(await ebb.api.promise(id));
  return [
    { label: organizeTexts().chat.rename, icon: Pencil, act: actions.rename },
    ...(id === ebb.chat.id ? [{ label: answerTexts().find.title, icon: Search, act: () => (ebb.find.shown = true), keys: FIND_KEYS }] : []),
    pinned
      ? { label: organizeTexts().chat.unpin, icon: PinOff, act: () => void change({ pinned: false }), note }
      : { label: organizeTexts().chat.pin, icon: Pin, act: () => void change({ pinned: true }) },
    { label: organizeTexts().chat.organize, icon: FolderInput, act: () => actions.open("organize") },
    { label: organizeTexts().chat.select, icon: ListChecks, act: actions.select },
    archived
      ? { label: organizeTexts().chat.unarchive, icon: ArchiveRestore, act: () => void change({ archived: false }) }
      : { label: organizeTexts().chat.archive, icon: Archive, act: () => void archive() },
    ...(ebb.session.current?.share_links && ebb.session.may("share-links") ? [{ label: organizeTexts().chat.share, icon: Link, act: () => actions.open("share") }] : []),
    ...(ebb.session.may("export")
      ? [
          { label: organizeTexts().chat.exportMarkdown, icon: FileText, act: () => download(exportPath(id, "markdown")) },
          { label: organizeTexts().chat.exportText, icon: FileType, act: () => download(exportPath(id, "text")) },
          { label: organizeTexts().chat.exportJson, icon: Download, act: () => download(exportPath(id, "json")) },
        ]
      : []),
    { label: organizeTexts().chat.delete, icon: Trash2, act: actions.remove, danger: true },
  ];
}
