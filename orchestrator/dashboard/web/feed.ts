import { get, Refused, root, words } from "./api";
import { ask } from "./frame";
import type { Me, Need, Row } from "./messages";

/** A row leaves out what is empty, such as the goal of a run that has not been read yet. */
const blank = { state: "", goal: "", repo: "", created: 0, ended: 0, last: 0, tokens: 0, tasks: 0, ended_tasks: 0, landed: 0, parked: 0, decisions: 0, active: false };

/** What the page that has the connection tells the other pages of the browser, and "ask", with which a new one asks for all. */
interface Told { event: "ask" | "lost" | "all" | "runs" | "decisions"; rows?: Row[]; needs?: Need[] }

/** Feed is what goes on in all runs: their rows, and the decisions that wait for a person. Of all pages that are shown one has a
    connection, and tells the others. */
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
  private readonly others = new BroadcastChannel("divisi feed");
  private leading?: AbortController;
  private leads = false;
  /** changed is told of the rows and the decisions that there are now. */
  private readonly changed: (rows: Row[], needs: Need[] | null) => void;

  constructor(changed: (rows: Row[], needs: Need[] | null) => void) {
    this.changed = changed;
    this.others.onmessage = (m) => this.heard(m.data as Told);
  }

  close(): void {
    this.leading?.abort();
    this.leading = undefined;
    this.leads = false;
    this.release();
    this.source?.close();
    clearTimeout(this.timer);
  }

  /** open follows the page that has the connection, and is that page once there is no other. */
  open(): void {
    const { signal } = (this.leading = new AbortController());
    navigator.locks.request("divisi feed", { signal }, () => {
      if (signal.aborted) return;
      this.leads = true;
      this.connect();
      return new Promise<void>((done) => (this.release = done));
    }).catch(() => undefined); // the page was hidden before it was the one
    this.tell({ event: "ask" });
  }

  private tell(told: Told): void {
    this.others.postMessage(told);
  }

  private heard(told: Told): void {
    if (this.leads && told.event === "ask") return this.tell(this.live ? { event: "all", rows: [...this.rows.values()], needs: this.needs } : { event: "lost" });
    if (this.leads || !this.leading || told.event === "ask") return;
    this.live = told.event !== "lost" && (this.live || told.event === "all");
    if (told.event === "all") this.fresh = true;
    if (told.rows && this.live) this.runs(told.rows);
    if (told.needs && this.live) this.decisions(told.needs);
    ask();
  }

  /** rest gives the connection up while the page is hidden. Of all hidden pages of a browser one has a connection, and notifies. */
  rest(): void {
    this.close();
    this.live = false;
    const { signal } = (this.resting = new AbortController());
    navigator.locks.request("divisi hidden", { signal }, () => {
      if (signal.aborted) return;
      this.connect();
      return new Promise<void>((done) => (this.release = done));
    }).catch(() => undefined); // the page was shown before it was the one
    ask();
  }

  /** wake goes on when the page is shown again: the first message is whole, so that nothing is missed. */
  wake(): void {
    if (!this.resting) return;
    this.resting.abort();
    this.resting = undefined;
    this.close();
    this.open();
  }

  private connect(): void {
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
      if (this.leads) this.tell({ event: "lost" });
      ask();
      if (source.readyState === EventSource.CLOSED) this.later();
    };
  }

  private runs(rows: Row[]): void {
    if (this.leads) this.tell({ event: this.fresh ? "all" : "runs", rows });
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
    if (this.leads) this.tell({ event: "decisions", needs });
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
      this.connect();
    } catch (err) {
      if (err instanceof Refused) this.refused = words(err);
      this.later();
      ask();
    }
  }
}
