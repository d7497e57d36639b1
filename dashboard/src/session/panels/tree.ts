/** Sub-agents and child sessions as one tree. */
import type { ChildTree, Totals } from "../../api/types";
import { titleOf } from "../../lib/sessions";
import { compact, plural } from "../../lib/words";
import { words } from "../entries";

export interface TreeNode {
  id: string;
  title: string;
  text: string;
  status: string;
  sessionId: string | null;
  totals: Totals | null;
  children: TreeNode[];
  /** How many sessions are below it that are not here yet. */
  below: number;
}

export function treeOf(found: ChildTree, root: string): TreeNode[] {
  const sessions = new Map(
    found.sessions.map((row): [string, TreeNode & { parent: string }] => [
      row.sessionId,
      {
        id: row.sessionId,
        title: row.agent,
        text: titleOf(row),
        status: row.status,
        sessionId: row.sessionId,
        totals: row.totals,
        children: [],
        below: Math.max(0, row.totals.sessions - 1),
        parent: String(row.lineage.parentSession ?? row.lineage.parent ?? root),
      },
    ]),
  );
  const top: TreeNode[] = [];
  for (const agent of found.agents) {
    const own = agent.sessionId ? sessions.get(agent.sessionId) : undefined;
    const node: TreeNode = own ?? {
      id: agent.agentId, title: "", text: "", status: "", sessionId: agent.sessionId ?? null, totals: agent.totals, children: [], below: 0,
    };
    Object.assign(node, { title: agent.type, text: words(agent.task), status: agent.status });
    if (own) sessions.delete(agent.sessionId!);
    top.push(node);
  }
  for (const node of sessions.values()) (all(top, node.parent) ?? sessions.get(node.parent) ?? { children: top }).children.push(node);
  return top;
}

function all(nodes: TreeNode[], id: string): TreeNode | null {
  for (const node of nodes) {
    if (node.sessionId === id) return node;
    const inside = all(node.children, id);
    if (inside) return inside;
  }
  return null;
}

export function totalsWords(totals: Totals): string {
  const tokens = totals.tokens.inputTokens + totals.tokens.outputTokens;
  return `${plural(totals.events, "event")}${tokens ? `, ${compact(tokens)} tokens` : ""}`;
}
