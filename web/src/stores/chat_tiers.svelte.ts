import { untrack } from "svelte";
import { SvelteMap } from "svelte/reactivity";

import type { ApiClient } from "../services/api/client";
import type { TierId } from "../services/api/types";
import { NEAREST_TIER } from "../services/tiers";
import type { Conversations } from "./conversations.svelte";
import type { HealthStore } from "./health.svelte";

/** Number of chats, from the top of the list, whose tiers are requested. */
const MAX_CHATS = 50;
const REFRESH_MS = 60_000;

/** The tier that holds the KV of each listed chat: requested when a chat is first listed, and for all once a minute. */
export class ChatTiers {
  private readonly known = new SvelteMap<string, TierId | null>();
  private listed: string[] = [];
  private requests = 0;
  /** Number of the request that set a chat's tier. A late response to an earlier one is outdated. */
  private readonly setBy = new Map<string, number>();

  constructor(private readonly api: ApiClient) {}

  /** Return the lowest tier that the chat's next turn loads from; null if nothing is kept or known. */
  of(id: string): TierId | null {
    return this.known.get(id) ?? null;
  }

  /** Return whether the chat's next turn needs nothing from a lower tier. */
  isHot(id: string): boolean {
    return this.of(id) === NEAREST_TIER;
  }

  /** Refresh the listed chats once a minute while the page is visible. Return the function that stops this. */
  start(): () => void {
    const refresh = () => void (document.visibilityState === "visible" && this.refresh(this.listed));
    const timer = setInterval(refresh, REFRESH_MS);
    return () => clearInterval(timer);
  }

  /**
   * Follow the list of chats while the model is ready. A server that restarts has moved every chat, so all are requested
   * again. Return the function that stops this.
   */
  followList(conversations: Conversations, health: HealthStore): () => void {
    return $effect.root(() => {
      $effect(() => {
        const ids = conversations.known.slice(0, MAX_CHATS).map(({ id }) => id);
        if (health.ready) untrack(() => this.list(ids));
        else untrack(() => this.known.clear());
      });
    });
  }

  /** Set the listed chats, in the list's order, and request the tiers of new ones. */
  list(ids: readonly string[]): void {
    this.listed = ids.slice(0, MAX_CHATS);
    void this.refresh(this.listed.filter((id) => !this.known.has(id)));
  }

  /** Request the tiers of some chats. A failed request changes nothing. */
  async refresh(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const request = ++this.requests;
    const tiers = await this.api.places(ids).catch(() => []);
    for (const [id, tier] of tiers) {
      if (request < (this.setBy.get(id) ?? 0)) continue;
      this.setBy.set(id, request);
      this.known.set(id, tier);
    }
  }
}
