/** The names by which the page knows what the gateway says. They are the OpenAPI document's (scripts/dashboard-types). */
import type { components } from "./schema";

type Wire = components["schemas"];
type Loose<Shape> = Omit<Shape, "details"> & { details?: unknown };

export type Caller = Wire["CallerView"];
export type TokenCounts = Wire["TokenCounts"];
export type LastWords = Wire["LastWords"];
export type Summary = Wire["SummaryView"];
export type SessionRow = Wire["SessionRow"];
export type SessionList = Wire["SessionList"];

/** One event of a session's log; `details` is null if it was erased, or if it is larger than a page of the log shows.
 * What the live feed brings has less beside it. */
export type LogEvent = Loose<Pick<Wire["EventView"], "seq" | "type" | "timestamp">> & Partial<Loose<Wire["EventView"]>>;

export type Damaged = Wire["DamagedEvent"];
export type LogPage = Omit<Wire["EventWindow"], "events"> & { events: LogEvent[] };
export type PromptPage = Wire["PromptWindow"];
export type Hit = Wire["HitView"];
export type HitPage = Wire["HitList"];

/** A session by itself: `metadata` has the members of a row, and its own metadata beside them. */
export type SessionDetail = { metadata: SessionRow & Record<string, unknown>; summary?: Summary };

export type GoalView = Wire["GoalView"];
export type SubAgentView = Wire["SubAgentView"];
export type StateView = Wire["StateView"] & Record<string, unknown>;
export type Checkpoint = Wire["CheckpointView"];
export type StateVersions = Wire["StateVersionList"];
export type StateDocument = Wire["VersionedState"];
export type Totals = Wire["SubtreeTotals"];
export type ChildTree = Wire["FamilyView"];
export type Verification = Wire["VerificationView"];
export type Attachment = Wire["AttachmentView"];
export type Memory = Wire["MemoryView"];
