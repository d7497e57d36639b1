/** What somebody looks at in one session: which entries are open, which event is marked, and how to get to one. */
import { SvelteSet } from "svelte/reactivity";

export class SessionView {
  open = new SvelteSet<string>();
  /** The event that a link, a search or a jump led to. */
  marked = $state<number | null>(null);
  raw = $state.raw<number[] | null>(null);

  constructor(
    readonly sessionId: string,
    readonly goTo: (seq: number) => void,
  ) {}

  toggle(key: string): void {
    if (!this.open.delete(key)) this.open.add(key);
  }
}
