/** A request as a command for a shell; the token is named, not shown. */
import { access } from "./access.svelte";
import { url, type Parameters } from "./api";

export function curl(method: string, path: string, query: Parameters = {}, body?: unknown): string {
  const parts = ["curl -s"];
  if (method !== "GET") parts.push(`-X ${method}`);
  if (access.token) parts.push('-H "Authorization: Bearer $HOLDFAST_TOKEN"');
  if (body !== undefined) parts.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  parts.push(quoted(`${location.origin}${url(path, query)}`));
  return parts.join(" ");
}

function quoted(text: string): string {
  return `'${text.replace(/'/g, `'\\''`)}'`;
}
