import { untrack } from "svelte";

import type { ApiClient } from "../services/api/client";
import type { ChatSettings, Preset, PresetFields } from "../services/api/types";
import type { Chat } from "./chat.svelte";
import type { Organizer } from "./organizer.svelte";

/** The presets on the server. One of them may apply to new chats. */
export class Presets {
  list = $state.raw<readonly Preset[]>([]);

  constructor(
    private readonly api: ApiClient,
    private readonly chat: Pick<Chat, "startWith">,
    private readonly organizer: Pick<Organizer, "folder" | "systemPrompt">,
  ) {}

  /** Begin new chats in the open folder, with the settings of the default preset and the folder's system prompt. Return the stop function. */
  start(): () => void {
    return $effect.root(() => {
      $effect(() => {
        const { folder, systemPrompt } = this.organizer;
        const settings = settingsOf(this.list.find(({ is_default }) => is_default) ?? null);
        const begun = systemPrompt === null ? settings : { ...settings, system_prompt: systemPrompt };
        untrack(() => this.chat.startWith(begun, folder?.id ?? null));
      });
    });
  }

  /** Read the presets. Rejects like the API. */
  async load(): Promise<void> {
    this.list = await this.api.presets();
  }

  /** Create a preset, or replace the one with `id`. Rejects like the API. */
  async save(id: string | null, fields: PresetFields): Promise<Preset> {
    const preset = id === null ? await this.api.createPreset(fields) : await this.api.replacePreset(id, fields);
    await this.load();
    return preset;
  }

  /** Delete a preset. Rejects like the API. */
  async remove(id: string): Promise<void> {
    await this.api.deletePreset(id);
    await this.load();
  }
}

/** Return the settings that a chat takes from a preset; without one, the server's defaults apply. */
export function settingsOf(preset: Preset | null): ChatSettings {
  return { system_prompt: preset?.system_prompt ?? null, params: preset === null ? null : { ...preset.params } };
}
