import { Filter } from "./query";
import { type Entry, findIn, type Rows } from "./rows";

/** Item is one row of the drawn log: an entry, and how many like it followed at once. */
export interface Item { entry: Entry; times: number }

const around = 20;

/** How many entries are looked at between two looks at the clock. */
const some = 500;

/**
 * Shown is what a person sees of the log: what the filter lets through, without folded lines, repeats as one. It looks at the log
 * from its newest entry back, for as long as a frame may, so that a new filter shows the newest hits at once.
 */
export class Shown {
  items: Item[] = [];
  text = "";
  filter: Filter;
  /** whole shows folded lines too. */
  whole = false;
  matched = 0;
  folded = 0;
  /** near is the number of the entry whose neighbours are shown in place of the filter's hits; null for none. */
  near: number | null = null;
  /** added counts the items that were put before all others, less those that were taken from there. */
  added = 0;
  /** The entries from one number up to another have been looked at. */
  private from = 0;
  private to = 0;
  private readonly rows: Rows;
  private readonly known: (task: string) => boolean;

  constructor(rows: Rows, known: (task: string) => boolean) {
    this.rows = rows;
    this.known = known;
    this.filter = new Filter("", known);
    rows.forgot = (gone) => this.forget(gone);
  }

  active(): boolean {
    return this.filter.terms.length > 0;
  }

  look(text: string): void {
    if (text === this.text) return;
    this.text = text;
    this.near = null;
    this.filter = new Filter(text, this.known);
    this.again();
  }

  fold(whole: boolean): void {
    this.whole = whole;
    this.again();
  }

  /** beside shows the neighbours of an entry, whatever the filter lets through; null goes back to the filter. */
  beside(n: number | null): void {
    this.near = n;
    this.again();
  }

  /** take takes in what has been added to the log since, and older entries until a time. It reports whether it is through. */
  take(until: number): boolean {
    const { rows } = this;
    const first = rows.first();
    if (this.near !== null) {
      const at = Math.max(0, this.near - around - first);
      this.items = rows.all.slice(at, Math.max(at, this.near + around + 1 - first)).map((entry) => ({ entry, times: 1 }));
      return true;
    }
    for (const i of this.pick(Math.max(this.to, first), first + rows.all.length)) put(this.items, i);
    this.to = first + rows.all.length;
    this.from = Math.max(this.from, first);
    let older: Item[] = [];
    while (this.from > first) {
      const from = Math.max(first, this.from - some);
      older = joined(this.pick(from, this.from), older);
      this.from = from;
      if (performance.now() > until) break;
    }
    if (older.length) {
      const had = this.items.length;
      this.items = joined(older, this.items);
      this.added += this.items.length - had;
    }
    return this.from <= first;
  }

  /** looked reports whether the entry with a number has been looked at. */
  looked(n: number): boolean {
    return this.near !== null || n >= this.from;
  }

  private again(): void {
    this.items = [];
    this.matched = this.folded = 0;
    this.from = this.to = this.rows.first() + this.rows.all.length;
    this.take(0);
  }

  /** pick makes the items of the entries from one number up to another. */
  private pick(from: number, to: number): Item[] {
    const items: Item[] = [];
    for (let n = from; n < to; n++) {
      const e = this.rows.at(n)!;
      if (!this.passes(e)) continue;
      this.matched++;
      if (this.folds(e)) this.folded++;
      if (!this.folds(e) || this.whole) put(items, { entry: e, times: 1 });
    }
    return items;
  }

  private passes(e: Entry): boolean {
    return !this.active() || this.filter.passes(e, this.filter.wordy ? findIn(e) : "");
  }

  private folds(e: Entry): boolean {
    return !!e.fold && !this.filter.open;
  }

  /** forget takes out the oldest entries. */
  private forget(gone: Entry[]): void {
    const first = this.rows.first();
    for (const e of gone) {
      if (e.n < this.from || e.n >= this.to || !this.passes(e)) continue;
      this.matched--;
      if (this.folds(e)) this.folded--;
    }
    if (this.near !== null) return;
    const kept = this.items.findIndex((i) => i.entry.n >= first);
    const lost = kept < 0 ? this.items.length : kept;
    this.items = this.items.slice(lost);
    this.added -= lost;
  }
}

/** put appends an item, or counts it with the last one where it is the same again. */
function put(items: Item[], i: Item): void {
  const last = items.at(-1);
  if (last && same(last.entry, i.entry)) last.times += i.times;
  else items.push(i);
}

/** joined are items, and those behind them. */
function joined(items: Item[], behind: Item[]): Item[] {
  const last = items.at(-1);
  if (!last || !behind.length || !same(last.entry, behind[0].entry)) return items.concat(behind);
  last.times += behind[0].times;
  return items.concat(behind.slice(1));
}

function same(a: Entry, b: Entry): boolean {
  return a.text === b.text && a.kind === b.kind && a.agent === b.agent && a.task === b.task;
}
