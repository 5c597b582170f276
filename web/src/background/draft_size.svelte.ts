import { untrack } from "svelte";

import type { ApiClient } from "../services/api/client";
import { joinContent } from "../services/chat/attachments";
import type { Chat } from "../stores/chat.svelte";
import type { ContextUse } from "../stores/context_use.svelte";
import type { Drafts } from "../stores/drafts.svelte";
import type { Models } from "../stores/models.svelte";

const PAUSE_MS = 500;
/** A long message is counted less often, as each count uploads it. */
const LONG = 1 << 16;
const LONG_PAUSE_MS = 2_000;

/** Count of the open chat's draft with its files and the chat's history, made by the server when the person pauses. */
export class DraftSize {
  private measuring = new AbortController();
  private chatId: string | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly api: Pick<ApiClient, "promptSize">,
    private readonly chat: Pick<Chat, "id" | "busy" | "ready" | "messages" | "settings">,
    private readonly drafts: Pick<Drafts, "text" | "files">,
    private readonly use: Pick<ContextUse, "measured">,
    private readonly models: Pick<Models, "name">,
  ) {}

  /** Count the draft after each pause. Return the function that stops this. */
  start(): () => void {
    return $effect.root(() => {
      $effect(() => {
        const { chat, drafts } = this;
        const content = joinContent(drafts.text.trim(), drafts.files);
        const wanted = chat.ready && !chat.busy && content !== "";
        void [chat.id, chat.messages.at(-1)?.id, chat.settings, this.models.name];
        untrack(() => this.plan(wanted ? content : null));
        return () => clearTimeout(this.timer);
      });
    });
  }

  /** content: null if there is nothing to count. */
  private plan(content: string | null): void {
    this.measuring.abort();
    if (content === null || this.chat.id !== this.chatId) this.use.measured = null;
    this.chatId = this.chat.id;
    if (content === null) return;
    const measure = () => void this.measure(content).catch(() => undefined);
    this.timer = setTimeout(measure, content.length < LONG || this.use.measured === null ? PAUSE_MS : LONG_PAUSE_MS);
  }

  /** Count the prompt that `content` would make. A failed count leaves the former one. */
  private async measure(content: string): Promise<void> {
    const { signal } = (this.measuring = new AbortController());
    const measured = await this.api.promptSize(this.chat.id, content, this.chat.settings?.system_prompt ?? null, this.models.name, signal);
    if (!signal.aborted) this.use.measured = measured;
  }
}
