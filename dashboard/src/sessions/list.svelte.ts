/** The list of sessions: pages by cursor, newest first, and what the feed changes in rows that are here. */
import type { LogEvent, SessionList, SessionRow, Summary } from "../api/types";
import { get, isAbort, type Parameters } from "../lib/api";
import type { FeedMessage } from "../lib/feed.svelte";
import { words } from "../session/entries";
import { cut } from "../lib/words";

const PAGE = 100;
const LATER = 400;

export class Sessions {
  rows = $state.raw<SessionRow[]>([]);
  loaded = $state(false);
  loading = $state(false);
  failed = $state.raw<unknown>(null);
  complete = $state(false);

  #cursor: string | null = null;
  #filters: Parameters = {};
  #abort = new AbortController();
  #known = new Map<string, number>();
  #changed = new Map<string, FeedMessage[]>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Somebody wanted it read again while it was read for the first time. */
  #again = false;

  /** Read the first page of what fits. */
  async open(filters: Parameters): Promise<void> {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#filters = filters;
    this.failed = null;
    this.loading = true;
    try {
      const page = await this.#read(null);
      this.#set(page.sessions);
      this.#after(page);
      this.loaded = true;
    } catch (error) {
      if (isAbort(error)) return;
      this.failed = error;
    }
    this.loading = false;
    if (this.#again && this.loaded) {
      this.#again = false;
      void this.refresh();
    }
  }

  async more(): Promise<void> {
    if (this.loading || !this.loaded || this.complete) return;
    this.loading = true;
    try {
      const page = await this.#read(this.#cursor);
      this.#set([...this.rows, ...page.sessions.filter((row) => !this.#known.has(row.sessionId))]);
      this.#after(page);
    } catch (error) {
      if (!isAbort(error)) this.failed = error;
    }
    this.loading = false;
  }

  /** Sessions that came since: the first page again, above what is here. */
  async refresh(): Promise<void> {
    if (!this.loaded) {
      this.#again = true;
      return;
    }
    try {
      const page = await this.#read(null);
      const found = new Map(page.sessions.map((row) => [row.sessionId, row]));
      const kept = this.rows.map((row) => found.get(row.sessionId) ?? row);
      this.#set([...page.sessions.filter((row) => !this.#known.has(row.sessionId)), ...kept]);
    } catch (error) {
      if (!isAbort(error) && !this.loaded) this.failed = error;
    }
  }

  receive(message: FeedMessage): void {
    const waiting = this.#changed.get(message.sessionId);
    if (waiting) waiting.push(message);
    else this.#changed.set(message.sessionId, [message]);
    this.#timer ??= setTimeout(() => this.#apply(), LATER);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
  }

  change(sessionId: string, changes: Partial<SessionRow>): void {
    this.rows = this.rows.map((row) => (row.sessionId === sessionId ? { ...row, ...changes } : row));
  }

  without(ids: Set<string>): void {
    this.#set(this.rows.filter((row) => !ids.has(row.sessionId)));
  }

  #apply(): void {
    this.#timer = undefined;
    if (!this.loaded) {
      this.#timer = setTimeout(() => this.#apply(), LATER);
      return;
    }
    const changed = this.#changed;
    this.#changed = new Map();
    let fresh = false;
    const gone = new Set<string>();
    const rows = [...this.rows];
    for (const [sessionId, messages] of changed) {
      const at = this.#known.get(sessionId);
      if (messages.at(-1)?.type === "session_deleted") gone.add(sessionId);
      else if (at === undefined) fresh ||= messages.some((each) => each.seq === 1 || each.type === "session_restored");
      else rows[at] = messages.reduce(withMessage, rows[at]!);
    }
    this.#set(gone.size ? rows.filter((row) => !gone.has(row.sessionId)) : rows);
    if (fresh) void this.refresh();
  }

  #set(rows: SessionRow[]): void {
    this.rows = rows;
    this.#known = new Map(rows.map((row, at) => [row.sessionId, at]));
  }

  #after(page: SessionList): void {
    this.#cursor = page.cursor;
    this.complete = page.cursor === null;
  }

  #read(cursor: string | null): Promise<SessionList> {
    const query = { ...this.#filters, summaries: true, limit: PAGE, cursor };
    return get<SessionList>("/api/sessions", query, { signal: this.#abort.signal });
  }
}

/** A row as it is after one more event. */
function withMessage(row: SessionRow, message: FeedMessage): SessionRow {
  if (message.seq <= row.headSeq) return row;
  const data = (message.data ?? {}) as Record<string, unknown>;
  const next: SessionRow = { ...row, headSeq: message.seq, updatedAt: message.timestamp };
  switch (message.type) {
    case "session_finalized":
      return { ...next, status: String(data.status) };
    case "hold_changed":
      return { ...next, held: data.held === true };
    case "tags_updated": {
      const removed = new Set(data.remove as string[]);
      return { ...next, tags: [...new Set([...row.tags.filter((tag) => !removed.has(tag)), ...(data.add as string[])])] };
    }
    case "metadata_updated": {
      const patch = data.patch as Record<string, unknown>;
      const title = typeof patch.title === "string" ? patch.title : row.summary?.title;
      return { ...next, metadata: { ...row.metadata, ...patch }, ...(row.summary && { summary: { ...row.summary, title: title ?? null } }) };
    }
    case "task_updated":
      return data.state === "working" && ["failed", "interrupted"].includes(row.status) ? { ...next, status: "active" } : next;
  }
  return row.summary ? { ...next, summary: withSummary(row.summary, message, data) } : next;
}

function withSummary(summary: Summary, message: FeedMessage, data: Record<string, unknown>): Summary {
  if (message.type === "usage_recorded") {
    const count = (name: string) => (typeof data[name] === "number" ? data[name] : 0);
    const tokens = summary.tokens;
    return {
      ...summary,
      tokens: {
        ...tokens,
        calls: tokens.calls + 1,
        inputTokens: tokens.inputTokens + count("inputTokens"),
        outputTokens: tokens.outputTokens + count("outputTokens"),
      },
    };
  }
  if (message.type === "action") {
    const action = data as unknown as LogEvent;
    const details = (action.details ?? {}) as Record<string, unknown>;
    const role = details.role === "user" ? "user" : details.role === "agent" ? "agent" : "action";
    const text = cut(role === "action" ? `${action.type} ${words(action.details)}` : words(action.details), 200);
    const title = summary.title ?? (role === "user" ? cut(text, 120) : null);
    return { ...summary, title, lastWords: { role, text, seq: message.seq, timestamp: message.timestamp } };
  }
  return summary;
}
