/** A run's summary as the page draws it. It comes from whoever posted it: every member is looked at before it is
 * believed, and all of it is text. */
export interface Outcome {
  name: string;
  claim: string;
  verdict: string;
  reason: string;
  expected: string;
  got: string;
  hint: string;
  remedy: string;
  see: string;
  curl: string;
  seconds: number | null;
  /** It is what the others need, not a proof itself. */
  prerequisite: boolean;
}

export interface Layer {
  name: string;
  state: string;
  expected: string;
  got: string;
  curl: string;
}

export interface Run {
  verdict: string;
  kind: string;
  target: string;
  command: string;
  endpoint: string;
  startedAt: string | null;
  seconds: number | null;
  facts: [string, string][];
  outcomes: Outcome[];
  leftOut: [string, string][];
  layers: Layer[];
  failedAssertion: string;
  violations: { claim: string; reason: string; steps: string[] }[];
}

type Document = Record<string, unknown>;

export function runOf(found: unknown): Run {
  const summary = dict(found);
  const target = dict(summary.target);
  const failed = dict(summary.failed_assertion);
  return {
    verdict: text(summary.verdict),
    kind: kindOf(summary),
    target: text(target.name) || text(summary.store),
    command: text(target.command),
    endpoint: text(target.endpoint),
    startedAt: isTime(summary.started_at) ? summary.started_at : null,
    seconds: numeric(summary.seconds),
    facts: factsOf(summary),
    outcomes: [
      ...dicts(summary.prerequisites).map((each) => outcomeOf(each, true)),
      ...dicts(summary.proofs ?? summary.clauses).map((each) => outcomeOf(each, false)),
    ],
    leftOut: Object.entries(dict(summary.left_out)).map(([name, why]) => [name, text(why)]),
    layers: dicts(summary.layers).map((each) => ({
      name: text(each.name),
      state: text(each.state),
      expected: text(each.expected),
      got: text(each.got),
      curl: text(each.curl),
    })),
    failedAssertion: failed.step ? `${text(failed.step)}: ${text(failed.assertion) || text(failed.reason)}` : "",
    violations: dicts(summary.violations).map((each) => ({
      claim: text(each.claim),
      reason: text(each.reason),
      steps: Array.isArray(each.steps) ? each.steps.map(text) : [],
    })),
  };
}

function outcomeOf(each: Document, prerequisite: boolean): Outcome {
  return {
    name: text(each.name),
    claim: text(each.claim),
    verdict: each.fault === true ? "fault" : text(each.verdict),
    reason: text(each.reason),
    expected: text(each.expected),
    got: text(each.got),
    hint: text(each.hint),
    remedy: text(each.remedy),
    see: text(each.see),
    curl: text(each.curl),
    seconds: numeric(each.seconds),
    prerequisite,
  };
}

function kindOf(summary: Document): string {
  if ("explored" in summary) return "explore";
  if ("clauses" in summary) return "store";
  return "session_key" in summary ? "live" : "runtime";
}

/** What else is worth knowing, in the order in which one asks. */
function factsOf(summary: Document): [string, string][] {
  const target = dict(summary.target);
  const versions = dict(summary.versions);
  const explored = dict(summary.explored);
  const found: [string, unknown][] = [
    ["Command", target.command],
    ["Endpoint", target.endpoint],
    ["Session key", summary.session_key],
    ["Adapter", summary.adapter],
    ["Wire", summary.wire],
    ["Seed", summary.seed],
    ["Histories", explored.histories],
    ["Operations", explored.operations],
    ["Holdfast", versions.holdfast],
    ["Gateway", versions.gateway],
    ["Python", versions.python],
    ["Platform", versions.platform],
    ["Evidence", summary.evidence],
  ];
  return found.map(([name, value]): [string, string] => [name, text(value)]).filter(([, value]) => value !== "");
}

function dict(value: unknown): Document {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Document) : {};
}

function dicts(value: unknown): Document[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "object" && each !== null && !Array.isArray(each)) : [];
}

function text(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function numeric(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

function isTime(value: unknown): value is string {
  return typeof value === "string" && !Number.isNaN(Date.parse(value));
}

/** How one claim came out in two runs. */
export interface Change {
  name: string;
  before: Outcome | null;
  after: Outcome | null;
  /** `better`, `worse`, `other` or `same`. */
  change: "better" | "worse" | "other" | "same";
}

export function compared(before: Run, after: Run): Change[] {
  const names = [...new Set([...after.outcomes, ...before.outcomes].map((each) => each.name))];
  return names.map((name) => {
    const first = before.outcomes.find((each) => each.name === name) ?? null;
    const second = after.outcomes.find((each) => each.name === name) ?? null;
    return { name, before: first, after: second, change: changeOf(first, second) };
  });
}

function changeOf(before: Outcome | null, after: Outcome | null): Change["change"] {
  if (before?.verdict === after?.verdict) return "same";
  if (after?.verdict === "proven" && before) return "better";
  if (after?.verdict === "disproven" || (before?.verdict === "proven" && after)) return "worse";
  return "other";
}
