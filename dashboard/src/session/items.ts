/** What the list of a transcript shows, from top to bottom: entries, a line for each new day, and one where the reader was. */
import { day } from "../lib/words";
import type { Entry } from "./entries";

export type Item = { kind: "entry"; key: string; entry: Entry } | { kind: "day"; key: string; day: string } | { kind: "seen"; key: string };

/** The items of these entries; `lastSeen` is the last event that the reader saw before, if a line is to mark it. */
export function itemsOf(entries: readonly Entry[], firstSeq: number, lastSeen: number | null): Item[] {
  const found: Item[] = [];
  let date = 0;
  let marked = lastSeen === null || firstSeq > lastSeen;
  for (const entry of entries) {
    const at = new Date(entry.timestamp);
    const own = (at.getFullYear() * 12 + at.getMonth()) * 31 + at.getDate();
    if (own !== date) found.push({ kind: "day", key: `day-${entry.seq}`, day: day(entry.timestamp) });
    date = own;
    if (!marked && lastSeen !== null && entry.seq > lastSeen) {
      marked = true;
      found.push({ kind: "seen", key: "seen" });
    }
    found.push({ kind: "entry", key: entry.key, entry });
  }
  return found;
}
