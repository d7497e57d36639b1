/** Where the page is: the hash of the address, `#/sessions/s1?seq=5`. Every view can be linked to and survives a reload. */
export type Query = Record<string, string | number | boolean | null | undefined>;

class Route {
  parts = $state.raw<string[]>([]);
  query = $state.raw<URLSearchParams>(new URLSearchParams());
  /** The last address of each page, so that going back to a list finds its filters. */
  #last = new Map<string, string>();

  constructor() {
    this.#read();
    addEventListener("hashchange", () => this.#read());
  }

  get page(): string {
    return this.parts[0] ?? "sessions";
  }

  /** Go to a path; `replace` leaves no step in the history. */
  go(path: string, query: Query = {}, replace = false): void {
    const address = href(path, query);
    if (address === location.hash) return;
    if (replace) {
      history.replaceState(history.state, "", address);
      this.#read();
    } else location.hash = address;
  }

  /** Change some members of the query and keep the others; empty ones are left out. */
  set(changes: Query, replace = true): void {
    const all: Query = Object.fromEntries(this.query);
    this.go(this.parts.map(encodeURIComponent).join("/"), { ...all, ...changes }, replace);
  }

  /** The address of a page as it was left. */
  lastOf(page: string): string {
    return this.#last.get(page) ?? `#/${page}`;
  }

  #read(): void {
    const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
    this.parts = path.split("/").filter(Boolean).map(decoded);
    this.query = new URLSearchParams(query);
    if (this.parts.length <= 1) this.#last.set(this.page, location.hash || "#/sessions");
  }
}

/** An address in this page. */
export function href(path: string, query: Query = {}): string {
  const found = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false);
  const search = new URLSearchParams(found.map(([name, value]) => [name, String(value)])).toString();
  return `#/${path}${search ? `?${search}` : ""}`;
}

export function sessionHref(sessionId: string, query: Query = {}): string {
  return href(`sessions/${encodeURIComponent(sessionId)}`, query);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = new Route();
