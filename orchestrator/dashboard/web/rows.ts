import type { Line } from "./messages";
import { isProblem } from "./query";

export interface Entry extends Line { n: number }

const most = 200_000;
/** How many entries are given up at once: so few that no frame is late. */
const drop = 2000;

/** Rows is the log: every event as one entry, numbered in its order. Those before the first that came have numbers below 0. */
export class Rows {
  all: Entry[] = [];
  byKind = new Map<string, number>();
  count = 0;
  problems = 0;
  /** begun reports that there is nothing older than what has come. */
  begun = false;
  /** forgot is told of the oldest entries when they are given up to bound the page's memory; they stay in the counts. */
  forgot: (gone: Entry[]) => void = () => undefined;
  private next = 0;

  /** add takes in the next event. */
  add(l: Line): void {
    this.all.push(this.entry(l, this.next++));
    if (this.all.length > most + drop) this.forgot(this.all.splice(0, drop));
  }

  /** before takes in events that are older than all others; where there are too many already, they are counted alone. */
  before(lines: Line[]): void {
    const first = this.first() - lines.length;
    const entries = lines.map((l, i) => this.entry(l, first + i));
    if (this.all.length + lines.length <= most) this.all = entries.concat(this.all);
  }

  /** first is the number of the oldest entry that is kept. */
  first(): number {
    return this.all.length ? this.all[0].n : this.next;
  }

  /** at finds the entry with a number. */
  at(n: number): Entry | undefined {
    return this.all[n - this.first()];
  }

  /** find finds the first entry at a position of the log. */
  find(pos: number): Entry | undefined {
    let lo = 0, hi = this.all.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (this.all[mid].pos < pos) lo = mid + 1;
      else hi = mid;
    }
    return this.all[lo]?.pos === pos ? this.all[lo] : undefined;
  }

  private entry(l: Line, n: number): Entry {
    const entry: Entry = { ...l, n };
    this.count++;
    this.byKind.set(l.kind, (this.byKind.get(l.kind) ?? 0) + 1);
    if (isProblem(l)) this.problems++;
    return entry;
  }
}

/** findIn is the text of an entry in which a person's words are looked for. */
export function findIn(l: Line): string {
  return `${l.task ?? ""} ${l.role ?? ""} ${l.kind} ${l.text}`.toLowerCase();
}
