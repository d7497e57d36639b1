/** A reply on its way: what was sent under one idempotency key, and what comes back until it is in the log. */
import { newKey, send, segment } from "../lib/api";

export class Draft {
  text = $state("");
  sent = $state("");
  answer = $state("");
  waiting = $state(false);
  failed = $state.raw<unknown>(null);
  since = 0;
  #key = newKey();
  #of = "";

  constructor(readonly sessionId: string) {}

  /** Send what is written. If it fails, it stays, and sending the same again cannot say it twice. */
  async send(key: string, head: number): Promise<boolean> {
    const text = this.text.trim();
    if (!text || this.waiting) return false;
    if (text !== this.#of) {
      this.#of = text;
      this.#key = newKey();
    }
    this.since = head;
    this.sent = text;
    this.text = "";
    this.answer = "";
    this.failed = null;
    this.waiting = true;
    try {
      const answer = await send("POST", `/api/chat/${segment(key)}`, {
        body: { text, idempotencyKey: this.#key, stream: true },
        headers: { Accept: "text/event-stream" },
      });
      await this.#listen(answer);
      this.#of = "";
      return true;
    } catch (error) {
      this.failed = error;
      if (!this.text) this.text = text;
      return false;
    } finally {
      this.waiting = false;
    }
  }

  /** Show the pieces as they come; the log has the whole of it at the end. */
  async #listen(answer: Response): Promise<void> {
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let left = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      left += value;
      const events = left.split("\n\n");
      left = events.pop()!;
      for (const event of events) {
        const data = event.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim()).join("\n");
        if (data) this.#take(JSON.parse(data) as Record<string, unknown>);
      }
    }
  }

  #take(found: Record<string, unknown>): void {
    if (found.type === "text") this.answer += String(found.text);
    else if (found.type === "error") throw new Error(String(found.detail ?? "The turn failed."));
  }
}
