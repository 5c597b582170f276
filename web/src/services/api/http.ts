import { ApiError, UnreachableError } from "./errors";
import type { paths } from "./schema";

/**
 * The server's HTTP API as its own description has it: paths, parameters, bodies and answers are checked when the page
 * is compiled, against types that are made of GET /openapi.json.
 */
export type Method = "get" | "post" | "put" | "patch" | "delete";

/** Paths that take the method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, object> ? P : never;
}[keyof paths];

type Operation<M extends Method, P extends PathOf<M>> = paths[P][M];

/** What goes with a request. text: a body that is JSON already. */
export type Call<M extends Method, P extends PathOf<M>> = Options & In<Operation<M, P>> & Body<Operation<M, P>>;

/** What a request is answered with, if all went well. */
export type Answer<M extends Method, P extends PathOf<M>> =
  Operation<M, P> extends { responses: infer R } ? JsonOf<R[keyof R & (200 | 201 | 202)]> : never;

/** One event of a stream, as its `event` and its parsed `data`. */
export type EventOf<M extends Method, P extends PathOf<M>> =
  Operation<M, P> extends { responses: { 200: { content: { "text/event-stream": infer E } } } } ? E : never;

interface Options {
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  cache?: RequestCache;
}

type In<O> = (O extends { parameters: { path: infer T } } ? { path: T } : { path?: never }) & {
  query?: O extends { parameters: { query?: infer Q } } ? Q : never;
};

type Body<O> = O extends { requestBody: { content: { "application/json": infer B } } }
  ? { body: B; text?: never } | { text: string; body?: never }
  : { body?: never; text?: never };

type JsonOf<R> = R extends { content: { "application/json": infer A } } ? A : never;

/** Any call, as far as sending it goes. */
interface AnyCall extends Options {
  path?: unknown;
  query?: unknown;
  body?: unknown;
  text?: string;
}

/** Asks for what `method` and `path` name. Rejects with ApiError, UnreachableError or AbortError. */
export async function request(method: Method, path: string, call: AnyCall): Promise<Response> {
  const { headers = {}, signal, cache, text = call.body === undefined ? undefined : JSON.stringify(call.body) } = call;
  const init: RequestInit = { method: method.toUpperCase(), headers: { ...headers } };
  if (signal !== undefined) init.signal = signal;
  if (cache !== undefined) init.cache = cache;
  if (text !== undefined) {
    init.body = text;
    init.headers = { ...headers, "Content-Type": "application/json" };
  }
  let response: Response;
  try {
    response = await fetch(address(path, call), init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new UnreachableError(error);
  }
  if (!response.ok) throw await ApiError.from(response);
  return response;
}

/** Where `path` leads, with its names filled in. */
export function address(path: string, { path: names, query }: Pick<AnyCall, "path" | "query">): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent((names as Record<string, string>)[name] ?? ""),
  );
  const search = new URLSearchParams(query as Record<string, string>).toString();
  return search === "" ? filled : `${filled}?${search}`;
}
