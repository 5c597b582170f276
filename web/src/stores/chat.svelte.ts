import type { Api } from "../services/api";
import { ApiError, describe, UnreachableError, type Problem } from "../services/errors";
import { followRun, type RunEvent } from "../services/run_stream";
import type { ChatParams, Conversation, Message } from "../services/types";
import type { HealthStore } from "./health.svelte";

/** A message as the page shows it. `key` stays the same when a message of our own becomes the server's. */
export interface ShownMessage extends Message {
  key: string;
  /** Why this message of the user did not reach the server. */
  unsent?: Problem;
}

/**
 * What the page does with the open conversation:
 * idle -> waiting (the server is not ready) -> sending -> answering -> idle; loading while it is being opened.
 */
export type Phase = "idle" | "loading" | "waiting" | "sending" | "answering";

export interface ChatSettings {
  system_prompt: string | null;
  params: ChatParams | null;
}

const NO_SETTINGS: ChatSettings = { system_prompt: null, params: null };

/** The open conversation and its running answer. At most one run is followed at a time. */
export class Chat {
  id = $state<string | null>(null);
  messages = $state<ShownMessage[]>([]);
  settings = $state<ChatSettings>(NO_SETTINGS);
  phase = $state<Phase>("idle");
  /** The connection of the running answer broke and is being opened again. */
  lost = $state(false);
  /** Why the conversation could not be opened. */
  problem = $state<Problem | null>(null);
  readonly busy = $derived(this.phase === "waiting" || this.phase === "sending" || this.phase === "answering");

  private following = new AbortController();
  private runId: string | null = null;
  private stopAsked = false;
  private made = 0;

  constructor(
    private readonly api: Api,
    private readonly health: HealthStore,
    /** Told what the server says about the open conversation; `created` where it is new. */
    private readonly onConversation: (conversation: Conversation, created: boolean) => void,
  ) {}

  /** Shows conversation `id`, or the empty page; an answer that is still being written is followed. */
  async open(id: string | null): Promise<void> {
    const signal = this.leave();
    this.id = id;
    this.messages = [];
    this.settings = NO_SETTINGS;
    this.problem = null;
    this.phase = id === null ? "idle" : "loading";
    if (id !== null) await this.load(id, signal);
  }

  /** Looks again at what the server has, as another tab may have added to it. */
  async refresh(): Promise<void> {
    if (this.id === null || this.phase !== "idle" || this.messages.some((message) => message.unsent)) return;
    await this.load(this.id, this.following.signal);
  }

  async send(content: string): Promise<void> {
    if (this.busy) return;
    const user = this.add("user", content);
    const answer = this.add("assistant", "");
    const signal = this.leave();
    try {
      await this.run(answer, signal, async () => {
        this.id ??= await this.create(signal);
        return this.api.sendMessage(this.id, content, signal);
      });
    } catch (error) {
      if (signal !== this.following.signal) return;
      this.phase = "idle";
      this.discard(answer);
      user.unsent = signal.aborted ? { what: "Not sent.", todo: "" } : describe(error);
    }
  }

  /** Sends a message again that did not reach the server. */
  async sendAgain(message: ShownMessage): Promise<void> {
    this.discard(message);
    await this.send(message.content);
  }

  discard(message: ShownMessage): void {
    this.messages = this.messages.filter(({ key }) => key !== message.key);
  }

  /** Asks for another answer in place of `answer`. Rejects where it cannot be started; the old one is then back. */
  async retry(answer: ShownMessage): Promise<void> {
    if (this.busy) return;
    const before = this.messages;
    this.messages = before.slice(0, before.indexOf(answer));
    const fresh = this.add("assistant", "");
    const signal = this.leave();
    try {
      await this.run(fresh, signal, () => this.api.retryMessage(answer.id, signal));
    } catch (error) {
      if (signal !== this.following.signal) return;
      this.phase = "idle";
      this.messages = before;
      if (!signal.aborted) throw error;
    }
  }

  /** Ends the running answer; the text so far stays. */
  async stop(): Promise<void> {
    if (this.phase === "waiting") return this.following.abort();
    this.stopAsked = true;
    if (this.runId === null) return;
    this.settle(await this.api.cancelRun(this.runId));
  }

  async saveSettings(settings: ChatSettings): Promise<void> {
    if (this.id !== null) this.onConversation(await this.api.changeConversation(this.id, settings), false);
    this.settings = settings;
  }

  /** Stops following without stopping the run on the server. */
  leave(): AbortSignal {
    this.following.abort();
    this.following = new AbortController();
    this.runId = null;
    this.stopAsked = false;
    this.lost = false;
    return this.following.signal;
  }

