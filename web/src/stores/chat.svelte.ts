import { t } from "../i18n/language.svelte";
import type { ApiClient } from "../services/api/client";
import { ApiError, describeError, UnreachableError, type Problem } from "../services/api/errors";
import { followRun, type RunEvent } from "../services/api/run_stream";
import type { ChatParams, Conversation } from "../services/api/types";
import type { HealthStore } from "./health.svelte";
import { MessagePath, type ShownMessage } from "./message_path.svelte";

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
  /** As the server had it when the conversation was opened; null where there is none. */
  title = $state<string | null>(null);
  /** Null while the server has not said what they are. */
  settings = $state<ChatSettings | null>(NO_SETTINGS);
  phase = $state<Phase>("idle");
  /** The connection of the running answer broke and is being opened again. */
  lost = $state(false);
  /** Why the conversation could not be opened. */
  problem = $state<Problem | null>(null);
  readonly busy = $derived(this.phase === "waiting" || this.phase === "sending" || this.phase === "answering");
  /** What was said so far is here, so that more can be said. */
  readonly ready = $derived(this.phase !== "loading" && this.problem === null);
  /** What would be changed is known: also a conversation that is just being made has its settings from before. */
  readonly hasSettings = $derived(this.settings !== null && (this.id !== null || !this.busy));

  private readonly path = new MessagePath();
  private following = new AbortController();
  private runId: string | null = null;
  private stopAsked = false;

  constructor(
    private readonly api: ApiClient,
    private readonly health: HealthStore,
    /** Told what the server says about the open conversation, and whether that was made or changed here. */
    private readonly onConversation: (conversation: Conversation, how: "seen" | "created" | "changed") => void,
  ) {}

  get messages(): ShownMessage[] {
    return this.path.messages;
  }

  /** Where a conversation branches at all, its shown path has an alternative somewhere. */
  get branched(): boolean {
    return this.path.branched;
  }

  /**
   * Shows conversation `id`, or the empty page; an answer that is still being written is followed.
   * branch: a message whose branch is to be shown.
   */
  async open(id: string | null, branch: string | null = null): Promise<void> {
    const signal = this.leave();
    this.id = id;
    this.path.replace([]);
    this.title = null;
    this.settings = id === null ? NO_SETTINGS : null;
    this.problem = null;
    this.phase = id === null ? "idle" : "loading";
    // A branch that is gone leaves the one that was shown last.
    if (id !== null && branch !== null) await this.api.showBranch(id, branch, signal).catch(() => undefined);
    if (id !== null) await this.load(id, signal);
  }

  /** Looks again at what the server has, as another tab may have added to it. */
  async refresh(): Promise<void> {
    if (this.id === null || this.phase !== "idle" || this.messages.some((message) => message.unsent)) return;
    await this.load(this.id, this.following.signal);
  }

  /** Exchanges a message for one of its siblings, and what follows with it. Rejects like the API. */
  async show(siblingId: string): Promise<void> {
    await this.reshape((id, signal) => this.api.showBranch(id, siblingId, signal));
  }

  /** Hides a message with all that follows it; what the server shows instead is shown. Rejects like the API. */
  async remove(messageId: string): Promise<void> {
    await this.reshape(async () => this.onConversation(await this.api.deleteMessage(messageId), "changed"));
  }

  /** Takes that back; shown where the chat is still open, and rests. Rejects like the API. */
  async bringBack(messageId: string): Promise<void> {
    const conversation = await this.api.restoreMessage(messageId);
    this.onConversation(conversation, "changed");
    if (this.id === conversation.id) await this.refresh();
  }

  /** Makes a chat of its own of what leads to a message, and goes there. Rejects like the API. */
  async fork(messageId: string): Promise<void> {
    if (this.id !== null) this.onConversation(await this.api.forkConversation(this.id, messageId), "created");
  }

  /**
   * Shows a question at once and sends it when `before` has ended. Whether it arrived; if not, the message says why. So
   * for `edit` and `sendAgain`.
   */
  async send(content: string, before?: Promise<void>): Promise<boolean> {
    return this.ready && !this.busy && (await this.post(this.path.add("user", content, this.id), before));
  }

  /** Asks `content` beside a question that was sent. */
  async edit(question: ShownMessage, content: string): Promise<boolean> {
    if (this.busy) return false;
    this.path.cutBefore(question);
    const edited = this.path.add("user", content, this.id, question);
    edited.branches = true;
    return this.post(edited);
  }

  /** Sends a message again that, as far as the page knows, did not reach the server. */
  async sendAgain(message: ShownMessage): Promise<boolean> {
    if (this.busy) return false;
    this.path.discard(message.key);
    delete message.unsent;
    this.path.messages.push(message);
    return this.post(this.path.messages.at(-1)!);
  }

  discard(message: ShownMessage): void {
    this.path.discard(message.key);
  }

  /** Asks for another answer in place of `answer`. Rejects where it cannot be started; the old one is then back. */
  async retry(answer: ShownMessage): Promise<void> {
    if (this.busy) return;
    const before = this.path.cutBefore(answer);
    const fresh = this.path.add("assistant", "", this.id, answer);
    await this.orBack(before, fresh, (signal) => this.api.retryMessage(answer.id, fresh.id, signal));
  }

  /** Asks for the answer of the last question, which has none. Rejects where it cannot be started. */
  async answer(question: ShownMessage): Promise<void> {
    if (this.busy) return;
    const before = [...this.messages];
    const fresh = this.path.add("assistant", "", this.id);
    await this.orBack(before, fresh, (signal) => this.api.retryMessage(question.id, fresh.id, signal));
  }

  /** Lets an answer that was cut go on. Rejects where it cannot be started; the answer is then as it was. */
  async goOn(answer: ShownMessage): Promise<void> {
    if (this.busy) return;
    const before = this.messages.map((message) => (message.id === answer.id ? { ...message } : message));
    answer.status = "in_progress";
    await this.orBack(before, answer, (signal) => this.api.continueMessage(answer.id, signal));
  }

  /** Ends the running answer; the text so far stays. */
  async stop(): Promise<void> {
    if (this.phase === "waiting") return this.following.abort();
    this.stopAsked = true;
    if (this.runId === null) return;
    const message = await this.api.cancelRun(this.runId);
    const key = this.messages.find(({ id }) => id === message.id)?.key;
    if (key !== undefined) this.path.update(key, message);
  }

  async saveSettings(settings: ChatSettings): Promise<void> {
    const { id } = this;
    if (id !== null) this.onConversation(await this.api.changeConversation(id, settings), "changed");
    if (this.id === id) this.settings = settings;
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

  /** Lets the server change which messages are shown, and shows them. */
  private async reshape(change: (id: string, signal: AbortSignal) => Promise<unknown>): Promise<void> {
    if (this.id === null) return;
    const { id } = this;
    const signal = this.leave();
    this.phase = "loading";
    try {
      await change(id, signal);
    } catch (error) {
      if (!signal.aborted) this.phase = "idle";
      throw error;
    }
    await this.load(id, signal);
  }

  private async load(id: string, signal: AbortSignal): Promise<void> {
    try {
      const { messages, ...conversation } = await this.api.conversation(id, signal);
      signal.throwIfAborted();
      this.onConversation(conversation, "seen");
      this.title = conversation.title;
      this.settings = { system_prompt: conversation.system_prompt, params: conversation.params };
      this.path.replace(messages);
      this.problem = null;
      this.phase = "idle";
    } catch (error) {
      if (signal.aborted) return;
      this.phase = "idle";
      if (this.messages.length === 0) this.problem = describeError(error);
      return;
    }
    const last = this.messages.at(-1);
    if (last?.status === "in_progress" && last.run_id !== null) await this.follow(last.run_id, null, last.key, signal);
  }

  private async post(question: ShownMessage, before?: Promise<void>): Promise<boolean> {
    const { id, content, parent_id, branches } = question;
    const answer = this.path.add("assistant", "", this.id);
    const signal = this.leave();
    try {
      await this.run(answer, signal, async () => {
        await before;
        // Another conversation may be open by now.
        signal.throwIfAborted();
        this.id ??= await this.create(signal);
        return this.api.sendMessage(this.id, { id, content, ...(branches && { parent_id }) }, signal);
      });
      return true;
    } catch (error) {
      if (signal !== this.following.signal) return false;
      this.phase = "idle";
      this.path.discard(answer.key);
      question.unsent = signal.aborted ? { what: t().conversation.notSent, todo: "" } : describeError(error);
      return false;
    }
  }

  /** Starts a run that writes `answer`. Where it does not start, `before` is shown again and the reason thrown. */
  private async orBack(
    before: ShownMessage[],
    answer: ShownMessage,
    start: (signal: AbortSignal) => Promise<Response>,
  ): Promise<void> {
    const signal = this.leave();
    try {
      await this.run(answer, signal, () => start(signal));
    } catch (error) {
      if (signal !== this.following.signal) return;
      this.phase = "idle";
      this.path.restore(before);
      if (!signal.aborted) throw error;
    }
  }

  /** Starts a run as soon as the server is ready; its events go to `answer`. Rejects where it was not started. */
  private async run(answer: ShownMessage, signal: AbortSignal, start: () => Promise<Response>): Promise<void> {
    let response: Response | null = null;
    while (response === null) {
      this.phase = this.health.ready ? "sending" : "waiting";
      await this.health.whenReady(signal);
      this.phase = "sending";
      response = await start().catch((error: unknown) => this.unlessNotReady(error, signal));
    }
    const runId = response.headers.get("X-Run-Id");
    if (runId === null) throw new UnreachableError();
    void this.follow(runId, response, answer.key, signal);
  }

  /** Rethrows, unless the server is away, starting (again) or about to stop: then the same may be sent again. */
  private async unlessNotReady(error: unknown, signal: AbortSignal): Promise<null> {
    signal.throwIfAborted();
    await this.health.poll();
    const later = error instanceof UnreachableError || (error instanceof ApiError && error.status === 503);
    if (later && !this.health.ready) return null;
    throw error;
  }

  private async follow(runId: string, first: Response | null, key: string, signal: AbortSignal): Promise<void> {
    this.runId = runId;
    this.phase = "answering";
    if (this.stopAsked) void this.stop().catch(() => (this.stopAsked = false));
    const observer = {
      event: (event: RunEvent) => {
        this.path.take(event, key);
        if (event.kind === "run" && event.conversation) this.onConversation(event.conversation, "changed");
      },
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
      this.path.update(key, { status: "failed", error: { message: describeError(error).what, type: null, param: null, code: null } });
    }
  }

  /** The run's log is no longer there: the stored conversation has its end. */
  private async reread(signal: AbortSignal): Promise<void> {
    const { messages } = await this.api.conversation(this.id!, signal);
    this.path.replace(messages);
    const last = this.messages.at(-1);
    if (last?.status !== "in_progress") return;
    this.path.update(last.key, { status: "incomplete", finish_reason: "interrupted" });
  }

  private ended(): void {
    this.phase = "idle";
    this.runId = null;
    this.stopAsked = false;
    this.lost = false;
  }

  private async create(signal: AbortSignal): Promise<string> {
    const { system_prompt, params } = this.settings ?? NO_SETTINGS;
    const conversation = await this.api.createConversation({
      ...(system_prompt !== null && { system_prompt }),
      ...(params !== null && { params }),
    });
    signal.throwIfAborted();
    this.id = conversation.id;
    this.onConversation(conversation, "created");
    return conversation.id;
  }
}
