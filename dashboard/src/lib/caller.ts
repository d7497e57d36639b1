/** Who the gateway says that we are. */
import type { Caller } from "../api/types";
import { access } from "./access.svelte";
import { get, told } from "./api";

export async function loadCaller(): Promise<void> {
  access.caller = await get<Caller>("/api/caller");
}

/** Go on with another token. If it is somebody's who may see other sessions, the page begins anew: nothing that it shows,
 * and nothing that waits to be sent, is theirs. */
export async function enter(token: string): Promise<void> {
  const before = access.caller;
  if (!before) return access.answer(token);
  try {
    const caller = await get<Caller>("/api/caller", {}, { token, ask: false });
    if (caller.tenant !== before.tenant) return access.change(token);
    access.caller = caller;
    access.answer(token);
  } catch (error) {
    access.asking = told(error).message;
  }
}
