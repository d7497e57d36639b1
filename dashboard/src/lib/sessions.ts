/** What a session is called, and what its state looks like. */
import type { SessionRow } from "../api/types";

export function titleOf(row: SessionRow): string {
  const own = row.metadata?.title;
  return row.summary?.title || (typeof own === "string" && own) || row.sessionId;
}

export const STATUSES = ["active", "completed", "failed", "cancelled", "interrupted", "archived"] as const;

export function keyOf(row: SessionRow): string | null {
  return row.summary?.keys?.[0] ?? null;
}
