import type { Task } from "./messages";

/** Part is a row of the table of tasks: a task, or the head of a template with all its shards. */
export interface Part { key: string; task?: Task; group?: string; of?: Task[]; open?: boolean; hidden?: number; inner?: boolean }

/** From this many on the shards of a template are one group. */
const many = 4;

/** isProblem reports whether a task must never be folded away. */
export function isProblem(t: Task): boolean {
  return !!t.alarm || ["parked", "held"].includes(t.state);
}

/** grouped puts the shards of a template under one head; of a closed group only the failures and the picked one are shown. */
export function grouped(tasks: Task[], open: Set<string>, picked: string): Part[] {
  const shards = new Map<string, Task[]>();
  for (const t of tasks) {
    if (!t.template) continue;
    const of = shards.get(t.template);
    if (of) of.push(t);
    else shards.set(t.template, [t]);
  }
  const parts: Part[] = [];
  const done = new Set<string>();
  for (const t of tasks) {
    const of = shards.get(t.template ?? "");
    if (!of || of.length < many) parts.push({ key: t.id, task: t });
    else if (!done.has(t.template!)) {
      done.add(t.template!);
      parts.push(...one(t.template!, of, open.has(t.template!), picked));
    }
  }
  return parts;
}

function one(name: string, of: Task[], open: boolean, picked: string): Part[] {
  const shown = open ? of : of.filter((t) => isProblem(t) || t.id === picked);
  const head = { key: "template " + name, group: name, of, open, hidden: of.length - shown.length };
  return [head, ...shown.map((t) => ({ key: t.id, task: t, inner: true }))];
}

/** byState counts tasks by their state. */
export function byState(tasks: Task[]): Map<string, number> {
  const n = new Map<string, number>();
  for (const t of tasks) n.set(t.state, (n.get(t.state) ?? 0) + 1);
  return n;
}
