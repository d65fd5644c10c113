import { get, Refused, root, words } from "./api";
import { ask } from "./frame";
import type { Me, Need, Row } from "./messages";

/** A row leaves out what is empty, such as the goal of a run that has not been read yet. */
const blank = { state: "", goal: "", repo: "", created: 0, ended: 0, last: 0, tokens: 0, tasks: 0, ended_tasks: 0, landed: 0, parked: 0, decisions: 0, active: false };

/** Feed is what goes on in all runs: their rows, and the decisions that wait for a person. */
export class Feed {
  readonly rows = new Map<string, Row>();
  needs: Need[] = [];
  /** known reports that the rows and the decisions have come once. */
  known = false;
  live = false;
  refused = "";
  private fresh = false;
  private again = 0;
  private source?: EventSource;
  private timer?: number;
  private resting?: AbortController;
  private release: () => void = () => undefined;
  /** changed is told of the rows and the decisions that there are now. */
  private readonly changed: (rows: Row[], needs: Need[] | null) => void;

  constructor(changed: (rows: Row[], needs: Need[] | null) => void) {
    this.changed = changed;
  }

  close(): void {
    this.source?.close();
    clearTimeout(this.timer);
  }

  /** rest gives the connection up while the page is hidden. Of all hidden pages of a browser one has a connection, and notifies. */
  rest(): void {
    this.close();
    this.live = false;
    const { signal } = (this.resting = new AbortController());
    navigator.locks.request("divisi hidden", { signal }, () => {
      if (signal.aborted) return;
      this.open();
      return new Promise<void>((done) => (this.release = done));
    }).catch(() => undefined); // the page was shown before it was the one
    ask();
  }

  /** wake goes on when the page is shown again: the first message is whole, so that nothing is missed. */
  wake(): void {
    if (!this.resting) return;
    this.resting.abort();
    this.resting = undefined;
    this.release();
    this.close();
    this.open();
  }

  open(): void {
    const source = new EventSource(root + "/feed");
    this.source = source;
    source.onopen = () => {
      this.fresh = this.live = true;
      this.again = 0;
      this.refused = "";
      ask();
    };
    source.addEventListener("runs", (m) => this.runs((JSON.parse(m.data) as Row[] | null) ?? []));
    source.addEventListener("decisions", (m) => this.decisions((JSON.parse(m.data) as Need[] | null) ?? []));
    source.onerror = () => {
      this.live = false;
      ask();
      if (source.readyState === EventSource.CLOSED) this.later();
    };
  }

  private runs(rows: Row[]): void {
    if (this.fresh) this.rows.clear();
    this.fresh = false;
    for (const r of rows) {
      if (r.gone) this.rows.delete(r.id);
      else this.rows.set(r.id, { ...blank, ...r });
    }
    this.known = true;
    this.changed(rows, null);
    ask();
  }

  private decisions(needs: Need[]): void {
    this.needs = needs.map((n) => ({ ...n, options: n.options ?? [] }));
    this.known = true;
    this.changed([], needs);
    ask();
  }

  private later(): void {
    this.again = Math.min(this.again + 1, 10);
    this.timer = setTimeout(() => void this.retry(), 300 * this.again);
  }

  private async retry(): Promise<void> {
    try {
      await get<Me>("/me");
      this.open();
    } catch (err) {
      if (err instanceof Refused) this.refused = words(err);
      this.later();
      ask();
    }
  }
}
