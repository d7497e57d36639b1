/** What is done to many sessions at once: a few requests at a time, and how many of them were taken. */
export interface Outcome<T> {
  done: T[];
  failed: { item: T; error: unknown }[];
}

const AT_ONCE = 4;

export async function each<T>(items: T[], run: (item: T) => Promise<unknown>): Promise<Outcome<T>> {
  const outcome: Outcome<T> = { done: [], failed: [] };
  const waiting = [...items];
  async function work(): Promise<void> {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      try {
        await run(item);
        outcome.done.push(item);
      } catch (error) {
        outcome.failed.push({ item, error });
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return outcome;
}
