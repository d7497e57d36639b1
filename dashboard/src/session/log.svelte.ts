/** A window on one session's log: contiguous, without gaps or doubles, and never larger than it may be.
 *
 * It begins with the newest page, or around an event; older and newer pages come as somebody scrolls. What the live feed
 * brings is taken in order of seq: what is known is dropped, and what lies between is read first. */
import type { Damaged, LogEvent, LogPage } from "../api/types";
import { get, isAbort, segment, told } from "../lib/api";
import type { FeedMessage } from "../lib/feed.svelte";
import { entriesOf, markUnresolved, type Entry } from "./entries";

const PAGE = 200;
const MOST = 3000;
/** So many entries fill a screen; where a page has fewer, because the store notes much for itself, more pages are read at once. */
const ENOUGH = 20;
const PAGES_AT_ONCE = 10;
/** What comes within this many milliseconds is drawn together; longer while nobody looks. */
const TOGETHER = 80;
const HIDDEN = 1000;
/** What could not be read is asked for again after so long. */
const RETRY = 1000;
const OWN = "holdfast.";

export class SessionLog {
  events = $state.raw<LogEvent[]>([]);
  entries = $state.raw<Entry[]>([]);
  damaged = $state.raw<Damaged[]>([]);
  /** The last seq that there is, as far as is known. */
  head = $state(0);
  loaded = $state(false);
  failed = $state.raw<unknown>(null);
  loadingOlder = $state(false);
  loadingNewer = $state(false);
  /** Show what the store notes for itself, too. */
  all = $state(false);
  /** The session is at work, so that a tool without an end may still be running. */
  running = $state(true);

  #before = $state<number | null>(null);
  #waiting: LogEvent[] = [];
  #scheduled = false;
  #filling = false;
  /** Counts the windows: what was asked for one of them is not put into the next. */
  #window = 0;
  #abort = new AbortController();
  #retries = new Set<ReturnType<typeof setTimeout>>();
  #following = true;

  constructor(readonly sessionId: string) {}

  get first(): number {
    return this.events[0]?.seq ?? 0;
  }

  get last(): number {
    return this.events.at(-1)?.seq ?? 0;
  }

  get hasOlder(): boolean {
    return this.#before !== null;
  }

  /** Whether the window reaches the end of the log. */
  get atEnd(): boolean {
    return this.last >= this.head;
  }

  /** While somebody reads at the end, what is far above may go. */
  set following(value: boolean) {
    this.#following = value;
  }

  /** Read the newest page, or one around an event. */
  async open(around: number | null = null): Promise<void> {
    this.failed = null;
    const window = ++this.#window;
    try {
      const page = await this.#read(around === null ? { limit: PAGE } : { limit: PAGE, before: around + PAGE / 2 });
      if (window !== this.#window) return;
      this.events = page.events;
      this.#before = page.cursor.before;
      this.damaged = page.damaged ?? [];
      this.head = Math.max(this.head, this.last, page.cursor.after);
      if (around === null) this.head = Math.max(this.last, page.cursor.after);
      this.fold();
      await this.#readOlder(ENOUGH);
      this.loaded = true;
    } catch (error) {
      if (!isAbort(error)) this.failed = error;
    }
  }

  async older(): Promise<void> {
    if (this.#before === null || this.loadingOlder || !this.loaded) return;
    this.loadingOlder = true;
    try {
      await this.#readOlder(this.entries.length + ENOUGH);
    } catch (error) {
      this.#retry(error, () => void this.older());
    } finally {
      this.loadingOlder = false;
    }
  }

  async newer(): Promise<void> {
    if (this.atEnd || this.loadingNewer || !this.loaded) return;
    this.loadingNewer = true;
    try {
      const window = this.#window;
      const page = await this.#read({ limit: PAGE, after: this.last });
      if (window !== this.#window) return;
      this.#append(page.events, page.cursor.after);
      this.#merge(page.damaged);
    } catch (error) {
      this.#retry(error, () => void this.newer());
    } finally {
      this.loadingNewer = false;
    }
  }

  /** One more message of the feed. */
  receive(message: FeedMessage): void {
    if (message.sessionId !== this.sessionId) return;
    const event = eventOf(message);
    if (event.seq <= this.head && event.seq <= this.last) return;
    const wasAtEnd = this.atEnd || this.#filling || this.#waiting.length > 0;
    this.head = Math.max(this.head, event.seq);
    if (!this.loaded || !wasAtEnd) return;
    this.#waiting.push(event);
    this.#soon();
  }

  /** Where the feed goes on from. */
  get after(): number {
    return this.head;
  }

  close(): void {
    this.#abort.abort();
    for (const timer of this.#retries) clearTimeout(timer);
  }

  /** Nobody scrolls again because a page did not come: it is asked for again until it does. */
  #retry(error: unknown, read: () => void): void {
    if (isAbort(error) || this.#abort.signal.aborted) return;
    const { status } = told(error);
    if (status >= 400 && status < 500 && status !== 408 && status !== 429) {
      this.failed = error;
      return;
    }
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      read();
    }, RETRY);
    this.#retries.add(timer);
  }

  fold(): void {
    const entries = entriesOf(this.events, this.all);
    markUnresolved(entries, this.running && this.atEnd);
    this.entries = reused(this.entries, entries);
  }

  #soon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setTimeout(
      () => {
        this.#scheduled = false;
        void this.#drain();
      },
      document.hidden ? HIDDEN : TOGETHER,
    );
  }

