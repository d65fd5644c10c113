import type { Line } from "./messages";

/** Span is the time that an agent spent on a task; end is 0 while it works. */
export interface Span { agent: string; task: string; role: string; begin: number; end: number; good: boolean }

/** Spans reads from the log when each attempt began and ended. */
export class Spans {
  readonly byTask = new Map<string, Span[]>();
  private readonly open = new Map<string, Span>();

  add(l: Line): void {
    const agent = l.agent ?? "";
    if (!agent || !l.task) return;
    if (l.kind === "started" && !this.open.has(agent)) this.begin(agent, l);
    if (l.kind === "result" || l.kind === "error") this.close(agent, l);
  }

  private begin(agent: string, l: Line): void {
    const span: Span = { agent, task: l.task!, role: l.role ?? "", begin: l.time, end: 0, good: false };
    this.open.set(agent, span);
    const task = span.task.replace(/--.*$/, "") || span.task;
    const of = this.byTask.get(task);
    if (of) of.push(span);
    else this.byTask.set(task, [span]);
  }

  private close(agent: string, l: Line): void {
    const span = this.open.get(agent);
    if (!span) return;
    span.end = l.time;
    span.good = l.kind === "result" && l.level !== "bad" && l.level !== "warn";
    this.open.delete(agent);
  }
}
