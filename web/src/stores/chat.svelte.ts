import { untrack } from "svelte";
import { SvelteMap } from "svelte/reactivity";

import { t } from "../i18n/language.svelte";
import type { ApiClient } from "../services/api/client";
import { ApiError, describeError, UnreachableError, type Problem } from "../services/api/errors";
import { followRun, type RunEvent } from "../services/api/run_stream";
import type { ChatSettings, Conversation, ModelProgress, Rating, Retry } from "../services/api/types";
import { newMessageId } from "../services/chat/ids";
import { ChatPages } from "./chat_pages.svelte";
import type { HealthStore } from "./health.svelte";
import { MessagePath, type ShownMessage } from "./message_path.svelte";
import { NewChats } from "./new_chats";
import { Ratings } from "./ratings";
import type { Router } from "./router.svelte";

/**
 * State of the open conversation:
 * idle -> waiting (the server or its model is not ready) -> sending -> answering -> idle; loading while the conversation opens.
 */
export type Phase = "idle" | "loading" | "waiting" | "sending" | "answering";

/** What happens around the sending of a question. */
export interface Sending {
  /** Resolves when the question may be sent. */
  before?: Promise<void>;
  /** Called with the id of the conversation that is created for the question. */
  onCreated?: (id: string) => void;
  /** What the model is not to see from this question on. Without it, as before. */
  beginning?: Beginning;
}

/** The messages at the beginning of a chat that the model does not see: their number, and a text in their place. */
export interface Beginning {
  leftOut: number;
  summary: string | null;
}

/** The model that answers next. name: null on a server with one model, which is always ready. */
export interface ChosenModel {
  readonly name: string | null;
  /** Wait until a model is in memory. Rejects with the reason why it cannot be loaded, and after `signal`. */
  prepare(name: string, signal: AbortSignal, onstep: (progress: ModelProgress) => void): Promise<void>;
}

const ONLY_MODEL: ChosenModel = { name: null, prepare: () => Promise.resolve() };

/** Most answers that the server merges. */
export const MAX_MERGED = 8;

export const NO_SETTINGS: ChatSettings = { system_prompt: null, params: null };

/** The open conversation and its running answer. At most one run is followed at a time. */
export class Chat {
  id = $state<string | null>(null);
  /** Title on the server when the conversation was opened; null without one. */
  title = $state<string | null>(null);
  /** Null until the server has sent them. */
  settings = $state.raw<ChatSettings | null>(NO_SETTINGS);
  /** The folder of a chat that is begun now. */
  private folderId: string | null = null;
  /** Whether the chat is in no list and is deleted a day after its last message. */
  temporary = $state(false);
  phase = $state<Phase>("idle");
  /** The step of the load that a message waits for; null without one. */
  loading = $state.raw<ModelProgress | null>(null);
  /** Whether the running answer's connection broke and is being opened again. */
  lost = $state(false);
  /** Reason why the conversation could not be opened. */
  problem = $state<Problem | null>(null);
  readonly busy = $derived(this.phase === "waiting" || this.phase === "sending" || this.phase === "answering");
  /** Whether the messages are here, so that another one can be sent. */
  readonly ready = $derived(this.phase !== "loading" && this.problem === null);
  /** Whether the settings can be changed: not while they are unknown, and not while the conversation is being created. */
  readonly hasSettings = $derived(this.settings !== null && (this.id !== null || !this.busy));

  /** Texts of the messages that are being edited, by their keys. They outlast the drawing of a message. */
  readonly edits = new SvelteMap<string, string>();
  /** The messages that are loaded, and the way to the others. */
  readonly pages: ChatPages;
  private readonly path = new MessagePath();
  private following = new AbortController();
  private runId: string | null = null;
  private stopRequested = false;
  /** Settings of new chats. */
  private initial = NO_SETTINGS;
  private readonly ratings: Ratings;
  private readonly newChats: NewChats;
  /** Version of the conversation whose messages are shown; null if an answer was still being written, or none are. */
  private version: number | null = null;
  /** Number of changes to the conversation itself that the server has confirmed. */
  private confirmed = 0;

