/** Calls to the gateway. What it refuses is a `Problem`; a 401 asks for a token and then tries once more. */
import { access } from "./access.svelte";
import { reach } from "./reach.svelte";

export type Parameters = Record<string, string | number | boolean | string[] | null | undefined>;

export interface Call {
  query?: Parameters;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  idempotencyKey?: string;
  /** Ask for a token if there is need of one; the call fails if not. */
  ask?: boolean;
  /** Another token than the tab's, to try it. */
  token?: string;
}

/** What the gateway says when it refuses: RFC 9457, with a stable code and often a hint. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string | null = null,
    readonly members: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = "Problem";
  }
}

/** The gateway could not be reached at all. */
export const AWAY = "gateway_away";

export async function get<T>(path: string, query?: Parameters, call: Call = {}): Promise<T> {
  return json<T>("GET", path, { ...call, query });
}

export async function post<T>(path: string, body?: unknown, call: Call = {}): Promise<T> {
  return json<T>("POST", path, { ...call, body: body ?? {} });
}

export async function put<T>(path: string, body: unknown, call: Call = {}): Promise<T> {
  return json<T>("PUT", path, { ...call, body });
}

export async function patch<T>(path: string, body: unknown, call: Call = {}): Promise<T> {
  return json<T>("PATCH", path, { ...call, body });
}

export async function remove<T>(path: string, query?: Parameters, call: Call = {}): Promise<T> {
  return json<T>("DELETE", path, { ...call, query });
}

async function json<T>(method: string, path: string, call: Call): Promise<T> {
  const answer = await send(method, path, call);
  if (answer.status === 204) return undefined as T;
  return (await answer.json()) as T;
}

/** The answer itself, for bytes and streams. */
export async function send(method: string, path: string, call: Call = {}): Promise<Response> {
  for (let attempt = 0; ; attempt++) {
    const token = call.token ?? access.token;
    const answer = await once(method, path, call, token);
    if (answer.ok) return answer;
    const problem = await problemOf(answer);
    if (problem.status !== 401 || call.ask === false || attempt > 4) throw problem;
    await access.ask(token, problem.message);
  }
}

async function once(method: string, path: string, call: Call, token: string | null): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json", ...call.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (call.idempotencyKey) headers["Idempotency-Key"] = call.idempotencyKey;
  let body: BodyInit | undefined;
  if (call.body !== undefined) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(call.body);
  }
  try {
    const answer = await fetch(url(path, call.query), { method, headers, body, signal: call.signal, cache: "no-store" });
    reach.found();
    return answer;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    reach.lost();
    throw new Problem(0, AWAY, "The gateway cannot be reached.", "The page tries again as soon as it answers.");
  }
}

/** A path with its query; what is empty is left out, lists repeat their name. */
export function url(path: string, query: Parameters = {}): string {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) found.append(name, String(each));
  }
  const search = found.toString();
  return search ? `${path}?${search}` : path;
}

/** One segment of a path. */
export const segment = encodeURIComponent;

async function problemOf(answer: Response): Promise<Problem> {
  try {
    const found = (await answer.json()) as Record<string, unknown>;
    const said = typeof found.detail === "string" ? found.detail : answer.statusText;
    return new Problem(
      answer.status,
      typeof found.code === "string" ? found.code : `http_${answer.status}`,
      said,
      typeof found.hint === "string" ? found.hint : null,
      found,
    );
  } catch {
    return new Problem(answer.status, `http_${answer.status}`, answer.statusText || `The answer was ${answer.status}.`);
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** What to tell a person about an error. */
export function told(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(0, "page_error", error instanceof Error ? error.message : String(error));
}

/** A key for one message or change, so that sending it again changes nothing. */
export function newKey(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  return [...crypto.getRandomValues(new Uint8Array(16))].map((each) => each.toString(16).padStart(2, "0")).join("");
}
