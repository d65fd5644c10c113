import { ask } from "./frame";
import type { Line, Task, View } from "./messages";
import { Rows } from "./rows";
import { Shown } from "./shown";
import { Spans } from "./spans";
import { Stream } from "./stream";

/** How long one frame may take lines in, in milliseconds: the rest waits for the next frame. */
const slice = 10;

const nothing: View = {
  state: "", goal: "", repo: "", base: "", parallel: 0, tokens: 0, cached: 0, calls: 0, created: 0, ended: 0, last: 0, waited: 0,
  phases: [], agents: [], tasks: [],
};

/** RunData is what the page knows of one run: its newest view, its tasks, its log. */
export class RunData {
  readonly id: string;
  view = nothing;
  readonly tasks = new Map<string, Task>();
  readonly rows = new Rows();
  readonly shown: Shown;
  readonly spans = new Spans();
  readonly stream: Stream;
  /** version rises with each view. */
  version = 0;
  private queue: { pos: number; data: string }[] = [];
  private readonly seen: string[] | null;

  constructor(id: string, seen: string[] | null) {
    this.id = id;
    this.seen = seen;
    this.shown = new Shown(this.rows, (task) => this.tasks.has(task));
    this.stream = new Stream(id, (pos, data) => this.take(pos, data), (data) => this.show(data), ask);
    this.stream.open();
  }

  close(): void {
    this.stream.close();
  }

  private take(pos: number, data: string): void {
    this.queue.push({ pos, data });
    ask();
  }

  private show(data: string): void {
    const view = JSON.parse(data) as View;
    this.view = { ...view, phases: view.phases ?? [], agents: view.agents ?? [] };
    for (const t of view.tasks ?? []) this.tasks.set(t.id, t);
    this.version++;
    ask();
  }

  /** read takes in the lines that have come, for as long as one frame may. */
  read(): void {
    const until = performance.now() + slice;
    let n = 0;
    while (n < this.queue.length && (document.hidden || performance.now() < until)) {
      const { pos, data } = this.queue[n++];
      for (const l of JSON.parse(data) as Line[]) {
        this.spans.add(this.rows.add(pos, l));
        this.seen?.push(l.id);
      }
    }
    this.queue.splice(0, n);
    this.shown.take();
    if (this.queue.length) ask();
  }

  /** lastPos is the position of the newest line that the page shows; 0 while there are more to take in. */
  lastPos(): number {
    return this.queue.length ? 0 : this.stream.received;
  }
}
