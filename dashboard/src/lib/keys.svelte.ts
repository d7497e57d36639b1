/** Keyboard: single keys and two-key sequences ("g s"), never while somebody writes. A page adds its own while it is
 * shown; what is added last is asked first. */
import { Layers } from "./layers.svelte";

export interface Shortcut {
  keys: string;
  what: string;
  run: () => void;
  /** Where the help lists it. */
  group?: string;
}

class Keyboard {
  #layers = new Layers<Shortcut>();
  #first = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  get all(): Shortcut[] {
    return this.#layers.all;
  }

  /** Listen to these until the returned function is called. */
  add(shortcuts: Shortcut[]): () => void {
    return this.#layers.add(shortcuts);
  }

  pressed(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.isComposing) return;
    const combined = event.ctrlKey || event.metaKey;
    const name = combined ? `ctrl-${event.key.toLowerCase()}` : event.altKey ? `alt-${event.key}` : event.key;
    if (!combined && (isWriting(event.target) || document.querySelector("dialog[open]"))) return;
    const sequence = this.#first ? `${this.#first} ${name}` : name;
    this.#first = "";
    clearTimeout(this.#timer);
    const found = this.#find(sequence) ?? this.#find(name);
    if (found) {
      event.preventDefault();
      found.run();
    } else if (this.all.some((each) => each.keys.startsWith(`${name} `))) {
      this.#first = name;
      this.#timer = setTimeout(() => (this.#first = ""), 1200);
    }
  }

  #find(keys: string): Shortcut | undefined {
    return this.all.find((each) => each.keys === keys);
  }
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

export const keyboard = new Keyboard();
