/** What a token may do, in words. */
export const SCOPES: { id: string; what: string }[] = [
  { id: "read", what: "see the tenant's sessions, and follow them" },
  { id: "write", what: "change them, talk to the agent, answer questions" },
  { id: "admin", what: "read and write, and what is done to many sessions at once: export, import, retention, purge, audit" },
  { id: "proofs", what: "post runs of proofs, for CI" },
  { id: "metrics", what: "read /metrics, which says nothing of any tenant" },
  { id: "operator", what: "all of that for every tenant, and the gateway itself: backups, logs, tokens" },
];

export const LASTING: { title: string; ms: number | null }[] = [
  { title: "Until it is revoked", ms: null },
  { title: "1 day", ms: 86_400_000 },
  { title: "30 days", ms: 30 * 86_400_000 },
  { title: "90 days", ms: 90 * 86_400_000 },
  { title: "1 year", ms: 365 * 86_400_000 },
];
