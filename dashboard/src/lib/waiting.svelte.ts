/** How many tasks wait for a person: the number in the navigation. The page that lists them keeps it exact; elsewhere it
 * is asked for now and then. */
import { untrack } from "svelte";

import type { TaskList } from "../api/pages";
import { get } from "./api";

const EVERY = 20_000;
/** More than this are not counted. */
const MOST = 100;

class Waiting {
  count = $state(0);
  /** There are more than were counted. */
  more = $state(false);

  get words(): string {
    return this.more ? `${this.count}+` : String(this.count);
  }

  /** Count now and then, while the page is seen, until the returned function is called. */
  watch(): () => void {
    const look = () => {
      if (!document.hidden) void this.look();
    };
    untrack(look);
    const timer = setInterval(look, EVERY);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }

  async look(): Promise<void> {
    try {
      const found = await get<TaskList>("/api/tasks", { state: "input-required", limit: MOST });
      this.show(found.tasks.length, found.cursor !== null);
    } catch {
      // The number stays as it was: the frame says it if the gateway is away.
    }
  }

  show(count: number, more: boolean): void {
    this.count = count;
    this.more = more;
  }
}

export const waiting = new Waiting();
