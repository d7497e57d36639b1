/** A session's log as people read it: events folded into entries. A tool's start and end are one entry, so are a
 * sub-agent's; what the store notes for itself is a line. The fold is pure: the same events give the same entries. */
import type { LogEvent } from "../api/types";
import { cut, spaced } from "../lib/words";

export type Part =
  | { kind: "text"; text: string }
  | { kind: "thinking"; text: string }
  | { kind: "data"; value: unknown }
  | { kind: "file"; name: string; mediaType: string; digest: string | null; size: number | null; url: string | null };

export type Tone = "plain" | "good" | "warn" | "bad";

interface Placed {
  /** Its name: the seq of its first event, and which of several it is. */
  key: string;
  /** The seq of its first event. */
  seq: number;
  /** The seqs of all its events. */
  seqs: number[];
  timestamp: string;
}

export interface MessageEntry extends Placed {
  kind: "message";
  role: "user" | "agent" | "system";
  parts: Part[];
  usage: Usage | null;
}

export interface ToolEntry extends Placed {
  kind: "tool";
  callId: string;
  name: string;
  /** What it was asked, if that may be shown. */
  input: unknown;
  output: unknown;
  status: "running" | "finished" | "failed" | "unresolved";
  /** Whether it changes something outside: an effect of the store. */
  effect: boolean;
  endedAt: string | null;
}

export interface AgentEntry extends Placed {
  kind: "agent";
  agentId: string;
  type: string;
  task: unknown;
  status: string;
  result: unknown;
  endedAt: string | null;
}

export interface CompactionEntry extends Placed {
  kind: "compaction";
  firstSeq: number;
  lastSeq: number;
  summary: string;
}

export interface LineEntry extends Placed {
  kind: "line";
  icon: "flag" | "branch" | "lock" | "tag" | "history" | "warning" | "file" | "fold" | "check" | "memory" | "stop" | "trash";
  text: string;
  tone: Tone;
  /** What opens below it. */
  details: unknown;
}

export interface ActionEntry extends Placed {
  kind: "action";
  type: string;
  details: unknown;
  tone: Tone;
}

/** An event that a page of the log shows without its details, because they are large. */
export interface LargeEntry extends Placed {
  kind: "large";
  type: string;
  bytes: number;
}

export type Entry = MessageEntry | ToolEntry | AgentEntry | CompactionEntry | LineEntry | ActionEntry | LargeEntry;

export interface Usage {
  model: string;
  input: number;
  output: number;
  cached: number;
}

type Document = Record<string, unknown>;

const OWN = "holdfast.";
/** Events that say nothing that another does not; they are shown when all events are asked for. */
const QUIET = new Set(["state_updated", "usage_recorded", "checkpoint_created", "snapshot_saved", "metadata_updated"]);
const USERS = new Set(["user", "human", "ROLE_USER"]);
const AGENTS = new Set(["agent", "assistant", "ai", "model", "ROLE_AGENT"]);

/** Entries of these events, oldest first; with `all`, nothing is left out. */
export function entriesOf(events: readonly LogEvent[], all: boolean): Entry[] {
  return new Fold(all).run(events);
}

class Fold {
  #entries: Entry[] = [];
  #tools = new Map<string, ToolEntry>();
  #agents = new Map<string, AgentEntry>();
  #spans = new Map<string, ToolEntry>();
  #usage: Usage | null = null;
  #goals = new Map<string, string>();

  constructor(private readonly all: boolean) {}

  run(events: readonly LogEvent[]): Entry[] {
    for (const event of events) this.#take(event);
    let before = 0;
    let same = 0;
    for (const entry of this.#entries) {
      same = entry.seq === before ? same + 1 : 0;
      before = entry.seq;
      entry.key = same ? `${entry.seq}.${same}` : String(entry.seq);
    }
    return this.#entries;
  }

