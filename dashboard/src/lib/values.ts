/** JSON values as people read and write them: a text stands for itself, everything else is JSON. */
export function shownValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** What was written, as a value: JSON where it is meant as such, else the text. */
export function readValue(text: string, asJson: boolean): unknown {
  return asJson ? (JSON.parse(text) as unknown) : text;
}
