import Archive from "@lucide/svelte/icons/archive";
import Download from "@lucide/svelte/icons/download";
import Keyboard from "@lucide/svelte/icons/keyboard";
import Link from "@lucide/svelte/icons/link";
import SquareTerminal from "@lucide/svelte/icons/square-terminal";
import SunMoon from "@lucide/svelte/icons/sun-moon";
import Trash2 from "@lucide/svelte/icons/trash-2";
import Upload from "@lucide/svelte/icons/upload";

import type { Ebb } from "../../ebb";
import { t } from "../../i18n/language.svelte";
import { organizeTexts } from "../../i18n/organize";
import { EXPORT_ALL_PATH } from "../../services/api/client";
import { download } from "../../services/browser/download";
import type { DialogName } from "../../stores/layout.svelte";
import type { MenuItem } from "../ui/MenuItems.svelte";

/** Return the menu of all chats. It is loaded after the first view. */
export function listItems(ebb: Ebb): MenuItem[] {
  const { conversations, layout, notices, organizer, session } = ebb;
  const open = (dialog: DialogName) => (layout.dialog = dialog);
  const showArchive = () =>
    void conversations.showArchive(true).catch((error: unknown) => notices.failed(t().chats.notChanged, error));
  const showLinks = () => {
    organizer.targets = [];
    open("share");
  };
  return [
    { label: t().views.palette, icon: SquareTerminal, act: () => open("palette") },
    { label: t().chats.archived, icon: Archive, act: showArchive },
    { label: t().deleted.title, icon: Trash2, act: () => open("deleted") },
    ...(session.current?.share_links ? [{ label: organizeTexts().share.list, icon: Link, act: showLinks }] : []),
    ...(session.may("export") ? [{ label: organizeTexts().chat.exportAll, icon: Download, act: () => download(EXPORT_ALL_PATH) }] : []),
    ...(session.may("import") ? [{ label: organizeTexts().chat.import, icon: Upload, act: () => open("import") }] : []),
    { label: t().appearance.title, icon: SunMoon, act: () => open("appearance") },
    { label: t().help.open, icon: Keyboard, act: () => open("help") },
    { label: t().deleted.all, icon: Trash2, act: () => open("deleteAll"), danger: true },
  ];
}