  #take(event: LogEvent): void {
    const placed: Placed = { key: "", seq: event.seq, seqs: [event.seq], timestamp: event.timestamp };
    if (event.erased) {
      this.#line(placed, "trash", `An event was erased (${event.type})`);
    } else if (typeof event.detailsBytes === "number" && event.details === null) {
      this.#entries.push({ kind: "large", ...placed, type: event.type, bytes: event.detailsBytes });
    } else if (event.type.startsWith(OWN)) this.#own(event.type.slice(OWN.length), document(event.details), placed);
    else this.#others(event, placed);
  }

  #own(type: string, body: Document, placed: Placed): void {
    switch (type) {
      case "tool_started":
        return this.#toolStarted(body, placed);
      case "tool_finished":
        return this.#toolFinished(body, placed);
      case "agent_spawned":
        return this.#agentSpawned(body, placed);
      case "agent_completed":
        return this.#agentCompleted(body, placed);
      case "response":
        return this.#message("agent", partsOf(body), placed);
      case "compacted":
        this.#entries.push({
          kind: "compaction",
          ...placed,
          firstSeq: numeric(body.firstSeq),
          lastSeq: numeric(body.lastSeq),
          summary: words(body.summary),
        });
        return;
      case "task_updated":
        return this.#task(body, placed);
      case "usage_recorded":
        this.#usage = this.#addUsage(body);
        break;
      case "session_created":
        return this.#began(body, placed);
      case "session_finalized": {
        const status = text(body.status);
        const tone: Tone = status === "failed" ? "bad" : status === "interrupted" ? "warn" : status === "completed" ? "good" : "plain";
        this.#line(placed, status === "completed" ? "check" : "flag", `Session ${spaced(status)}`, tone, details(body.outcome ?? body.response));
        return;
      }
      case "session_forked":
        return this.#line(placed, "branch", `Branched from ${text(body.sessionId)} after event ${numeric(body.seq)}`);
      case "session_reset":
        return this.#line(placed, "history", `Its keys moved on to ${text(body.nextSession)}`);
      case "session_deleted":
        return this.#line(placed, "trash", "Session deleted", "bad");
      case "session_restored":
        return this.#line(placed, "history", "Session restored from its archive", "good");
      case "tags_updated":
        return this.#line(placed, "tag", tagWords(body));
      case "hold_changed":
        return this.#line(placed, "lock", body.held ? `Put on hold${because(body.reason)}` : "Hold released", body.held ? "warn" : "plain");
      case "goal_added":
        this.#goals.set(text(body.goalId), text(body.description));
        return this.#line(placed, "flag", `Goal set: ${cut(text(body.description), 200)}`, "plain", details(body));
      case "goal_updated": {
        const changes = document(body.changes);
        const status = text(changes.status);
        const tone: Tone = status === "completed" ? "good" : status === "failed" ? "bad" : "plain";
        return this.#line(placed, status === "completed" ? "check" : "flag", `Goal ${status ? spaced(status) : "changed"}: ${cut(this.#goals.get(text(body.goalId)) ?? text(body.goalId), 200)}`, tone, details(changes));
      }
      case "attachment_added":
        this.#entries.push({ kind: "message", ...placed, role: "system", parts: [filePart(body)], usage: null });
        return;
      case "events_erased":
        return this.#line(placed, "trash", `${Array.isArray(body.seqs) ? body.seqs.length : "Some"} events erased${because(body.reason)}`);
      case "left_out":
        return this.#line(placed, "file", "An event that the imported files did not have");
    }
    if (this.all || !QUIET.has(type)) this.#line(placed, ICONS[type] ?? "file", QUIET_WORDS[type]?.(body) ?? spaced(type), "plain", body);
  }

  #others(event: LogEvent, placed: Placed): void {
    const body = document(event.details);
    if (event.type === "conversation.saved" && !this.all) return;
    const span = event.parentId ? this.#spans.get(event.parentId) : undefined;
    if (span && isSpanEnd(body)) {
      this.#replaceTool(span, { status: body.status === "failed" ? "failed" : "finished", output: body.output ?? body.error ?? body.outputRefused ?? null }, placed);
      return;
    }
    if (body.status === "started" && event.eventId) {
      const entry: ToolEntry = {
        kind: "tool", ...placed, seqs: [placed.seq], callId: event.eventId, name: event.type, input: body.input ?? null, output: null,
        status: "running", effect: false, endedAt: null,
      };
      this.#spans.set(event.eventId, entry);
      this.#entries.push(entry);
      return;
    }
    const said = saying(event.details);
    if (said) return this.#said(said, placed);
    this.#entries.push({ kind: "action", ...placed, type: event.type, details: event.details, tone: toneOf(event.type, body) });
  }

  /** A message, in whichever shape it came: its words, and what it asks of tools and had from them. */
  #said(said: Saying, placed: Placed): void {
    const own: Part[] = [];
    for (const block of said.blocks) {
      if (block.kind === "call") {
        if (own.length) this.#message(said.role, own.splice(0), placed);
        const entry: ToolEntry = {
          kind: "tool", ...placed, seqs: [placed.seq], callId: block.id, name: block.name, input: block.input, output: null,
          status: "running", effect: false, endedAt: null,
        };
        this.#tools.set(block.id, entry);
        this.#entries.push(entry);
      } else if (block.kind === "result") this.#result(block, placed);
      else own.push(block);
    }
    if (own.length) this.#message(said.role, own, placed);
  }

  #result(block: ResultBlock, placed: Placed): void {
    const started = this.#tools.get(block.id);
    const end = { status: block.failed ? ("failed" as const) : ("finished" as const), output: block.output };
    if (started) this.#replaceTool(started, end, placed);
    else
      this.#entries.push({
        kind: "tool", ...placed, seqs: [placed.seq], callId: block.id, name: block.name ?? "tool", input: null, effect: false,
        endedAt: placed.timestamp, ...end,
      });
  }

  #message(role: MessageEntry["role"], parts: Part[], placed: Placed): void {
    const usage = role === "agent" ? this.#usage : null;
    if (role !== "system") this.#usage = null;
    this.#entries.push({ kind: "message", ...placed, role, parts, usage });
  }

  #toolStarted(body: Document, placed: Placed): void {
    const entry: ToolEntry = {
      kind: "tool", ...placed, seqs: [placed.seq], callId: text(body.callId), name: text(body.tool), input: parsed(body.shown), output: null,
      status: "running", effect: true, endedAt: null,
    };
    this.#tools.set(entry.callId, entry);
    this.#entries.push(entry);
  }

  #toolFinished(body: Document, placed: Placed): void {
    const end = { status: body.status === "failed" ? ("failed" as const) : ("finished" as const), output: body.result ?? null };
    const started = this.#tools.get(text(body.callId));
    if (started) this.#replaceTool(started, end, placed);
    else
      this.#entries.push({
        kind: "tool", ...placed, seqs: [placed.seq], callId: text(body.callId), name: "tool", input: null, effect: true, endedAt: placed.timestamp, ...end,
      });
  }

  #replaceTool(entry: ToolEntry, end: Partial<ToolEntry>, placed: Placed): void {
    Object.assign(entry, end, { endedAt: placed.timestamp });
    entry.seqs.push(placed.seq);
  }

  #agentSpawned(body: Document, placed: Placed): void {
    const entry: AgentEntry = {
      kind: "agent", ...placed, seqs: [placed.seq], agentId: text(body.agentId), type: text(body.type), task: body.task ?? null,
      status: "active", result: null, endedAt: null,
    };
    this.#agents.set(entry.agentId, entry);
    this.#entries.push(entry);
  }

  #agentCompleted(body: Document, placed: Placed): void {
    const entry = this.#agents.get(text(body.agentId));
    const end = { status: text(body.status), result: body.result ?? null, endedAt: placed.timestamp };
    if (entry) {
      Object.assign(entry, end);
      entry.seqs.push(placed.seq);
    } else this.#entries.push({ kind: "agent", ...placed, seqs: [placed.seq], agentId: text(body.agentId), type: "agent", task: null, ...end });
  }

  #task(body: Document, placed: Placed): void {
    const state = text(body.state);
    const changes = document(body.changes);
    const message = document(changes.statusMessage);
    const why = words(message.parts ?? message);
    switch (state) {
      case "failed":
      case "rejected":
        return this.#line(placed, "warning", `The turn ${state === "failed" ? "failed" : "was rejected"}${why ? `: ${cut(why, 300)}` : ""}`, "bad", details(changes));
      case "canceled":
        return this.#line(placed, "stop", "The turn was cancelled", "warn");
      case "input-required":
        return this.#line(placed, "flag", "The agent waits for an answer", "warn");
    }
    if (changes.interrupted === true || (state === "working" && numeric(changes.tries) > 0)) {
      return this.#line(placed, "warning", "The turn was interrupted, and begun again", "warn");
    }
    if (this.all) this.#line(placed, "history", `Turn ${spaced(state)}`, "plain", body);
  }

  #began(body: Document, placed: Placed): void {
    const initial = body.initial;
    this.#line(placed, "flag", "Session began", "plain", details(initial ?? null));
  }

  #addUsage(body: Document): Usage {
    const before = this.#usage;
    return {
      model: text(body.model),
      input: (before?.input ?? 0) + numeric(body.inputTokens),
      output: (before?.output ?? 0) + numeric(body.outputTokens),
      cached: (before?.cached ?? 0) + numeric(body.cachedTokens),
    };
  }

  #line(placed: Placed, icon: LineEntry["icon"], words: string, tone: Tone = "plain", opened: unknown = null): void {
    this.#entries.push({ kind: "line", ...placed, icon, text: words, tone, details: opened });
  }
}

