/** Numbers, times and plurals as people read them. */
const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "full", timeStyle: "long" });
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const dayAndMonth = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });
const fullDay = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });
const longDay = new Intl.DateTimeFormat("en", { weekday: "long", day: "numeric", month: "long", year: "numeric" });

/** `1 event`, `2 events`, `1,234 entries`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${whole.format(count)} ${count === 1 ? one : many}`;
}

export function number(count: number): string {
  return whole.format(count);
}

/** `987`, `12.3K`, `4M`. */
export function compact(count: number): string {
  return Math.abs(count) < 10_000 ? whole.format(count) : short.format(count);
}

export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = count;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${size < 10 && unit > 0 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

/** Millionths of a currency as an amount. */
export function cost(micros: number): string {
  const amount = micros / 1_000_000;
  return amount === 0 ? "0" : amount < 0.01 ? amount.toFixed(4) : amount.toFixed(2);
}

/** `just now`, `5 min ago`, `14:05`, `3 Nov`, as seen from now. */
export function ago(time: string | number, now: number): string {
  const at = new Date(time);
  const seconds = (now - at.getTime()) / 1000;
  if (seconds < 45) return "just now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  const today = new Date(now);
  if (at.toDateString() === today.toDateString()) return clock.format(at);
  const yesterday = new Date(now - 86_400_000);
  if (at.toDateString() === yesterday.toDateString()) return "yesterday";
  return (at.getFullYear() === today.getFullYear() ? dayAndMonth : fullDay).format(at);
}

export function timeOfDay(time: string): string {
  return clock.format(new Date(time));
}

export function day(time: string): string {
  return longDay.format(new Date(time));
}

/** The whole of it, for who hovers. */
export function exactly(time: string | number): string {
  return exact.format(new Date(time));
}

/** `350 ms`, `4.2 s`, `3 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

export function cut(text: string, most: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}

/** `in_progress` as `in progress`. */
export function spaced(name: string): string {
  return name.replace(/[_-]+/g, " ");
}

/** Words without the marks of Markdown, for one line. */
export function plain(text: string): string {
  return text
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/(\*\*|__|~~|`+)(.+?)\1/g, "$2")
    .replace(/(^|\s)\*(\S[^*]*)\*/g, "$1$2")
    .replace(/(^|\s)#{1,6}\s+/g, "$1");
}
