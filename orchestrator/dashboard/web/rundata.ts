import { at, getText, Refused } from "./api";
import { ask } from "./frame";
import type { Line, Task, View } from "./messages";
import { Rows } from "./rows";
import { Shown } from "./shown";
import { Spans } from "./spans";
import { Stream } from "./stream";

/** How long one frame may take lines in, in milliseconds: the rest waits for the next frame. */
const slice = 8;

const nothing: View = {
  state: "", goal: "", repo: "", base: "", parallel: 0, tokens: 0, cached: 0, calls: 0, created: 0, ended: 0, last: 0, waited: 0,
  phases: [], agents: [], tasks: [], acts: [],
};

/** RunData is what the page knows of one run: its newest view, its tasks, its log from its newest lines back. */
export class RunData {
  readonly id: string;
  view = nothing;
  readonly tasks = new Map<string, Task>();
  readonly rows = new Rows();
  readonly shown: Shown;
  readonly spans = new Spans();
  readonly stream: Stream;
  /** version rises with each view, changes with each that has rows of tasks. */
  version = 0;
  changes = 0;
  private queue: string[] = [];
  /** older are arrays of lines that are older than all others, and drained is called when all were taken in. */
  private older: string[] = [];
  private drained: () => void = () => undefined;
  private closed = false;

  constructor(id: string) {
    this.id = id;
    this.shown = new Shown(this.rows, (task) => this.tasks.has(task));
    this.stream = new Stream(id, (data) => this.take(data), (data) => this.show(data), ask);
    this.stream.open();
  }

  close(): void {
    this.closed = true;
    this.stream.close();
  }

  private take(data: string): void {
    this.queue.push(data);
    ask();
  }

  private show(data: string): void {
    const view = JSON.parse(data) as View;
    this.view = { ...view, phases: view.phases ?? [], agents: view.agents ?? [], series: view.series ?? this.view.series };
    for (const t of view.tasks ?? []) this.tasks.set(t.id, t);
    this.version++;
    if (view.tasks?.length) this.changes++;
    ask();
  }

  /** read takes in the lines that have come, new ones first, for as long as one frame may. */
  read(): void {
    const until = performance.now() + slice;
    let n = 0;
    while (n < this.queue.length && performance.now() < until) this.add(JSON.parse(this.queue[n++]) as Line[]);
    this.queue.splice(0, n);
    while (this.older.length && performance.now() < until) {
      const lines = JSON.parse(this.older.pop()!) as Line[];
      this.rows.before(lines);
      this.spans.before(lines);
      if (!this.older.length) this.drained();
    }
    const through = this.shown.take(until);
    if (this.queue.length || this.older.length || !through) ask();
  }

  private add(lines: Line[]): void {
    const first = this.rows.count === 0 && lines.length > 0;
    for (const l of lines) {
      this.rows.add(l);
      this.spans.add(l);
    }
    if (first) void this.back(lines[0].pos);
  }

  /** back asks for the lines before a position, until there are none. */
  private async back(before: number): Promise<void> {
    while (before && !this.closed) {
      try {
        const text = await getText(`${at("runs", this.id, "lines")}?before=${before}`);
        this.older = text.split("\n").filter(Boolean);
        before = this.older.length ? (JSON.parse(this.older[0]) as Line[])[0].pos : 0;
      } catch (err) {
        if (err instanceof Refused && err.status < 500) break;
        await new Promise((again) => setTimeout(again, 1000));
        continue;
      }
      if (!before) break;
      ask();
      await new Promise<void>((drained) => (this.drained = drained));
    }
    this.rows.begun = true;
    ask();
  }

  /** lastPos is the position of the newest line that the page shows; 0 while there are more to take in. */
  lastPos(): number {
    return this.queue.length ? 0 : this.stream.received;
  }
}