const ICONS: Record<string, LineEntry["icon"]> = {
  state_updated: "memory",
  usage_recorded: "history",
  checkpoint_created: "flag",
  snapshot_saved: "fold",
  metadata_updated: "tag",
};
const QUIET_WORDS: Record<string, (body: Document) => string> = {
  state_updated: (body) => `State changed: ${cut(Object.keys(document(body.patch)).join(", "), 120)}`,
  usage_recorded: (body) => `${text(body.model)}: ${numeric(body.inputTokens)} tokens in, ${numeric(body.outputTokens)} out`,
  checkpoint_created: (body) => `Checkpoint${body.name ? ` “${text(body.name)}”` : ""} at event ${numeric(body.seq)}`,
  snapshot_saved: () => "Snapshot saved",
  metadata_updated: (body) => `Metadata changed: ${cut(Object.keys(document(body.patch)).join(", "), 120)}`,
};

/** Mark effects that began and never ended, though the session went on or ended: nobody knows whether they happened. */
export function markUnresolved(entries: Entry[], running: boolean): void {
  let wentOn = !running;
  for (let at = entries.length - 1; at >= 0; at--) {
    const entry = entries[at]!;
    if (entry.kind === "tool" && entry.status === "running" && wentOn) entry.status = entry.effect ? "unresolved" : entry.status;
    if (entry.kind === "message" || (entry.kind === "line" && entry.icon === "warning")) wentOn = true;
  }
}

