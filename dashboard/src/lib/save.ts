/** Give somebody a file. */
import { send, type Parameters } from "./api";

export function save(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name.replace(/[/\\:*?"<>|\x00-\x1f]/g, "-").slice(0, 120);
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** What the gateway gives at a path, as a file. */
export async function saveFrom(path: string, name: string, query: Parameters = {}): Promise<void> {
  const answer = await send("GET", path, { query, headers: { Accept: "*/*" } });
  save(await answer.blob(), name);
}

/** Text to the clipboard. A page that is neither on https nor on this machine has none, and copies what is selected. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

function copySelected(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "for-readers";
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
  }
}
