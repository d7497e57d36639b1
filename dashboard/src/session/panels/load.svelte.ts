/** Something that a panel reads, and reads again when it changed; what was there stays until the new is. */
import { isAbort } from "../../lib/api";

export class Load<T> {
  value = $state.raw<T | null>(null);
  failed = $state.raw<unknown>(null);
  #abort: AbortController | null = null;

  async read(from: (signal: AbortSignal) => Promise<T>): Promise<void> {
    this.#abort?.abort();
    const abort = (this.#abort = new AbortController());
    try {
      const found = await from(abort.signal);
      if (abort.signal.aborted) return;
      this.value = found;
      this.failed = null;
    } catch (error) {
      if (!isAbort(error) && !abort.signal.aborted) this.failed = error;
    }
  }
}