interface Saying {
  role: MessageEntry["role"];
  blocks: (Part | CallBlock | ResultBlock)[];
}
interface CallBlock {
  kind: "call";
  id: string;
  name: string;
  input: unknown;
}
interface ResultBlock {
  kind: "result";
  id: string;
  name?: string;
  output: unknown;
  failed: boolean;
}

const CALLS = new Set(["tool_use", "toolCall", "function_call", "custom_tool_call"]);
const RESULTS = new Set(["tool_result", "toolResult", "function_call_output", "custom_tool_call_output"]);

/** A message in the details of an event, in any of the shapes that programs write; null if there is none. */
function saying(details: unknown): Saying | null {
  const outer = document(details);
  const inner = [outer.message, outer.payload, outer].map(document).find((each) => roleOf(each.role) !== null);
  if (!inner) {
    const alone = document(outer.payload ?? outer);
    const kind = text(alone.type);
    if (CALLS.has(kind) || RESULTS.has(kind)) return { role: "agent", blocks: blocksOf(alone) };
    return null;
  }
  const content = inner.parts ?? inner.content ?? inner.text;
  if (content === undefined && !Array.isArray(inner.tool_calls)) return null;
  if (inner.role === "tool" || inner.role === "toolResult") {
    const id = text(inner.tool_call_id ?? inner.toolCallId ?? "");
    return { role: "agent", blocks: [{ kind: "result", id, name: typeof inner.toolName === "string" ? inner.toolName : undefined, output: simplified(content), failed: inner.isError === true }] };
  }
  const blocks = blocksOf(content);
  for (const call of Array.isArray(inner.tool_calls) ? inner.tool_calls.map(document) : []) {
    const made = document(call.function ?? call);
    blocks.push({ kind: "call", id: text(call.id), name: text(made.name), input: parsed(made.arguments) });
  }
  return blocks.length ? { role: roleOf(inner.role)!, blocks } : null;
}

function roleOf(role: unknown): MessageEntry["role"] | null {
  if (typeof role !== "string") return null;
  if (USERS.has(role)) return "user";
  if (AGENTS.has(role)) return "agent";
  return role === "system" || role === "developer" ? "system" : role === "tool" || role === "toolResult" ? "agent" : null;
}

