/** Whether the gateway can be reached, as the last call found. While it cannot, it is asked until it answers. */
const FIRST_WAIT = 500;
const LONGEST_WAIT = 5_000;

class Reach {
  away = $state(false);
  #wait = FIRST_WAIT;

  /** A call found nobody. */
  lost(): void {
    if (this.away) return;
    this.away = true;
    this.#ask();
  }

  /** Somebody answered, whatever was said. */
  found(): void {
    if (this.away) this.away = false;
    this.#wait = FIRST_WAIT;
  }

  #ask(): void {
    setTimeout(async () => {
      if (!this.away) return;
      this.#wait = Math.min(LONGEST_WAIT, this.#wait * 2);
      try {
        await fetch("/health", { cache: "no-store" });
        this.found();
      } catch {
        this.#ask();
      }
    }, this.#wait * (0.5 + Math.random()));
  }
}

export const reach = new Reach();