  /** Take what the feed brought, in order; read what lies between first. What came stays waiting until it was taken. */
  async #drain(): Promise<void> {
    if (this.#filling) return;
    this.#filling = true;
    let between = false;
    try {
      for (;;) {
        this.#waiting = this.#waiting.filter((event) => event.seq > this.last);
        const first = this.#waiting[0];
        if (!first) break;
        if (first.seq > this.last + 1 && this.events.length) {
          const window = this.#window;
          const page = await this.#read({ limit: 1000, after: this.last });
          if (window !== this.#window) continue;
          this.#append(page.events, page.cursor.after, false);
          this.#merge(page.damaged);
          between = true;
          if (page.events.length) continue;
        }
        this.#append(this.#waiting.splice(0), this.last);
        between = false;
      }
    } catch (error) {
      this.#retry(error, () => void this.#drain());
    } finally {
      this.#filling = false;
      if (between) this.fold();
    }
  }

  #append(found: LogEvent[], after: number, fold = true): void {
    const last = this.last;
    const fresh = found.filter((event) => event.seq > last);
    if (fresh.length) {
      let events = [...this.events, ...fresh];
      if (events.length > MOST) {
        events = events.slice(-MOST);
        this.#before = events[0]!.seq;
      }
      this.events = events;
    }
    this.head = Math.max(this.head, this.last, after);
    if (fold) this.fold();
  }

  /** Read older pages until there are so many entries, the log begins, or these are enough pages for once. */
  async #readOlder(enough: number): Promise<void> {
    const window = this.#window;
    for (let pages = 0; pages < PAGES_AT_ONCE && this.#before !== null && this.entries.length < enough; pages++) {
      const page = await this.#read({ limit: PAGE, before: this.#before });
      if (window !== this.#window) return;
      const older = page.events.filter((event) => event.seq < this.first);
      this.#before = page.cursor.before;
      let events = [...older, ...this.events];
      if (events.length > MOST && !this.#following) events = events.slice(0, MOST);
      this.#merge(page.damaged);
      this.events = events;
      this.fold();
    }
  }

  #merge(damaged: Damaged[] | undefined): void {
    if (damaged?.length) {
      const known = new Set(this.damaged.map((each) => each.seq));
      this.damaged = [...this.damaged, ...damaged.filter((each) => !known.has(each.seq))];
    }
  }

  #read(query: Record<string, number>): Promise<LogPage> {
    return get<LogPage>(`/api/sessions/${segment(this.sessionId)}/events`, query, { signal: this.#abort.signal });
  }
}

/** An event as the log has it, from a message of the feed. */
export function eventOf(message: FeedMessage): LogEvent {
  if (message.type === "action") {
    const action = message.data as LogEvent;
    return { ...action, seq: message.seq, timestamp: message.timestamp };
  }
  return { seq: message.seq, type: `${OWN}${message.type}`, details: message.data, timestamp: message.timestamp };
}

/** The new entries, but the old objects where nothing changed: what is shown need not be drawn again. */
function reused(before: Entry[], entries: Entry[]): Entry[] {
  const known = new Map(before.map((entry) => [entry.key, entry]));
  return entries.map((entry) => {
    const old = known.get(entry.key);
    return old && old.seqs.length === entry.seqs.length && statusOf(old) === statusOf(entry) ? old : entry;
  });
}

function statusOf(entry: Entry): string {
  return entry.kind === "tool" || entry.kind === "agent" ? entry.status : entry.kind;
}