function blocksOf(content: unknown): Saying["blocks"] {
  if (typeof content === "string") return content.trim() ? [{ kind: "text", text: content }] : [];
  if (Array.isArray(content)) return content.flatMap(blocksOf);
  const block = document(content);
  const kind = text(block.type);
  if (CALLS.has(kind)) {
    return [{ kind: "call", id: text(block.id ?? block.call_id ?? block.toolCallId), name: text(block.name ?? "tool"), input: parsed(block.input ?? block.arguments) }];
  }
  if (RESULTS.has(kind)) {
    const id = text(block.tool_use_id ?? block.call_id ?? block.toolCallId);
    return [{ kind: "result", id, output: simplified(block.content ?? block.output), failed: block.is_error === true || block.isError === true }];
  }
  if (kind === "thinking" || kind === "reasoning") {
    const thought = text(block.thinking ?? block.text ?? words(block.summary));
    return thought ? [{ kind: "thinking", text: thought }] : [];
  }
  return partsOf(block.parts ?? (Object.keys(block).length ? [block] : []));
}

/** Parts of a message as A2A has them: text, files, data. */
export function partsOf(value: unknown): Part[] {
  if (typeof value === "string") return value ? [{ kind: "text", text: value }] : [];
  if (Array.isArray(value)) return value.flatMap(partsOf);
  const part = document(value);
  if (typeof part.text === "string") return part.text.trim() ? [{ kind: "text", text: part.text }] : [];
  if (part.raw !== undefined || part.url !== undefined || part.digest !== undefined || part.filename !== undefined) return [filePart(part)];
  if ("data" in part) return [{ kind: "data", value: part.data }];
  const said = part.content ?? part.response ?? part.output ?? part.message;
  if (typeof said === "string") return partsOf(said);
  return Object.keys(part).length ? [{ kind: "data", value }] : [];
}

function filePart(body: Document): Part {
  return {
    kind: "file",
    name: text(body.filename ?? body.name) || "attachment",
    mediaType: text(body.mediaType) || "application/octet-stream",
    digest: typeof body.digest === "string" ? body.digest : null,
    size: typeof (body.size ?? body.sizeBytes) === "number" ? ((body.size ?? body.sizeBytes) as number) : null,
    url: typeof body.url === "string" ? body.url : null,
  };
}

const WORDS = ["text", "content", "message", "output", "summary", "prompt", "description", "query", "parts", "input"];

/** The words of any value, for a line. */
export function words(value: unknown, levels = 4): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (!levels || value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.slice(0, 20).map((each) => words(each, levels - 1)).filter(Boolean).join("\n");
  const found = document(value);
  for (const name of WORDS) {
    const said = words(found[name], levels - 1);
    if (said) return said;
  }
  return Object.entries(found)
    .filter(([, each]) => typeof each === "string" || typeof each === "number" || typeof each === "boolean")
    .slice(0, 6)
    .map(([name, each]) => `${name}: ${String(each)}`)
    .join(", ");
}

function toneOf(type: string, body: Document): Tone {
  if (body.error || body.status === "failed" || /(^|[._-])(error|failed|failure|exception)$/i.test(type)) return "bad";
  return "plain";
}

function isSpanEnd(body: Document): boolean {
  return body.status === "finished" || body.status === "failed";
}

function tagWords(body: Document): string {
  const added = Array.isArray(body.add) ? body.add.map(text) : [];
  const removed = Array.isArray(body.remove) ? body.remove.map(text) : [];
  return [added.length ? `Tagged ${added.join(", ")}` : "", removed.length ? `Tags removed: ${removed.join(", ")}` : ""].filter(Boolean).join("; ") || "Tags changed";
}

function because(reason: unknown): string {
  return typeof reason === "string" && reason ? `: ${cut(reason, 160)}` : "";
}

function simplified(value: unknown): unknown {
  const parts = Array.isArray(value) ? value.map(document) : [];
  return parts.length && parts.every((each) => typeof each.text === "string") ? parts.map((each) => each.text).join("\n") : value;
}

/** A text that is JSON as its value; any other as it is. */
function parsed(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value ?? null;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

function details(value: unknown): unknown {
  if (value === undefined || value === null || value === "") return null;
  return typeof value === "object" && Object.keys(value).length === 0 ? null : value;
}

function document(value: unknown): Document {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Document) : {};
}

function text(value: unknown): string {
  return typeof value === "string" ? value : value === undefined || value === null ? "" : String(value);
}

function numeric(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
