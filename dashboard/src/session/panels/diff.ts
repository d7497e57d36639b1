/** Two documents compared: every place where they differ. */
export interface Difference {
  path: string;
  kind: "added" | "removed" | "changed";
  before: unknown;
  after: unknown;
}

const MOST = 500;

export function differences(before: unknown, after: unknown): Difference[] {
  const found: Difference[] = [];
  walk("", before, after, found);
  return found;
}

function walk(path: string, before: unknown, after: unknown, found: Difference[]): void {
  if (found.length >= MOST || same(before, after)) return;
  if (isObject(before) && isObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const place = path ? `${path}.${name}` : name;
      if (!(name in before)) found.push({ path: place, kind: "added", before: undefined, after: after[name] });
      else if (!(name in after)) found.push({ path: place, kind: "removed", before: before[name], after: undefined });
      else walk(place, before[name], after[name], found);
    }
  } else found.push({ path: path || "(all)", kind: "changed", before, after });
}

function same(left: unknown, right: unknown): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
