/** Days of the store, which are those of UTC: `2026-11-03`. */
const utcDay = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" });
const utcDayName = new Intl.DateTimeFormat("en", { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });
const DAY = 86_400_000;

/** `3 Nov`. */
export function shortDay(day: string): string {
  return day ? utcDay.format(new Date(`${day}T00:00:00Z`)) : "";
}

/** `Tue, 3 Nov`. */
export function dayName(day: string): string {
  return day ? utcDayName.format(new Date(`${day}T00:00:00Z`)) : "";
}

/** The last so many days, today last. */
export function lastDays(count: number, now: number): string[] {
  return Array.from({ length: count }, (_, at) => new Date(now - (count - 1 - at) * DAY).toISOString().slice(0, 10));
}

/** How often, or how long: `1 day`, `6 hours`, `90 seconds`. */
export function span(ms: number): string {
  const units: [number, string][] = [
    [DAY, "day"],
    [3_600_000, "hour"],
    [60_000, "minute"],
    [1000, "second"],
  ];
  const [size, name] = units.find(([unit]) => ms >= unit && ms % unit === 0) ?? units.find(([unit]) => ms >= 2 * unit) ?? [1000, "second"];
  const count = Math.round((10 * ms) / size) / 10;
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