  private async load(id: string, signal: AbortSignal): Promise<void> {
    try {
      const { messages, ...conversation } = await this.api.conversation(id, signal);
      signal.throwIfAborted();
      this.onConversation(conversation, false);
      this.settings = { system_prompt: conversation.system_prompt, params: conversation.params };
      this.messages = this.shown(messages);
      this.problem = null;
      this.phase = "idle";
    } catch (error) {
      if (signal.aborted) return;
      this.phase = "idle";
      if (this.messages.length === 0) this.problem = describe(error);
      return;
    }
    const last = this.messages.at(-1);
    if (last?.status === "in_progress" && last.run_id !== null) await this.follow(last.run_id, null, last.key, signal);
  }

  /** Starts a run as soon as the server is ready; its events go to `answer`. Rejects where it was not started. */
  private async run(answer: ShownMessage, signal: AbortSignal, start: () => Promise<Response>): Promise<void> {
    let response: Response | null = null;
    while (response === null) {
      if (!this.health.ready) this.phase = "waiting";
      await this.health.whenReady(signal);
      this.phase = "sending";
      response = await start().catch((error: unknown) => this.unlessNotReady(error, signal));
    }
    const runId = response.headers.get("X-Run-Id");
    if (runId === null) throw new UnreachableError();
    void this.follow(runId, response, answer.key, signal);
  }

  /** Rethrows, unless the server refused only because it is starting (again) or about to stop. */
  private async unlessNotReady(error: unknown, signal: AbortSignal): Promise<null> {
    signal.throwIfAborted();
    await this.health.poll();
    if (error instanceof ApiError && error.status === 503 && !this.health.ready) return null;
    throw error;
  }

  private async follow(runId: string, first: Response | null, key: string, signal: AbortSignal): Promise<void> {
    this.runId = runId;
    this.phase = "answering";
    if (this.stopAsked) void this.stop().catch(() => (this.stopAsked = false));
    const observer = {
      event: (event: RunEvent) => this.take(event, key),
      connected: () => (this.lost = false),
      lost: () => {
        this.lost = true;
        void this.health.poll();
      },
    };
    try {
      const end = await followRun(this.api, runId, first, observer, signal);
      this.ended();
      if (end === "gone") await this.reread(signal);
    } catch (error) {
      if (signal.aborted) return;
      this.ended();
      this.update(key, { status: "failed", error: { message: describe(error).what } });
    }
  }

  /** The run's log is no longer there: the stored conversation has its end. */
  private async reread(signal: AbortSignal): Promise<void> {
    const { messages } = await this.api.conversation(this.id!, signal);
    this.messages = this.shown(messages);
    const last = this.messages.at(-1);
    if (last?.status === "in_progress") this.update(last.key, { status: "incomplete", finish_reason: "interrupted" });
  }

  private take(event: RunEvent, key: string): void {
    switch (event.kind) {
      case "run": {
        const before = this.messages.findIndex((message) => message.key === key) - 1;
        if (before >= 0) Object.assign(this.messages[before]!, event.user_message);
        this.update(key, event.message);
        this.onConversation(event.conversation, false);
        break;
      }
      case "delta": {
        const message = this.messages.find((candidate) => candidate.key === key);
        if (message) message.content += event.text;
        if (message && event.reasoning) message.reasoning = (message.reasoning ?? "") + event.reasoning;
        break;
      }
      default:
        this.update(key, event.message);
    }
  }

  private ended(): void {
    this.phase = "idle";
    this.runId = null;
    this.stopAsked = false;
    this.lost = false;
  }

  private settle(message: Message): void {
    const key = this.messages.find(({ id }) => id === message.id)?.key;
    if (key !== undefined) this.update(key, message);
  }

  private update(key: string, changes: Partial<Message>): void {
    const message = this.messages.find((candidate) => candidate.key === key);
    if (message) Object.assign(message, changes);
  }

  private async create(signal: AbortSignal): Promise<string> {
    const { system_prompt, params } = this.settings;
    const conversation = await this.api.createConversation({
      ...(system_prompt !== null && { system_prompt }),
      ...(params !== null && { params }),
    });
    signal.throwIfAborted();
    this.id = conversation.id;
    this.onConversation(conversation, true);
    return conversation.id;
  }

  private shown(messages: readonly Message[]): ShownMessage[] {
    const keys = new Map(this.messages.map(({ id, key }) => [id, key]));
    const visible = messages.filter(({ role }) => role !== "system");
    return visible.map((message) => ({ ...message, key: keys.get(message.id) ?? message.id }));
  }

  private add(role: "user" | "assistant", content: string): ShownMessage {
    const key = `own-${++this.made}`;
    const message: ShownMessage = {
      key,
      id: key,
      conversation_id: this.id ?? "",
      parent_id: null,
      role,
      content,
      reasoning: null,
      status: role === "user" ? "complete" : "in_progress",
      finish_reason: null,
      error: null,
      usage: null,
      run_id: null,
      created_at: Date.now() / 1_000,
      completed_at: null,
    };
    this.messages.push(message);
    return this.messages.at(-1)!;
  }
}
