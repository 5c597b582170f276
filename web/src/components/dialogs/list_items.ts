import Archive from "@lucide/svelte/icons/archive";
import BookText from "@lucide/svelte/icons/book-text";
import Download from "@lucide/svelte/icons/download";
import FolderOpen from "@lucide/svelte/icons/folder-open";
import Keyboard from "@lucide/svelte/icons/keyboard";
import Link from "@lucide/svelte/icons/link";
import SlidersHorizontal from "@lucide/svelte/icons/sliders-horizontal";
import SquareTerminal from "@lucide/svelte/icons/square-terminal";
import Trash2 from "@lucide/svelte/icons/trash-2";
import Upload from "@lucide/svelte/icons/upload";

import type { Ebb } from "../../ebb";
import { answerTexts } from "../../i18n/answers";
import { t } from "../../i18n/language.svelte";
import { organizeTexts } from "../../i18n/organize";
import { EXPORT_ALL_PATH } from "../../services/api/client";
import { download } from "../../services/browser/download";
import type { DialogName } from "../../stores/layout.svelte";
import type { MenuItem } from "../ui/MenuItems.svelte";

/** A dialog of the conversation that starts or completes a message. */
export type MessageStart = "prompts" | "files";

/** Return the actions on all chats and what belongs to them, for the settings and the palette. */
export function listItems(ebb: Ebb, start: (name: MessageStart) => void): MenuItem[] {
  const { chat, conversations, layout, notices, organizer, session } = ebb;
  const open = (dialog: DialogName) => (layout.dialog = dialog);
  const showArchive = () => {
    layout.showList();
    void conversations.showArchive(true).catch((error: unknown) => notices.failed(t().chats.notChanged, error));
  };
  const showLinks = () => {
    organizer.targets = [];
    open("share");
  };
  return [
    { label: t().views.palette, icon: SquareTerminal, act: () => open("palette") },
    { label: t().help.open, icon: Keyboard, act: () => open("help") },
    ...(chat.settings === null ? [] : [{ label: t().conversation.settings, icon: SlidersHorizontal, act: () => open("settings") }]),
    { label: answerTexts().prompts.title, icon: BookText, act: () => start("prompts") },
    ...(session.may("files") ? [{ label: t().attachments.kept, icon: FolderOpen, act: () => start("files") }] : []),
    { label: t().chats.archived, icon: Archive, act: showArchive },
    { label: t().deleted.title, icon: Trash2, act: () => open("deleted") },
    ...(session.current?.share_links ? [{ label: organizeTexts().share.list, icon: Link, act: showLinks }] : []),
    ...(session.may("export") ? [{ label: organizeTexts().chat.exportAll, icon: Download, act: () => download(EXPORT_ALL_PATH) }] : []),
    ...(session.may("import") ? [{ label: organizeTexts().chat.import, icon: Upload, act: () => open("import") }] : []),
    { label: t().deleted.all, icon: Trash2, act: () => open("deleteAll"), danger: true },
  ];
}
