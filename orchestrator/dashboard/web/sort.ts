import type { Task } from "./messages";

export type Order = "state" | "id" | "role" | "attempt" | "lines" | "tokens";
export interface Sort { by: Order; down: boolean }

/** again is the sort after a click on a column: figures begin with the largest, a second click turns the order round. */
export function again(s: Sort, by: Order): Sort {
  if (s.by === by) return { by, down: !s.down };
  return { by, down: by === "lines" || by === "attempt" || by === "tokens" };
}

/** The order of states when sorted: failures first, then what moves, then what waits, then what is over. */
export const states = [
  "parked", "held", "running", "verifying", "accepted", "landing", "pending", "landed unverified", "landed better", "landed", "done", "dropped", "skipped", "cancelled",
];

export function sorted(rows: Task[], s: Sort): Task[] {
  const sign = s.down ? -1 : 1;
  return [...rows].sort((a, b) => sign * compare(a, b, s.by));
}

function compare(a: Task, b: Task, by: Order): number {
  switch (by) {
    case "state": return states.indexOf(a.state) - states.indexOf(b.state);
    case "lines": return a.added + a.deleted - b.added - b.deleted;
    case "attempt": return a.attempt - b.attempt;
    case "tokens": return a.tokens - b.tokens;
    default: return a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : 0;
  }
}
