/** How each proof came out over time, for one kind of run against one target. */
import type { ProofRun } from "../api/pages";

export interface Cell {
  run: ProofRun;
  verdict: string | null;
}

export interface Strip {
  name: string;
  cells: Cell[];
  /** How often it went between proven and disproven. */
  changes: number;
  last: string;
}

export interface StripGroup {
  kind: string;
  target: string;
  runs: ProofRun[];
  strips: Strip[];
}

/** Groups, the one that ran last first; in each, what changed most often first, then what is not proven. */
export function stripGroups(runs: ProofRun[], most = 60): StripGroup[] {
  const groups = new Map<string, ProofRun[]>();
  for (const run of runs) {
    const name = JSON.stringify([run.kind, run.target]);
    groups.set(name, [...(groups.get(name) ?? []), run]);
  }
  return [...groups.values()].map((found) => {
    const inOrder = found.slice(0, most).toReversed();
    const names = [...new Set(inOrder.flatMap((run) => run.results.map((each) => each.name)))];
    const strips = names.map((name) => stripOf(name, inOrder));
    strips.sort((a, b) => b.changes - a.changes || worst(b.last) - worst(a.last) || a.name.localeCompare(b.name));
    return { kind: found[0]!.kind, target: found[0]!.target ?? "", runs: inOrder, strips };
  });
}

function stripOf(name: string, runs: ProofRun[]): Strip {
  const cells = runs.map((run) => ({ run, verdict: run.results.find((each) => each.name === name)?.verdict ?? null }));
  let changes = 0;
  let before: string | null = null;
  let last = "";
  for (const { verdict } of cells) {
    if (verdict === null) continue;
    last = verdict;
    if (verdict !== "proven" && verdict !== "disproven") continue;
    if (before !== null && before !== verdict) changes++;
    before = verdict;
  }
  return { name, cells, changes, last };
}

function worst(verdict: string): number {
  return verdict === "disproven" ? 2 : verdict === "proven" ? 0 : 1;
}
