import type { ApiClient } from "../services/api/client";
import type { Preset, PresetFields } from "../services/api/types";
import type { Chat, ChatSettings } from "./chat.svelte";

/** The presets on the server. One of them may apply to new chats. */
export class Presets {
  list = $state.raw<readonly Preset[]>([]);

  constructor(
    private readonly api: ApiClient,
    private readonly chat: Pick<Chat, "startWith">,
  ) {}

  /** Read the presets, and give new chats the settings of the default. Rejects like the API. */
  async load(): Promise<void> {
    this.list = await this.api.presets();
    this.chat.startWith(settingsOf(this.list.find(({ is_default }) => is_default) ?? null));
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
