import type { Line } from "./messages";

/** Span is the time that an agent spent on a task; end is 0 while it works. */
export interface Span { agent: string; task: string; role: string; begin: number; end: number; good: boolean }

/** Spans reads from the log when each attempt began and ended. */
export class Spans {
  private marks: Line[] = [];
  private read = 0;
  private tasks = new Map<string, Span[]>();
  private readonly open = new Map<string, Span>();

  add(l: Line): void {
    if (isMark(l)) this.marks.push(l);
  }

  /** before takes in lines that are older than all others. */
  before(lines: Line[]): void {
    const marks = lines.filter(isMark);
    if (marks.length === 0) return;
    this.marks = marks.concat(this.marks);
    this.read = 0;
  }

  /** byTask are the spans of each task, in the order in which they began. */
  byTask(): Map<string, Span[]> {
    if (this.read === 0) {
      this.tasks = new Map();
      this.open.clear();
    }
    for (; this.read < this.marks.length; this.read++) this.take(this.marks[this.read]);
    return this.tasks;
  }

  private take(l: Line): void {
    const agent = l.agent!;
    if (l.kind !== "started") this.close(agent, l);
    else if (!this.open.has(agent)) this.begin(agent, l);
  }

  private begin(agent: string, l: Line): void {
    const span: Span = { agent, task: l.task!, role: l.role ?? "", begin: l.time, end: 0, good: false };
    this.open.set(agent, span);
    const task = span.task.replace(/--.*$/, "") || span.task;
    const of = this.tasks.get(task);
    if (of) of.push(span);
    else this.tasks.set(task, [span]);
  }

  private close(agent: string, l: Line): void {
    const span = this.open.get(agent);
    if (!span) return;
    span.end = l.time;
    span.good = l.kind === "result" && l.level !== "bad" && l.level !== "warn";
    this.open.delete(agent);
  }
}

function isMark(l: Line): boolean {
  return !!l.agent && !!l.task && ["started", "result", "error"].includes(l.kind);
}
