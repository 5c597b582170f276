import type { ApiClient } from "../services/api/client";
import { describeError, UnreachableError, type Problem } from "../services/api/errors";
import { followRun, type RunEvent } from "../services/api/run_stream";
import type { AnswerParams } from "../services/api/types";
import { MessagePath, type ShownMessage } from "./message_path.svelte";

export const MIN_COLUMNS = 2;
export const MAX_COLUMNS = 4;

/** What one of the answers differs in. model: null for the only one. */
export interface Wanted {
  params: AnswerParams;
  model: string | null;
}

/** One of the compared answers. */
export class ComparedAnswer {
  /** Reason why the answer did not start, or cannot be followed. */
  problem = $state<Problem | null>(null);
  private readonly path = new MessagePath();
  private readonly key: string;
  private runId: string | null = null;
  private stopRequested = false;

  constructor(
    private readonly api: ApiClient,
    conversationId: string,
    readonly wanted: Wanted,
  ) {
    this.key = this.path.add("assistant", "", conversationId).key;
    this.path.update(this.key, { model: wanted.model });
  }

  get message(): ShownMessage {
    return this.path.messages[0]!;
  }

  /** Whether the answer is still being written. */
  get writing(): boolean {
    return this.problem === null && this.message.status === "in_progress";
  }

  /** Answer a question, and follow the answer until `signal`. */
  async run(questionId: string, signal: AbortSignal): Promise<void> {
    try {
      const { params, model } = this.wanted;
      const wanted = { params, ...(model !== null && { model }) };
      const response = await this.api.retryMessage(questionId, this.message.id, signal, wanted);
      this.runId = response.headers.get("X-Run-Id");
      if (this.runId === null) throw new UnreachableError();
      if (this.stopRequested) void this.stop().catch(() => undefined);
      const observer = {
        event: (event: RunEvent) => this.path.apply(event, this.key),
        connected: () => undefined,
        lost: () => undefined,
      };
      await followRun(this.api, this.runId, response, observer, signal);
    } catch (error) {
      if (!signal.aborted) this.problem = describeError(error);
    }
  }

  /** Stop the answer and keep its text. Rejects like the API. */
  async stop(): Promise<void> {
    this.stopRequested = true;
    if (this.runId === null || !this.writing) return;
    this.path.update(this.key, await this.api.cancelRun(this.runId));
  }
}

/**
 * Several answers to one question, each with its own settings or its own model, written at the same time. They are versions of
 * the answer like any others. The server computes a prompt that they share once.
 */
export class Comparison {
  answers = $state.raw<readonly ComparedAnswer[]>([]);
  readonly writing = $derived(this.answers.some(({ writing }) => writing));
  private readonly following = new AbortController();

  constructor(
    private readonly api: ApiClient,
    private readonly conversationId: string,
    private readonly questionId: string,
  ) {}

  /** Start all answers. */
  async start(wanted: readonly Wanted[]): Promise<void> {
    this.answers = wanted.map((each) => new ComparedAnswer(this.api, this.conversationId, each));
    await Promise.all(this.answers.map((answer) => answer.run(this.questionId, this.following.signal)));
  }

  /** Stop all answers and keep their texts. Rejects like the API. */
  async stop(): Promise<void> {
    await Promise.all(this.answers.map((answer) => answer.stop()));
  }

  /** Follow the answers no longer. They continue on the server. */
  leave(): void {
    this.following.abort();
  }
}
