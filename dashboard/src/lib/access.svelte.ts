/** Who uses the page: the token, kept for this tab only, and what the gateway says that it may do. */
import type { Caller } from "../api/types";

const KEY = "holdfast.token";

class Access {
  token = $state<string | null>(read());
  caller = $state.raw<Caller | null>(null);
  /** Why a token is asked for; null while none is. */
  asking = $state<string | null>(null);
  #answered: (() => void)[] = [];

  may(scope: string): boolean {
    return this.caller?.scopes.includes(scope) ?? false;
  }

  /** Wait until there is another token than the one that was refused. */
  ask(refused: string | null, why: string): Promise<void> {
    if (this.token !== refused) return Promise.resolve();
    this.asking = refused ? why : "";
    return new Promise((resolve) => this.#answered.push(resolve));
  }

  answer(token: string): void {
    this.#keep(token);
    this.asking = null;
    for (const each of this.#answered.splice(0)) each();
  }

  /** Begin anew with another token. */
  change(token: string): void {
    this.#keep(token);
    location.reload();
  }

  leave(): void {
    try {
      sessionStorage.removeItem(KEY);
    } catch {
      // There was nothing to forget.
    }
    this.token = null;
    location.reload();
  }

  #keep(token: string): void {
    this.token = token;
    try {
      sessionStorage.setItem(KEY, token);
    } catch {
      // It lasts as long as the page then.
    }
  }
}

function read(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export const access = new Access();
