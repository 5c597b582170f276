import { t } from "../../i18n/language.svelte";
import type { ErrorBody } from "./types";

/** A server that could not be reached, or a connection that broke. */
export class UnreachableError extends Error {
  constructor(cause?: unknown) {
    super(t().errors.unreachable, { cause });
    this.name = "UnreachableError";
  }
}

/** Body of an error. A proxy that answers for the server may send no more than a message. */
export type Refusal = Pick<ErrorBody, "message"> & Partial<ErrorBody>;

/** An error response of the server. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string | null;
  readonly param: string | null;

  constructor(status: number, body: Refusal) {
    super(body.message);
    this.name = "ApiError";
    this.status = status;
    this.code = body.code ?? null;
    this.param = body.param ?? null;
  }

  /** Whether the same request may succeed later. */
  get transient(): boolean {
    return this.status === 429 || this.status >= 500;
  }

  static async from(response: Response): Promise<ApiError> {
    const body: unknown = await response.json().catch(() => null);
    if (typeof body === "object" && body !== null && "error" in body) {
      return new ApiError(response.status, body.error as Refusal);
    }
    return new ApiError(response.status, { message: t().errors.status(response.status) });
  }
}

/** Texts for the page: what happened, and what to do next; empty if there is nothing to do. */
export interface Problem {
  what: string;
  todo: string;
}

/** Codes of refusals that another login may lift. Any other 403 stays the same after it. */
const LIFTED_BY_LOGIN: readonly (string | null)[] = ["admin_scope_required", "password_required", "person_required"];

/** Codes of refusals whose texts name the remedy, or make it plain, in every language. */
const WITH_REMEDY: readonly (string | null)[] = [
  "deleted_with_another",
  "not_resumed",
  "prompt_changed",
  "question_unanswered",
  "search_too_slow",
  "storage_full",
  "too_many_files",
  "too_many_keys",
  "too_many_shares",
];

/** Return the texts for an error. */
export function describeError(error: unknown): Problem {
  if (error instanceof UnreachableError) {
    return { what: error.message, todo: t().errors.seeRunning };
  }
  if (error instanceof ApiError && error.status === 404) return { what: t().errors.missing, todo: t().errors.gone };
  if (error instanceof ApiError) return { what: textOf(error.status, error.code, error.message), todo: advice(error.status, error.code) };
  return { what: t().errors.page, todo: t().errors.reload };
}

/** Return the texts for a message that the server stored as failed. */
export function describeFailure(error: ErrorBody | null): Problem {
  const { code = null, message } = error ?? {};
  const what = message === undefined ? t().errors.unfinished : textOf(500, code, message);
  return { what, todo: advice(500, code) };
}

/** Return the text of a server error in the page's language. */
function textOf(status: number, code: string | null, message: string): string {
  return t().errors.refused(sentence(message), code ?? String(status));
}

function advice(status: number, code: string | null): string {
  if (code === "context_length_exceeded") return t().errors.tooLong;
  if (status === 401 || LIFTED_BY_LOGIN.includes(code)) return t().errors.signIn;
  if (status === 403 || WITH_REMEDY.includes(code)) return "";
  if (code === "conversations_limit" || code === "stored_bytes_limit") return t().errors.makeRoom;
  if (status === 429 || status === 503) return t().errors.wait;
  if (status >= 500) return t().errors.twice;
  return t().errors.change;
}

/** End a text with a full stop. */
function sentence(text: string): string {
  return /[.!?。！？]$/.test(text) ? text : `${text}.`;
}
