import type { ApiClient } from "../services/api/client";
import { readLoad } from "../services/api/load_stream";
import type { ChatModel, ModelHealth, ModelProgress } from "../services/api/types";
import type { Chat } from "./chat.svelte";
import type { HealthStore } from "./health.svelte";

/** Pause between readings of the models while a menu shows a load. */
const LOADING_MS = 1_000;

/** The models of a server that has several, and the one that answers in the open chat: that of its last answer, or a chosen one. */
export class Models {
  /** The models as the server described them last, for the open chat. */
  list = $state.raw<readonly ChatModel[]>([]);
  /** The chat for which the list has the costs; null for none. */
  counted = $state.raw<string | null>(null);
  private picked = $state.raw<{ chat: string | null; name: string } | null>(null);

  constructor(
    private readonly api: ApiClient,
    private readonly health: Pick<HealthStore, "current">,
    private readonly chat: Pick<Chat, "id" | "messages">,
  ) {}

  /** Names of the models; none on a server with one model. */
  get names(): readonly string[] {
    const names = this.health.current?.models ?? [];
    return names.length > 1 ? names : [];
  }

  /** Names of the models that can answer in a chat. One of which that is not known counts as able. */
  get answering(): readonly string[] {
    const others = this.list.filter(({ answers }) => answers === false);
    return this.names.filter((name) => !others.some((other) => other.name === name));
  }

  /** Name of the model that answers next; null on a server with one model. */
  get name(): string | null {
    const { names, picked } = this;
    if (names.length === 0) return null;
    if (picked !== null && picked.chat === this.chat.id && names.includes(picked.name)) return picked.name;
    const last = this.chat.messages.findLast(({ model }) => model !== null && names.includes(model));
    return last?.model ?? this.answering[0] ?? names[0]!;
  }

  /** Facts of the model that answers next; null until they are known. */
  get facts(): ModelHealth | null {
    const model = this.health.current?.model ?? null;
    const { name } = this;
    if (model === null || name === null || name === model.name) return model;
    const chosen = this.list.find((each) => each.name === name);
    if (chosen?.max_model_len == null) return null;
    return { ...model, name, max_model_len: chosen.max_model_len, sampling: chosen.sampling ?? {}, thinking: chosen.thinking ?? [] };
  }

  /** Let a model answer in the open chat from now on. */
  choose(name: string): void {
    this.picked = { chat: this.chat.id, name };
  }

  /** Read the models, with what each would compute for the chat `id`. Rejects like the API. */
  async load(id: string | null): Promise<void> {
    const { data } = await this.api.models(id);
    if (id !== null && id !== this.chat.id) return;
    this.list = data;
    this.counted = id;
  }

  /** Read the models now, and again while one is being loaded. Return the function that stops this. */
  watch(): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let stopped = false;
    const read = async () => {
      // A page that cannot reach the server says so elsewhere.
      await this.load(this.chat.id).catch(() => undefined);
      const moving = this.list.some(({ state }) => state === "loading" || state === "draining");
      if (moving && !stopped) timer = setTimeout(() => void read(), LOADING_MS);
    };
    void read();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }

  /** Wait until a model is in memory. Rejects with the reason why it cannot be loaded, and after `signal`. */
  async prepare(name: string, signal: AbortSignal, onstep: (progress: ModelProgress) => void): Promise<void> {
    await readLoad(await this.api.loadModel(name, signal), signal, onstep);
  }
}
