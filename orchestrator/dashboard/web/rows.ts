import type { Line } from "./messages";
import { isProblem } from "./query";

export interface Entry extends Line { n: number; pos: number; find: string }

const most = 200_000;
const drop = 20_000;

/** Rows is the log: every event as one entry. All counts are exact. */
export class Rows {
  all: Entry[] = [];
  byKind = new Map<string, number>();
  count = 0;
  problems = 0;
  /** forgotten counts the oldest entries that were given up to bound the page's memory. */
  forgotten = 0;

  add(pos: number, l: Line): Entry {
    const find = `${l.task ?? ""} ${l.role ?? ""} ${l.kind} ${l.text}`.toLowerCase();
    const entry: Entry = { ...l, n: this.count, pos, find };
    this.count++;
    this.byKind.set(l.kind, (this.byKind.get(l.kind) ?? 0) + 1);
    if (isProblem(entry)) this.problems++;
    this.all.push(entry);
    if (this.all.length > most) this.forget();
    return entry;
  }

  private forget(): void {
    this.all = this.all.slice(drop);
    this.forgotten += drop;
  }
}
