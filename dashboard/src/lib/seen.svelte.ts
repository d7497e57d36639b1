/** What this browser has seen: the last event of each session that was opened, and when the list was last looked at. */
import { access } from "./access.svelte";

const MOST = 2000;

interface Seen {
  /** When this browser first saw the list: what is older is not unread. */
  since: string;
  /** When it last looked. */
  looked: string;
  seqs: Record<string, number>;
}

class SeenSessions {
  #tenant = "";
  #seen = $state.raw<Seen>(fresh());
  /** When the list was last looked at before this visit. */
  before = $state<string | null>(null);

  /** Begin with what is kept for the caller's tenant. */
  open(): void {
    const tenant = access.caller?.tenant ?? "";
    if (tenant === this.#tenant && this.before !== null) return;
    this.#tenant = tenant;
    const kept = read(this.#key);
    this.#seen = kept ?? fresh();
    this.before = kept?.looked ?? this.#seen.since;
    this.#keep();
  }

  isUnread(sessionId: string, headSeq: number, updatedAt: string): boolean {
    const seq = this.#seen.seqs[sessionId];
    return seq === undefined ? updatedAt > this.#seen.since : headSeq > seq;
  }

  seqOf(sessionId: string): number | null {
    return this.#seen.seqs[sessionId] ?? null;
  }

  saw(sessionId: string, seq: number): void {
    this.open();
    if ((this.#seen.seqs[sessionId] ?? 0) >= seq) return;
    const { [sessionId]: _, ...others } = this.#seen.seqs;
    const kept = Object.entries(others).slice(-MOST + 1);
    this.#seen = { ...this.#seen, seqs: { ...Object.fromEntries(kept), [sessionId]: seq } };
    this.#keep();
  }

  looked(): void {
    this.#seen = { ...this.#seen, looked: new Date().toISOString() };
    this.#keep();
  }

  get #key(): string {
    return `holdfast.seen.${this.#tenant}`;
  }

  #keep(): void {
    try {
      localStorage.setItem(this.#key, JSON.stringify(this.#seen));
    } catch {
      // A browser that keeps nothing has seen nothing tomorrow.
    }
  }
}

function fresh(): Seen {
  const now = new Date().toISOString();
  return { since: now, looked: now, seqs: {} };
}

function read(key: string): Seen | null {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? "null") as Partial<Seen> | null;
    if (!found || typeof found.since !== "string" || typeof found.looked !== "string") return null;
    return { since: found.since, looked: found.looked, seqs: typeof found.seqs === "object" && found.seqs ? found.seqs : {} };
  } catch {
    return null;
  }
}

export const seen = new SeenSessions();
