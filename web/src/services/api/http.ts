import { wholeCharacters } from "../whole_characters";
import { ApiError, UnreachableError } from "./errors";
import type { paths } from "./schema";

/**
 * Requests that are checked at compile time: paths, parameters and bodies have the types that are generated from
 * GET /openapi.json.
 */
export type Method = "get" | "post" | "put" | "patch" | "delete";

/** Paths with an operation of the method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, object> ? P : never;
}[keyof paths];

type Operation<M extends Method, P extends PathOf<M>> = paths[P][M];

/** Parameters and body of a request. text: a body that is JSON already, as a text or a file. */
export type Call<M extends Method, P extends PathOf<M>> = Options & In<Operation<M, P>> & Body<Operation<M, P>>;

/** Body of a successful response. */
export type ResponseBody<M extends Method, P extends PathOf<M>> =
  Operation<M, P> extends { responses: infer R } ? JsonOf<R[keyof R & (200 | 201 | 202)]> : never;

/** One event of a stream: its `event` and its parsed `data`. */
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
  ? { body: B; text?: never } | { text: string | Blob; body?: never }
  : { body?: never; text?: never; bytes?: Blob };

type JsonOf<R> = R extends { content: { "application/json": infer A } } ? A : never;

/** A call without its types. */
interface AnyCall extends Options {
  path?: unknown;
  query?: unknown;
  body?: unknown;
  text?: string | Blob;
  bytes?: Blob;
}

/** Send a request. Rejects with ApiError, UnreachableError or AbortError. */
export async function request(method: Method, path: string, call: AnyCall): Promise<Response> {
  const { headers = {}, signal, cache, text = call.body === undefined ? undefined : bodyOf(call.body) } = call;
  const init: RequestInit = { method: method.toUpperCase(), headers: { ...headers } };
  if (signal !== undefined) init.signal = signal;
  if (cache !== undefined) init.cache = cache;
  if (text !== undefined) {
    init.body = text;
    init.headers = { ...headers, "Content-Type": "application/json" };
  }
  if (call.bytes !== undefined) {
    init.body = call.bytes;
    init.headers = { ...headers, "Content-Type": "application/octet-stream" };
  }
  let response: Response;
  try {
    response = await fetch(addressOf(path, call), init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new UnreachableError(error);
  }
  if (!response.ok) throw await ApiError.from(response);
  return response;
}

/** Read JSON before returning. Null if that fails. */
export function readAtOnce(address: string): unknown {
  const request = new XMLHttpRequest();
  try {
    request.open("GET", address, false);
    request.send();
    return request.status === 200 ? JSON.parse(request.responseText) : null;
  } catch {
    return null;
  }
}

/** Write a body as JSON. The server refuses a body with half of a character, which a paste or a cut may leave. */
function bodyOf(body: unknown): string {
  return JSON.stringify(body, (_name, value: unknown) => (typeof value === "string" ? wholeCharacters(value) : value));
}

/** Return the address of `path`, with its parameters filled in. */
export function addressOf(path: string, { path: names, query }: Pick<AnyCall, "path" | "query">): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent((names as Record<string, string>)[name] ?? ""),
  );
  const search = new URLSearchParams(query as Record<string, string>).toString();
  return search === "" ? filled : `${filled}?${search}`;
}
