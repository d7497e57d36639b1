/** The time, for words like "5 min ago": it moves every 20 seconds while the page is seen. */
class Now {
  ms = $state(Date.now());

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.ms = Date.now();
    }, 20_000);
    document.addEventListener("visibilitychange", () => (this.ms = Date.now()));
  }
}

export const now = new Now();
