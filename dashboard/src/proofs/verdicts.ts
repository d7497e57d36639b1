/** Verdicts as words and colours. */
export const KINDS: Record<string, string> = {
  runtime: "Runtime",
  store: "Store",
  explore: "Exploration",
  live: "Live gateway",
};

const TONES: Record<string, string> = {
  proven: "good",
  disproven: "bad",
  fault: "bad",
  broken: "bad",
  inconclusive: "warn",
  ok: "good",
};

/** The class of a tag: good, bad, warn or none. */
export function tone(verdict: string): string {
  return TONES[verdict] ?? "";
}

/** The class of a cell of a strip: one word. */
export function cellOf(verdict: string): string {
  return verdict.replace(" ", "-");
}

/** What one wants to read first. */
const ORDER = ["disproven", "fault", "inconclusive", "not reached", "not offered", "proven"];

export function rank(verdict: string): number {
  const found = ORDER.indexOf(verdict);
  return found < 0 ? ORDER.length : found;
}