  constructor(
    private readonly api: ApiClient,
    private readonly health: HealthStore,
    /** Called with the server's state of the open conversation, and whether it was created or changed here. */
    private readonly onConversation: (conversation: Conversation, how: "seen" | "created" | "changed") => void,
    private readonly model: ChosenModel = ONLY_MODEL,
  ) {
    this.ratings = new Ratings(api);
    this.pages = new ChatPages(api, this.path, this.ratings, this);
    this.newChats = new NewChats(api);
  }

  /** The loaded messages of the shown path, up to its end. */
  get messages(): ShownMessage[] {
    return this.path.messages;
  }

  /** Whether the conversation branches. Then the shown path has an alternative somewhere. */
  get branched(): boolean {
    return this.path.branched;
  }

  /**
   * Open the conversation and the branch in the address, now and after each navigation. Return the function that
   * stops this.
   */
  followRouter(router: Router): () => void {
    return $effect.root(() => {
      $effect(() => {
        const { conversationId: id, scrollTarget: at } = router;
        untrack(() => {
          if (id !== this.id || (id === null && this.messages.length > 0)) void this.open(id, at);
          else if (at !== null && !this.messages.some((message) => message.id === at)) void this.goTo(id, at);
        });
      });
    });
  }

  /** Show a message of the open conversation that is not loaded. */
  private async goTo(id: string | null, at: string): Promise<void> {
    // Without branches, it is on the path.
    if (this.ready && !this.branched) await this.pages.reach(at).catch(() => this.open(id, at));
    else await this.open(id, at);
  }

  /**
   * Call `listener` with the conversation's id when an answer ends, and when the conversation is left during an answer.
   * Return the function that stops this.
   */
  onAnswerEnd(listener: (id: string) => void): () => void {
    return $effect.root(() => {
      $effect(() => {
        const { id } = this;
        if (id === null || this.phase !== "answering") return;
        return () => untrack(() => listener(id));
      });
    });
  }

  /**
   * Open conversation `id`, or the empty page, and follow an answer that is being written.
   * branch: the message whose branch is to be shown.
   */
  async open(id: string | null, branch: string | null = null): Promise<void> {
    const signal = this.leave();
    this.id = id;
    this.path.replace([]);
    this.pages.around = null;
    this.edits.clear();
    this.title = null;
    this.version = null;
    this.temporary = false;
    this.settings = id === null ? this.initial : null;
    this.problem = null;
    this.phase = id === null ? "idle" : "loading";
    // If the branch is gone, the one that was shown last stays.
    if (id !== null && branch !== null) await this.api.showBranch(id, branch, signal).catch(() => undefined);
    if (id !== null) await this.load(id, signal, branch ?? undefined);
  }

  /**
   * Reread the conversation, which another tab may have changed.
   * listed: the conversation as the server lists it now. Messages that were read at its version are not read again.
   * near: a message of which the surroundings are loaded too.
   */
  async refresh(listed?: Conversation, near?: string): Promise<void> {
    if (this.id === null || this.phase !== "idle" || this.messages.some((message) => message.unsent)) return;
    const known = this.problem === null && listed?.id === this.id && listed.version === this.version;
    if (known && listed.head_id === (this.messages.at(-1)?.id ?? null)) return;
    await this.load(this.id, this.following.signal, near);
  }

  /** Switch to the branch of a sibling. Rejects like the API, also if the chat is left before the branch is shown. */
  async show(siblingId: string): Promise<void> {
    const signal = await this.reshape((id, signal) => this.api.showBranch(id, siblingId, signal), siblingId);
    signal?.throwIfAborted();
  }

  /**
   * Delete a message and everything after it, and show the branch that the server chooses. Return the function that
   * restores them. Both reject like the API.
   */
  async remove(messageId: string): Promise<() => Promise<void>> {
    const near = this.messages.find(({ id }) => id === messageId)?.parent_id ?? undefined;
    await this.reshape(async () => this.onConversation(await this.api.deleteMessage(messageId), "changed"), near);
    return () => this.restore(messageId);
  }

