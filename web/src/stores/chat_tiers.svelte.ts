import { SvelteMap } from "svelte/reactivity";

import type { ApiClient } from "../services/api/client";
import type { Place } from "../services/api/types";

/** How many chats of the list are asked about, from its top. */
const MOST = 50;
const CALM_MS = 60_000;

/** Where the KV of the listed chats is: asked when one is listed first, and for all of them now and then. */
export class ChatTiers {
  private readonly known = new SvelteMap<string, Place>();
  private listed: string[] = [];
  private questions = 0;
  /** The number of the question whose answer is known, by chat. */
  private readonly answered = new Map<string, number>();

  constructor(private readonly api: ApiClient) {}

  of(id: string): Place {
    return this.known.get(id) ?? null;
  }

  /** Asks now and then while somebody looks; the returned function stops. */
  start(): () => void {
    const look = () => void (document.visibilityState === "visible" && this.look(this.listed));
    const timer = setInterval(look, CALM_MS);
    return () => clearInterval(timer);
  }

  /** These are in the list, in this order. */
  list(ids: readonly string[]): void {
    this.listed = ids.slice(0, MOST);
    void this.look(this.listed.filter((id) => !this.known.has(id)));
  }

  /** Asks about some chats. Where the server does not say, what was known stays; what it says late is no news. */
  async look(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const question = ++this.questions;
    const places = await this.api.places(ids).catch(() => []);
    for (const [id, place] of places) {
      if (question < (this.answered.get(id) ?? 0)) continue;
      this.answered.set(id, question);
      this.known.set(id, place);
    }
  }
}
