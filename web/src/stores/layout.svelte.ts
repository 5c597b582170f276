import { MediaQuery } from "svelte/reactivity";

import type { Chat } from "./chat.svelte";

export type DialogName = "settings" | "preferences" | "help" | "tree" | "deleted" | "deleteAll" | "import" | "organize" | "share" | "account" | "palette";

/** Parts of the page that are open around the conversation. */
export class Layout {
  /** The list of chats as a drawer over a narrow page. */
  drawerOpen = $state(false);
  /** The list of chats as a column of a wide page. */
  sidebarShown = $state(true);
  dialog = $state<DialogName | null>(null);

  /** A phone on its side is narrow, too. */
  private readonly narrowPage = new MediaQuery("(max-width: 719.9px) or ((max-width: 959.9px) and (max-height: 479.9px))", false);

  constructor(private readonly chat: Pick<Chat, "settings">) {}

  /** Whether the page is too narrow for a column with the chats. */
  get narrow(): boolean {
    return this.narrowPage.current;
  }

  /** Whether the list of chats is shown, in either form. */
  get listShown(): boolean {
    return this.narrow ? this.drawerOpen : this.sidebarShown;
  }

  /** Whether the drawer covers the conversation. */
  get covered(): boolean {
    return this.narrow && this.drawerOpen;
  }

  showList(): void {
    if (this.narrow) this.drawerOpen = true;
    else this.sidebarShown = true;
  }

  /** Close a dialog, unless another one is open by now. */
  close(dialog: DialogName): void {
    if (this.dialog === dialog) this.dialog = null;
  }

  /** Close the settings when the chat has none: the browser's back button leaves a chat without closing its dialog. */
  start(): () => void {
    return $effect.root(() => {
      $effect(() => {
        if (this.chat.settings === null) this.close("settings");
      });
    });
  }
}