  /**
   * Delete the question of a message with its answers alone: copies of the messages that follow are shown. Return the
   * function that restores the turn, and drops the copies unless the chat has changed. Both reject like the API.
   */
  async removeTurn({ key }: ShownMessage): Promise<() => Promise<void>> {
    const place = () => this.messages.findIndex((message) => message.key === key);
    if (place() === 0) await this.pages.readEarlier();
    const shown = place();
    const at = this.messages[shown]!.role === "assistant" && this.messages[shown - 1]?.role === "user" ? shown - 1 : shown;
    const { id, parent_id } = this.messages[at]!;
    await this.reshape(async () => this.onConversation(await this.api.deleteMessage(id, true), "changed"), parent_id);
    const [first, last] = [this.messages.find((message) => message.parent_id === parent_id)?.id, this.messages.at(-1)?.id];
    return async () => {
      const changed = this.messages.at(-1)?.id !== last;
      await this.restore(id);
      if (first !== undefined && !changed) this.onConversation(await this.api.eraseMessage(first), "changed");
      await this.refresh();
    };
  }

  /** Restore a deleted message, and show it if the chat is still open and idle. Rejects like the API. */
  async restore(messageId: string): Promise<void> {
    const conversation = await this.api.restoreMessage(messageId);
    this.onConversation(conversation, "changed");
    if (this.id === conversation.id) await this.refresh(undefined, messageId);
  }

  /** Copy the messages up to one into a new conversation, open that, and return its id. Rejects like the API. */
  async fork(messageId: string): Promise<string> {
    const copy = await this.api.forkConversation(this.id!, messageId);
    this.onConversation(copy, "created");
    return copy.id;
  }

  /**
   * Show a question at once, and send it. Resolves with whether the question arrived, even if the chat was left in the
   * meantime; otherwise the message holds the reason. The same holds for `edit` and `sendAgain`.
   */
  async send(content: string, sending: Sending = {}): Promise<boolean> {
    if (!this.ready || this.busy) return false;
    const question = this.path.add("user", content, this.id);
    question.left_out = sending.beginning?.leftOut ?? null;
    question.summary = sending.beginning?.summary ?? null;
    return this.post(question, sending);
  }

  /** Send `content` as an alternative to a question. */
  async edit(question: ShownMessage, content: string): Promise<boolean> {
    if (this.busy) return false;
    this.path.cutBefore(question);
    const edited = this.path.add("user", content, this.id, question);
    edited.branches = true;
    return this.post(edited);
  }

  /** Resend a message that did not reach the server, as far as the page knows, or that was refused. */
  async sendAgain(message: ShownMessage, sending: Sending = {}): Promise<boolean> {
    if (this.busy) return false;
    this.path.discard(message.key);
    delete message.unsent;
    message.left_out = sending.beginning?.leftOut ?? message.left_out;
    message.summary = sending.beginning?.summary ?? message.summary;
    this.path.messages.push(message);
    return this.post(this.path.messages.at(-1)!, sending);
  }

  discard(message: ShownMessage): void {
    this.path.discard(message.key);
  }

  /**
   * Regenerate an answer. Rejects if the run does not start; the old answer is then shown again.
   */
  async retry(answer: ShownMessage, wanted: Retry = {}): Promise<void> {
    if (this.busy) return;
    const before = this.path.cutBefore(answer);
    const next = this.path.add("assistant", "", this.id, answer);
    await this.runOrRestore(before, next, (signal, model) => this.api.retryMessage(answer.id, next.id, signal, { ...model, ...wanted }));
  }

  /** Store `content` as an edited version of an answer, and show it. Rejects like the API. */
  async editAnswer(answer: ShownMessage, content: string): Promise<void> {
    const id = newMessageId();
    await this.reshape(async () => this.onConversation(await this.api.editAnswer(answer.id, id, content), "changed"), id);
  }

  /** Rate an answer, and show the rating at once; null removes it. Rejects like the API, and shows the old rating again then. */
  async rate(answer: ShownMessage, rating: Rating | null, note: string | null = null): Promise<void> {
    const { key, conversation_id: id, rating: oldRating, rating_note: oldNote } = answer;
    this.path.update(key, { rating, rating_note: note });
    try {
      this.onConversation(await this.ratings.send(id, answer.id, rating, note), "changed");
    } catch (error) {
      const shown = this.messages.find((message) => message.key === key);
      // Another rating, given since, is still to arrive.
      const replaced = shown?.rating !== rating || shown.rating_note !== note;
      if (!replaced) this.path.update(key, { rating: oldRating, rating_note: oldNote });
      throw error;
    }
  }

