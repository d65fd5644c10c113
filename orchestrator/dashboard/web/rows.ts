import type { Line } from "./messages";

export interface Row extends Line { n: number; pos: number; find: string }
export interface Filter { text: string; kind: string; task: string }

const most = 200_000;
const drop = 20_000;

/** Rows is the log: every event as one row, and which of them the filter lets through. All counts are exact. */
export class Rows {
  all: Row[] = [];
  shown: Row[] = [];
  filter: Filter = { text: "", kind: "", task: "" };
  byKind = new Map<string, number>();
  count = 0;
  problems = 0;
  /** forgotten counts the oldest rows that were given up to bound the page's memory. */
  forgotten = 0;
  private known: (task: string) => boolean;

  constructor(known: (task: string) => boolean) {
    this.known = known;
  }

  add(pos: number, l: Line): void {
    const row: Row = { ...l, n: this.count, pos, find: `${l.task ?? ""} ${l.role ?? ""} ${l.text}`.toLowerCase() };
    this.count++;
    this.byKind.set(l.kind, (this.byKind.get(l.kind) ?? 0) + 1);
    if (isProblem(row)) this.problems++;
    this.all.push(row);
    if (this.passes(row)) this.shown.push(row);
    if (this.all.length > most) this.forget();
  }

  private forget(): void {
    this.all = this.all.slice(drop);
    this.forgotten += drop;
    this.refilter();
  }

  set(f: Partial<Filter>): void {
    this.filter = { ...this.filter, ...f };
    this.refilter();
  }

  private refilter(): void {
    this.shown = this.active() ? this.all.filter((r) => this.passes(r)) : [...this.all];
  }

  active(): boolean {
    return !!(this.filter.text || this.filter.kind || this.filter.task);
  }

  private passes(r: Row): boolean {
    const f = this.filter;
    if (f.kind === "problems" ? !isProblem(r) : f.kind && r.kind !== f.kind) return false;
    if (f.task && !this.ofTask(r.task ?? "", f.task)) return false;
    return !f.text || f.text.toLowerCase().split(/\s+/).every((w) => r.find.includes(w));
  }

  /** ofTask: the name of a task means that task and its tester; anything else is a part of names. */
  private ofTask(task: string, want: string): boolean {
    if (this.known(want)) return task === want || task.startsWith(want + "--");
    return task.includes(want);
  }
}

function isProblem(r: Row): boolean {
  return r.level === "bad" || r.level === "warn";
}
