import { Filter } from "./query";
import type { Entry, Rows } from "./rows";

/** Item is one row of the drawn log: an entry, and how many like it followed at once. */
export interface Item { entry: Entry; times: number }

const around = 20;

/** Shown is what a person sees of the log: what the filter lets through, without folded lines, repeats as one. */
export class Shown {
  items: Item[] = [];
  text = "";
  filter: Filter;
  /** whole shows folded lines too. */
  whole = false;
  matched = 0;
  folded = 0;
  /** near is the number of the entry whose neighbours are shown in place of the filter's hits; -1 for none. */
  near = -1;
  /** version rises when the items are made anew. */
  version = 0;
  private next = 0;
  private forgotten = 0;
  private readonly rows: Rows;
  private readonly known: (task: string) => boolean;

  constructor(rows: Rows, known: (task: string) => boolean) {
    this.rows = rows;
    this.known = known;
    this.filter = new Filter("", known);
  }

  active(): boolean {
    return this.filter.terms.length > 0;
  }

  look(text: string): void {
    if (text === this.text) return;
    this.text = text;
    this.near = -1;
    this.filter = new Filter(text, this.known);
    this.again();
  }

  fold(whole: boolean): void {
    this.whole = whole;
    this.again();
  }

  /** beside shows the neighbours of an entry, whatever the filter lets through; -1 goes back to the filter. */
  beside(n: number): void {
    this.near = n;
    this.again();
  }

  /** take takes in what has been added to the log since. */
  take(): void {
    if (this.forgotten !== this.rows.forgotten) return this.again();
    const { all } = this.rows;
    for (; this.next < all.length; this.next++) this.push(all[this.next]);
  }

  private again(): void {
    this.items = [];
    this.matched = this.folded = this.next = 0;
    this.forgotten = this.rows.forgotten;
    this.version++;
    this.take();
  }

  private push(e: Entry): void {
    if (this.near >= 0) {
      if (Math.abs(e.n - this.near) <= around) this.items.push({ entry: e, times: 1 });
      return;
    }
    if (this.active() && !this.filter.passes(e, e.find)) return;
    this.matched++;
    if (e.fold && !this.filter.open) {
      this.folded++;
      if (!this.whole) return;
    }
    const last = this.items.at(-1);
    if (last && same(last.entry, e)) last.times++;
    else this.items.push({ entry: e, times: 1 });
  }
}

function same(a: Entry, b: Entry): boolean {
  return a.text === b.text && a.kind === b.kind && a.agent === b.agent && a.task === b.task;
}