  /** Generate the answer of the last question, which has none. Rejects if the run does not start. */
  async answer(question: ShownMessage): Promise<void> {
    if (this.busy) return;
    const before = [...this.messages];
    const next = this.path.add("assistant", "", this.id);
    await this.runOrRestore(before, next, (signal, model) => this.api.retryMessage(question.id, next.id, signal, model));
  }

  /** Continue an incomplete answer. Rejects if the run does not start; the answer is then unchanged. */
  async continue(answer: ShownMessage): Promise<void> {
    if (this.busy) return;
    const before = this.messages.map((message) => (message.id === answer.id ? { ...message } : message));
    answer.status = "in_progress";
    await this.runOrRestore(before, answer, (signal) => this.api.continueMessage(answer.id, signal));
  }

  /** Stop the running answer and keep its text. */
  async stop(): Promise<void> {
    if (this.phase === "waiting") return this.following.abort();
    this.stopRequested = true;
    if (this.runId === null) return;
    const message = await this.api.cancelRun(this.runId);
    const key = this.messages.find(({ id }) => id === message.id)?.key;
    if (key !== undefined) this.path.update(key, message);
  }

  /** Begin new chats in this folder with these settings, also the one on the empty page, unless its settings were changed. */
  startWith(settings: ChatSettings, folderId: string | null = null): void {
    this.folderId = folderId;
    const changed = this.id !== null || this.busy || this.settings !== this.initial;
    this.initial = settings;
    if (!changed) this.settings = settings;
  }

  async saveSettings(settings: ChatSettings): Promise<void> {
    const { id } = this;
    if (id !== null) this.onConversation(await this.api.changeConversation(id, settings), "changed");
    this.confirmed++;
    if (this.id === id) this.settings = settings;
  }

  /** Keep a temporary chat like the others. Rejects like the API. */
  async keep(): Promise<void> {
    const { id } = this;
    if (id === null) return;
    this.onConversation(await this.api.changeConversation(id, { temporary: false }), "changed");
    this.confirmed++;
    if (this.id === id) this.temporary = false;
  }

  /** Stop following the run, which continues on the server. Return the abort signal for the next requests. */
  leave(): AbortSignal {
    this.following.abort();
    this.following = new AbortController();
    this.runId = null;
    this.stopRequested = false;
    this.lost = false;
    this.loading = null;
    return this.following.signal;
  }

  /**
   * Have the server change the shown path, and reload it, with the surroundings of the message `near`; null: of the first one.
   * Return the abort signal of the requests; null without a chat.
   */
  private async reshape(
    change: (id: string, signal: AbortSignal) => Promise<unknown>,
    near?: string | null,
  ): Promise<AbortSignal | null> {
    if (this.id === null) return null;
    const { id } = this;
    const signal = this.leave();
    this.phase = "loading";
    try {
      await change(id, signal);
    } catch (error) {
      if (!signal.aborted) this.phase = "idle";
      throw error;
    }
    await this.load(id, signal, near);
    return signal;
  }

