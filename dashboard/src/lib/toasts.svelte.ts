/** Short messages at the edge of the page, which go by themselves; one may offer to undo what was done. */
export interface Toast {
  id: number;
  text: string;
  kind: "plain" | "bad";
  action?: { label: string; run: () => void };
}

class Toasts {
  all = $state<Toast[]>([]);
  #next = 1;
  #timers = new Map<number, ReturnType<typeof setTimeout>>();

  say(text: string, action?: Toast["action"]): number {
    return this.#add({ id: this.#next++, text, kind: "plain", action }, action ? 12_000 : 5_000);
  }

  fail(error: unknown): number {
    const hint = error instanceof Error && "hint" in error && typeof error.hint === "string" ? ` ${error.hint}` : "";
    const text = error instanceof Error ? error.message : String(error);
    return this.#add({ id: this.#next++, text: sentence(text) + hint, kind: "bad" }, 10_000);
  }

  close(id: number): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    this.all = this.all.filter((each) => each.id !== id);
  }

  hold(id: number): void {
    clearTimeout(this.#timers.get(id));
  }

  release(id: number): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.set(id, setTimeout(() => this.close(id), 4_000));
  }

  #add(toast: Toast, ms: number): number {
    this.all = [...this.all.slice(-3), toast];
    this.#timers.set(toast.id, setTimeout(() => this.close(toast.id), ms));
    return toast.id;
  }
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

export const toasts = new Toasts();
