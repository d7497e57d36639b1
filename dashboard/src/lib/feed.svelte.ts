/** Live data over a WebSocket. A feed that breaks comes back after what it had: nothing is missed, and whoever follows
 * drops what they have seen. Browsers do not show pings, so a minute of silence is answered with a new connection. */
import { untrack } from "svelte";

import { access } from "./access.svelte";
import { get, url } from "./api";
import { reach } from "./reach.svelte";

export interface FeedMessage {
  type: string;
  sessionId: string;
  seq: number;
  data: unknown;
  timestamp: string;
  cursor?: string;
}

export interface Follower {
  /** One session after this seq; without it, all of the tenant's sessions from now. */
  session?: string;
  after?: () => number;
  message: (message: FeedMessage) => void;
  /** It (re)connected: what was missed meanwhile comes by itself. */
  connected?: () => void;
  /** The history is another one, or cannot be followed from here: read everything again. */
  changed?: () => void;
  /** The session is not there any more (or never was). */
  gone?: (code: number, reason: string) => void;
}

export type State = "idle" | "connecting" | "live" | "away";

const SILENCE = 60_000;
const FIRST_WAIT = 250;
const LONGEST_WAIT = 10_000;

/** How the feeds of this page and its calls are doing, for the frame. */
class Connection {
  feeds = $state<Record<number, State>>({});

  get state(): State {
    const all = Object.values(this.feeds);
    if (reach.away || all.includes("away")) return "away";
    if (all.includes("connecting")) return "connecting";
    return all.includes("live") ? "live" : "idle";
  }
}

export const connection = new Connection();

let nextFeed = 1;

/** Follow until the returned function is called. */
export function follow(follower: Follower): () => void {
  const feed = new Feed(nextFeed++, follower);
  untrack(() => feed.open());
  return () => untrack(() => feed.stop());
}

class Feed {
  #socket: WebSocket | null = null;
  #cursor: string | null = null;
  #wait = FIRST_WAIT;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;
  #online = () => this.#again(0);

  constructor(
    private readonly number: number,
    private readonly follower: Follower,
  ) {
    addEventListener("online", this.#online);
  }

  open(): void {
    if (this.#stopped) return;
    this.#show(this.#wait === FIRST_WAIT ? "connecting" : "away");
    const { session, after } = this.follower;
    const query = session ? { session, after: after?.() } : { cursor: this.#cursor };
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const token = access.token;
    const socket = new WebSocket(
      `${scheme}://${location.host}${url("/ws", query)}`,
      token ? ["holdfast", `bearer.${token}`] : ["holdfast"],
    );
    this.#socket = socket;
    let begun = false;
    this.#listen();
    socket.onmessage = (found) => {
      if (socket !== this.#socket) return;
      this.#listen();
      const message = JSON.parse(found.data as string) as FeedMessage;
      if (message.cursor) this.#cursor = message.cursor;
      if (!begun) {
        begun = true;
        this.#wait = FIRST_WAIT;
        this.#show("live");
        this.follower.connected?.();
        if (message.type === "connected") return;
      }
      this.follower.message(message);
    };
    socket.onclose = (end) => {
      if (socket === this.#socket) this.#closed(end, begun);
    };
  }

  stop(): void {
    this.#stopped = true;
    removeEventListener("online", this.#online);
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    delete connection.feeds[this.number];
  }

  #closed(end: CloseEvent, begun: boolean): void {
    clearTimeout(this.#silence);
    this.#socket = null;
    if (this.#stopped) return;
    if (end.code === 4409) {
      this.#cursor = null;
      this.follower.changed?.();
      this.#again(FIRST_WAIT);
    } else if (end.code === 4404 || end.code === 4410) {
      this.#show("idle");
      this.follower.gone?.(end.code - 4000, end.reason);
    } else if (end.code === 4401 || end.code === 4403 || !begun) void this.#mayIt();
    else this.#again(end.code === 1012 || end.code === 4408 ? FIRST_WAIT : this.#wait);
  }

  /** A refused upgrade says nothing to a page: a call finds out, and asks for a token if one is needed. */
  async #mayIt(): Promise<void> {
    this.#show("away");
    try {
      await get("/api/sessions", { limit: 1 });
    } catch {
      // It is away: try again later.
    }
    this.#again(this.#wait);
  }

  #again(wait: number): void {
    if (this.#stopped || this.#socket?.readyState === WebSocket.OPEN) return;
    clearTimeout(this.#timer);
    this.#show("away");
    this.#timer = setTimeout(() => this.open(), wait * (0.5 + Math.random()));
    this.#wait = Math.min(LONGEST_WAIT, this.#wait * 2);
  }

  #listen(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      const socket = this.#socket;
      this.#socket = null;
      socket?.close();
      this.open();
    }, SILENCE);
  }

  #show(state: State): void {
    if (!this.#stopped && connection.feeds[this.number] !== state) connection.feeds[this.number] = state;
  }
}
