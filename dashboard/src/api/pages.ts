/** What the gateway says to Overview, Approvals, Proofs, Memory and Administration. */
import type { TokenCounts } from "./types";

export type OverviewDay = { day: string; sessions: number; events: number; tokens: TokenCounts; costMicros: number };
export type ModelUse = { model: string; tokens: TokenCounts; costMicros: number; priced: boolean };
export type Percentiles = { count: number; p50Ms: number | null; p95Ms: number | null; p99Ms: number | null };
export type RouteTimes = Percentiles & { method: string; route: string; failures: number };
export type Trouble = { severity: "bad" | "warning"; what: string; help: string; docs: string | null; sessionId: string | null };
export type TimerView = {
  name: string;
  everyMs: number;
  running: boolean;
  lastSuccess: string | null;
  lastFailure: string | null;
  failure: string | null;
  runs: number;
  failures: number;
};
export type ServerView = { url: string; host: string; pid: number; startedAt: string };

export type OverviewView = {
  at: string;
  days: OverviewDay[];
  models: ModelUse[];
  currency: string | null;
  requests: { since: string; byRoute: RouteTimes[]; turns: Percentiles; failures: { code: string; count: number }[] } | null;
  store: {
    engine: string;
    sizeBytes: number | null;
    walSizeBytes: number | null;
    freeBytes: number | null;
    sessions: number;
    events: number;
    archives: number;
  };
  gateways: ServerView[];
  timers: TimerView[];
  backups: { lastAt: string | null; path: string | null; checked: boolean | null; damaged: number } | null;
  waitingTasks: number;
  interruptedSessions: number;
  unresolvedEffects: number;
  troubles: Trouble[];
};

export type TaskView = {
  taskId: string;
  sessionId: string;
  contextId: string | null;
  key: string | null;
  state: string;
  question: string | null;
  createdAt: string;
  updatedAt: string;
  version: number;
};
export type TaskList = { tasks: TaskView[]; cursor: string | null };

export type NamespaceView = { namespace: string; memories: number };
export type NamespaceList = { namespaces: NamespaceView[]; cursor: string | null };
export type MemoryView = {
  namespace: string;
  key: string;
  value: unknown;
  version: number;
  source: string | null;
  updatedAt: string;
};
export type MemoryList = { memories: MemoryView[]; cursor: string | null };
/** One version of a memory; one without a digest says that it was forgotten. */
export type MemoryVersion = {
  version: number;
  value: unknown;
  digest: string | null;
  source: string | null;
  createdAt: string;
  erasedAt: string | null;
};
export type MemoryHistory = { versions: MemoryVersion[]; cursor: number | null };

export type ProofCounts = {
  proven: number;
  disproven: number;
  inconclusive: number;
  notReached: number;
  leftOut: number;
  fault: number;
};
export type ProofRun = {
  proofId: string;
  source: "posted" | "folder";
  kind: string;
  target: string | null;
  verdict: string;
  startedAt: string | null;
  seconds: number | null;
  counts: ProofCounts;
  results: { name: string; verdict: string }[];
};
export type ProofList = { proofs: ProofRun[]; cursor: string | null };

export type AccessToken = {
  tokenId: string;
  name: string;
  tenant: string;
  scopes: string[];
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  valid: boolean;
};
export type AuditEntry = {
  entryId: string;
  timestamp: string;
  caller: string;
  tokenId: string | null;
  scope: string;
  action: string;
  target: string;
  details: string | null;
  status: number | null;
};
export type RetentionView = {
  doomed: { sessionId: string; reason: string; updatedAt: string; sizeBytes: number }[];
  held: string[];
  deleted: string[];
};
export type BackupView = {
  path: string;
  bytes: number;
  sessions: number;
  checked: boolean;
  damaged: { tenant: string; sessionId: string; problem: string }[];
  files: number;
};
export type ArchivedView = {
  sessionId: string;
  deletedAt: string;
  purgedAt: string | null;
  reason: string;
  events: number;
  headHash: string;
  sizeBytes: number;
};
export type UndeletionView = {
  sessionId: string;
  events: number;
  headHash: string;
  keys: string[];
  keysTaken: string[];
  notRestored: string[];
};
