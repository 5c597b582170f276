import { t } from "../../i18n/language.svelte";
import type { ErrorBody } from "./types";

/** The server could not be reached, or the connection broke. */
export class UnreachableError extends Error {
  constructor(cause?: unknown) {
    super(t().errors.unreachable, { cause });
    this.name = "UnreachableError";
  }
}

/** What an error says; who answers instead of the server, as a proxy does, may say no more than a message. */
export type Refusal = Pick<ErrorBody, "message"> & Partial<ErrorBody>;

/** The server answered with an error. */
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

  /** The same request may succeed a little later. */
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

/** What happened and what to do, as words for the page. */
export interface Problem {
  what: string;
  todo: string;
}

export function describe(error: unknown): Problem {
  if (error instanceof UnreachableError) {
    return { what: error.message, todo: t().errors.seeRunning };
  }
  if (error instanceof ApiError && error.status === 404) return { what: t().errors.missing, todo: t().errors.gone };
  if (error instanceof ApiError) return { what: said(error.status, error.code, error.message), todo: advice(error.status, error.code) };
  return { what: t().errors.page, todo: t().errors.reload };
}

/** The problem of a message that the server stored as failed. */
export function describeFailure(error: ErrorBody | null): Problem {
  const { code = null, message = t().errors.unfinished } = error ?? {};
  return { what: said(null, code, message), todo: advice(500, code) };
}

/** In the page's language, as far as it has words for that; the server speaks English. */
function said(status: number | null, code: string | null, message: string): string {
  return t().errors.refused(code ?? String(status)) ?? sentence(message);
}

function advice(status: number, code: string | null): string {
  if (code === "context_length_exceeded") return t().errors.tooLong;
  if (status === 401 || status === 403) return t().errors.signIn;
  if (status === 429 || status === 503) return t().errors.wait;
  if (status >= 500) return t().errors.twice;
  return t().errors.change;
}

function sentence(text: string): string {
  return /[.!?。！？]$/.test(text) ? text : `${text}.`;
}
