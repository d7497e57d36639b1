/** Data that a page reads and keeps fresh. What is shown stays until its successor is there: nothing jumps or blinks. */
import { untrack } from "svelte";

import { isAbort } from "./api";

/** One answer, read again every so often while the page is seen. */
export class Fresh<T> {
  value = $state.raw<T | null>(null);
  error = $state.raw<unknown>(null);
  loading = $state(true);
  at = $state(0);
  #reading: AbortController | null = null;

  constructor(private readonly read: (signal: AbortSignal) => Promise<T>) {}

  /** Read now, and then every `ms`, until the returned function is called. */
  every(ms: number): () => void {
    const look = () => {
      if (!document.hidden) void this.again();
    };
    void this.again();
    const timer = setInterval(look, ms);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
      this.#reading?.abort();
    };
  }

  /** Read now; an effect that calls this does not depend on what is read for it. */
  again(): Promise<void> {
    return untrack(() => this.#read());
  }

  async #read(): Promise<void> {
    this.#reading?.abort();
    const reading = new AbortController();
    this.#reading = reading;
    this.loading = true;
    try {
      const found = await this.read(reading.signal);
      if (reading !== this.#reading) return;
      this.value = found;
      this.error = null;
      this.at = Date.now();
    } catch (error) {
      if (reading !== this.#reading || isAbort(error)) return;
      this.error = error;
    }
    this.loading = false;
  }
}

export interface Page<T> {
  items: T[];
  cursor: string | null;
}

/** A list in pages, of which more are read when they are asked for. */
export class Paged<T> {
  items = $state.raw<T[]>([]);
  cursor = $state<string | null>(null);
  error = $state.raw<unknown>(null);
  loading = $state(true);
  /** Whether anything was read yet. */
  begun = $state(false);
  #reading: AbortController | null = null;

  constructor(private readonly read: (cursor: string | null, signal: AbortSignal) => Promise<Page<T>>) {}

  /** Read from the beginning; what is shown stays until it is there. */
  first(): Promise<void> {
    return untrack(() => this.#read(null));
  }

  async more(): Promise<void> {
    if (this.cursor !== null && !this.loading) await this.#read(this.cursor);
  }

  /** What is shown is about something else: show none of it while the next is read. */
  clear(): void {
    this.items = [];
    this.cursor = null;
    this.begun = false;
  }

  async #read(cursor: string | null): Promise<void> {
    this.#reading?.abort();
    const reading = new AbortController();
    this.#reading = reading;
    this.loading = true;
    try {
      const page = await this.read(cursor, reading.signal);
      if (reading !== this.#reading) return;
      this.items = cursor === null ? page.items : [...this.items, ...page.items];
      this.cursor = page.cursor;
      this.error = null;
      this.begun = true;
    } catch (error) {
      if (reading !== this.#reading || isAbort(error)) return;
      this.error = error;
    }
    this.loading = false;
  }
}