  private async load(id: string, signal: AbortSignal, near?: string | null): Promise<void> {
    try {
      const { conversation, messages, show } = await this.readEnd(id, near, signal);
      this.onConversation(conversation, "seen");
      this.title = conversation.title;
      this.temporary = conversation.temporary;
      this.settings = { system_prompt: conversation.system_prompt, params: conversation.params };
      show();
      this.version = messages.some(({ status }) => status === "in_progress") ? null : conversation.version;
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

  /** Read the end of the conversation. A reading that a change has overtaken would undo the change here, so it is made again. */
  private async readEnd(id: string, near: string | null | undefined, signal: AbortSignal): ReturnType<ChatPages["readEnd"]> {
    const confirmed = this.confirmed;
    const read = await this.pages.readEnd(id, near, signal);
    return confirmed === this.confirmed ? read : this.readEnd(id, near, signal);
  }

  private async post(question: ShownMessage, { before, onCreated }: Sending = {}): Promise<boolean> {
    const { id, content, parent_id, branches, left_out, summary } = question;
    const answer = this.path.add("assistant", "", this.id);
    const signal = this.leave();
    let chatId = this.id;
    try {
      await this.run(answer, signal, async (model) => {
        await before;
        chatId ??= await this.create(question, signal, onCreated);
        const given = { ...model, id, content, ...(branches && { parent_id }), ...(left_out !== null && { left_out }), ...(summary !== null && { summary }) };
        return this.api.sendMessage(chatId, given, new AbortController().signal);
      });
      // The person left while the question was on its way, and returned before it arrived.
      if (signal.aborted && this.id === chatId) void this.refresh();
      return true;
    } catch (error) {
      if (signal !== this.following.signal) return false;
      this.phase = "idle";
      this.path.discard(answer.key);
      question.unsent = signal.aborted ? { what: t().conversation.notSent, todo: "" } : describeError(error);
      question.tooLong = error instanceof ApiError && error.code === "context_length_exceeded";
      return false;
    }
  }

  /** Start a run that writes `answer`. If the run does not start, show `before` again and throw the reason. */
  private async runOrRestore(
    before: ShownMessage[],
    answer: ShownMessage,
    start: (signal: AbortSignal, model: { model?: string }) => Promise<Response>,
  ): Promise<void> {
    const signal = this.leave();
    try {
      await this.run(answer, signal, (model) => start(signal, model));
    } catch (error) {
      if (signal !== this.following.signal) return;
      this.phase = "idle";
      this.path.restore(before);
      if (!signal.aborted) throw error;
    }
  }

  /**
   * Start a run as soon as the server and the model are ready, and apply its events to `answer`, unless the chat was left by
   * then. Rejects if the run does not start.
   */
  private async run(answer: ShownMessage, signal: AbortSignal, start: (model: { model?: string }) => Promise<Response>): Promise<void> {
    let response: Response | null = null;
    // A continued answer keeps its model.
    const name = this.model.name === null ? null : (answer.model ?? this.model.name);
    if (name !== null) this.path.update(answer.key, { model: name });
    const begin = async () => {
      if (name !== null) await this.prepare(name, signal);
      if (!signal.aborted) this.phase = "sending";
      return start(name === null ? {} : { model: name });
    };
    while (response === null) {
      this.phase = this.health.ready ? "sending" : "waiting";
      await this.health.whenReady(signal);
      response = await begin().catch((error: unknown) => this.health.rethrowIfReady(error, signal));
    }
    const runId = response.headers.get("X-Run-Id");
    if (runId === null) throw new UnreachableError();
    if (signal.aborted) return void response.body?.cancel().catch(() => undefined);
    void this.follow(runId, response, answer.key, signal);
  }

  /** Wait until a model is in memory, and show what it does until then. */
  private async prepare(name: string, signal: AbortSignal): Promise<void> {
    try {
      await this.model.prepare(name, signal, (progress) => {
        if (signal.aborted || progress.state === "loaded") return;
        this.phase = "waiting";
        this.loading = progress;
      });
    } finally {
      if (!signal.aborted) this.loading = null;
    }
  }

  private async follow(runId: string, first: Response | null, key: string, signal: AbortSignal): Promise<void> {
    this.runId = runId;
    this.phase = "answering";
    if (this.stopRequested) void this.stop().catch(() => (this.stopRequested = false));
    const observer = {
      event: (event: RunEvent) => {
        this.path.apply(event, key);
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
      this.onRunEnd();
      if (end === "gone") await this.loadEnd(signal);
    } catch (error) {
      if (signal.aborted) return;
      this.onRunEnd();
      this.path.update(key, { status: "failed", error: { message: describeError(error).what, type: null, param: null, code: null } });
    }
  }

  /** Read the end of an answer from the stored conversation, after the run's events are gone. */
  private async loadEnd(signal: AbortSignal): Promise<void> {
    (await this.pages.readEnd(this.id!, undefined, signal)).show();
    const last = this.messages.at(-1);
    if (last?.status !== "in_progress") return;
    this.path.update(last.key, { status: "incomplete", finish_reason: "interrupted" });
  }

  private onRunEnd(): void {
    this.phase = "idle";
    this.runId = null;
    this.stopRequested = false;
    this.lost = false;
  }

  private async create(question: ShownMessage, signal: AbortSignal, onCreated?: (id: string) => void): Promise<string> {
    const { folderId, temporary } = this;
    const conversation = await this.newChats.create({ question, settings: this.settings ?? NO_SETTINGS, folderId, temporary });
    onCreated?.(conversation.id);
    if (!signal.aborted) this.id = conversation.id;
    this.onConversation(conversation, signal.aborted ? "changed" : "created");
    return conversation.id;
  }
}
