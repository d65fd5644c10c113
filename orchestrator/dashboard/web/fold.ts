import type { Event, Handoff, LandingData, PlanData, Receipt, Result, RunData, Task, TaskData, Usage } from "./events";
import { wants } from "./line";

export interface TaskRow {
  id: string;
  title: string;
  role: string;
  state: string;
  reason: string;
  /** alarm: the reason is a failure's. */
  alarm: boolean;
  attempt: number;
  /** notes are what its agents reported beside their results: broken constraints, deviations, findings. */
  notes: string[];
  added: number;
  deleted: number;
  tokens: number;
  order: number;
  planned: boolean;
}

export interface Agent {
  id: string;
  task: string;
  attempt: number;
  role: string;
  worker: string;
  delivery: number;
  since: number;
  last: number;
  doing: string;
  /** waits: it waits for others. */
  waits?: boolean;
  turns: number;
  tokens: number;
}

const verify = "--verify";
export const endedTask = new Set(["done", "landed", "landed unverified", "parked", "cancelled"]);
export const endedRun = new Set(["done", "parked", "stopped", "cancelled"]);
/** noProof is the state of a task that landed in a run that proves nothing. */
const noProof = "landed unverified";
const proven = new Set(["proven", "unverified", noProof, "landing", "done", "landed", "parked", "cancelled"]);

export type PhaseState = "waiting" | "working" | "done" | "ended";
export interface Phase { name: string; state: PhaseState; good: number; bad: number; part: number; total: number; note: string }

/** Run is everything that the page shows about a run: a fold over its events, and nothing else. */
export class Run {
  id = "";
  state = "";
  reason = "";
  /** wait: what the run waits for a person to do, since waiting; waited is how long it had waited before. */
  wait = "";
  waiting = 0;
  waited = 0;
  goal = "";
  repo = "";
  base = "";
  branch = "";
  parallel = 0;
  budget = 0;
  gates = 0;
  writes: Record<string, boolean> = {};
  created = 0;
  last = 0;
  ended = 0;
  epoch = 0;
  approved = false;
  /** unverified says why nothing that lands is proven. */
  unverified = "";
  head = "";
  ref = "";
  notices: string[] = [];
  baseline: Receipt[] = [];
  final: Receipt[] = [];
  plans = 0;
  overlaps = 0;
  ceiling = 0;
  tokens = 0;
  cached = 0;
  calls = 0;
  batches = 0;
  tasks = new Map<string, TaskRow>();
  agents = new Map<string, Agent>();
  gatesRun = { baseline: 0, final: 0 };
  passed = new Set<string>();

  apply(e: Event): void {
    this.id ||= e.run;
    const at = Date.parse(e.time);
    this.last = Math.max(this.last, at || 0);
    const d = (e.data ?? {}) as never;
    switch (e.kind) {
      case "run": return this.run(d, at);
      case "plan": return this.plan(d);
      case "task": return this.task(e, d);
      case "landing": return this.landing(d);
      default: return this.work(e, d, at);
    }
  }

  private run(d: RunData, at: number): void {
    if (d.spec) this.spec(d.spec);
    if (d.state) {
      this.state = d.state;
      this.reason = d.reason ?? "";
      this.passed.add(d.state);
      this.ended = endedRun.has(d.state) ? at : 0;
      if (this.ended) this.agents.clear();
    }
    if (d.wait !== undefined || this.ended) {
      this.waited = this.waitedUntil(at);
      [this.wait, this.waiting] = [d.wait ?? "", at];
    }
    if (d.unverified) this.unverified = d.unverified;
    if (d.baseline) this.baseline = d.baseline;
    if (d.final) this.final = d.final;
    if (d.epoch) this.epoch = d.epoch;
    if (d.approved) this.approved = true;
    if (d.budget !== undefined) this.budget = d.budget;
    if (d.head) this.head = d.head;
    if (d.ref) this.ref = d.ref;
    if (d.notices) this.notices.push(...d.notices);
  }

  /** waitedUntil is how long the run had waited for a person at a time: that is not the run's own time. */
  waitedUntil(at: number): number {
    return this.waited + (this.wait ? Math.max(0, at - this.waiting) : 0);
  }

  private spec(s: NonNullable<RunData["spec"]>): void {
    this.goal = s.goal;
    this.repo = s.repo;
    this.base = s.base;
    this.branch = s.branch ?? "";
    this.parallel = s.parallel;
    this.budget = s.budget ?? 0;
    this.gates = s.project?.gates?.length ?? 0;
    this.created = Date.parse(s.created);
    for (const [name, role] of Object.entries(s.roles ?? {})) this.writes[name] = !!role.writes;
  }

  private plan(d: PlanData): void {
    this.plans++;
    this.overlaps += d.overlaps?.length ?? 0;
    this.ceiling += d.ceiling ?? 0;
    for (const t of d.tasks ?? []) this.add(t, !t.shard);
  }

  private add(t: Task, planned: boolean): TaskRow {
    const had = this.tasks.get(t.id);
    if (had?.planned) return had;
    const row: TaskRow = {
      id: t.id, title: t.title ?? "", role: t.role, state: had?.state ?? "pending", reason: had?.reason ?? "",
      alarm: had?.alarm ?? false, notes: had?.notes ?? [], attempt: had?.attempt ?? 0, added: 0, deleted: 0, tokens: had?.tokens ?? 0, order: had?.order ?? this.tasks.size, planned,
    };
    this.tasks.set(t.id, row);
    return row;
  }

  private task(e: Event, d: TaskData): void {
    if (!e.task) return;
    const row = this.tasks.get(e.task) ?? this.add({ id: e.task, role: e.role || d.dispatch?.role || "" }, false);
    row.state = d.state;
    row.reason = d.reason || d.fault?.message || "";
    row.alarm = !!d.fault || d.state === "parked";
    if (d.state === "parked" || d.state === "cancelled") row.added = row.deleted = 0;
    if (d.state === "running" && d.dispatch) {
      row.attempt = d.dispatch.attempt;
      row.role ||= d.dispatch.role;
    }
    for (const [id, a] of this.agents) {
      const own = a.task === e.task && d.state !== "running";
      if (own || (a.task === e.task + verify && d.state !== "verifying")) this.agents.delete(id);
    }
  }

  private landing(d: LandingData): void {
    this.batches = Math.max(this.batches, d.batch);
    const to: Record<string, string> = {
      testing: "landing", landed: d.unverified ? noProof : "landed", split: this.unverified ? "unverified" : "proven",
    };
    for (const l of d.tasks ?? []) {
      const row = this.tasks.get(l.task);
      if (!row) continue;
      row.state = to[d.state] ?? row.state;
      row.added = l.added ?? row.added;
      row.deleted = l.deleted ?? row.deleted;
    }
  }

  /** work folds what a worker wrote. */
  private work(e: Event, d: never, at: number): void {
    if (!e.task) return;
    if (e.kind === "usage") this.usage(e, d);
    if (e.kind === "receipt" && e.task === "--baseline") this.gatesRun.baseline++;
    if (e.kind === "receipt" && e.task === "--final") this.gatesRun.final++;
    const id = e.agent || `${e.task}/${e.attempt ?? 0}`;
    if (e.kind === "result") return this.result(id, e, d);
    let a = this.agents.get(id);
    if (e.kind === "started") {
      const s = d as { worker?: string; delivery?: number };
      a = {
        id, task: e.task, attempt: e.attempt ?? 0, role: e.role ?? "", worker: s.worker ?? "", delivery: s.delivery ?? 1,
        since: a?.since ?? at, last: at, doing: "starting", turns: a?.turns ?? 0, tokens: a?.tokens ?? 0,
      };
      this.agents.set(id, a);
    }
    if (!a) return;
    a.last = at;
    if (e.kind === "turn") a.turns++;
    if (e.kind === "progress") a.doing = (d as { doing?: string }).doing ?? "";
    if (e.kind === "request") [a.waits, a.doing] = [true, wants(d)];
    if (e.kind === "tool" && a.waits) [a.waits, a.doing] = [false, ""];
    if (e.kind === "usage") a.tokens += total(d);
  }

  private usage(e: Event, u: Usage): void {
    this.tokens += total(u);
    this.cached += u.cached ?? 0;
    this.calls += u.calls ?? 0;
    const row = this.tasks.get((e.task ?? "").replace(verify, ""));
    if (row) row.tokens += total(u);
  }

  private result(id: string, e: Event, r: Result): void {
    this.agents.delete(id);
    const by = e.task?.endsWith(verify) ? "its tester: " : "";
    const row = this.tasks.get((e.task ?? "").replace(verify, ""));
    if (row) row.notes = by ? [...row.notes, ...notesOf(r.handoff, by)] : notesOf(r.handoff, by);
    if (row && r.patch && !by) {
      row.added = r.patch.added ?? 0;
      row.deleted = r.patch.deleted ?? 0;
    }
  }

  /** planned are the rows that a plan asked for: what progress is counted in. */
  planned(): TaskRow[] {
    return [...this.tasks.values()].filter((t) => t.planned);
  }

  phases(): Phase[] {
    const rows = this.planned();
    const over = this.ended > 0;
    const at = (s: string) => this.state === s;
    const began = this.passed;
    const planning = began.has("planning");
    const writers = rows.filter((t) => this.writes[t.role] ?? false);
    const readers = rows.filter((t) => !(this.writes[t.role] ?? false));
    const count = (list: TaskRow[], ...states: string[]) => list.filter((t) => states.includes(t.state)).length;
    const parked = (list: TaskRow[]) => count(list, "parked", "cancelled");
    const state = (now: boolean, was: boolean): PhaseState => (now ? "working" : was ? "done" : over ? "ended" : "waiting");
    const running = began.has("running");
    const landedAll = writers.length > 0 && writers.every((t) => endedTask.has(t.state));
    const base = this.baseline.length || (at("preflight") ? this.gatesRun.baseline : 0);
    const fin = this.final.length || (at("final") ? this.gatesRun.final : 0);
    const badFinal = this.final.filter((r) => r.verdict === "fail" || r.verdict === "unattributable").length;
    const red = this.baseline.filter((r) => r.verdict !== "pass").length;
    const survey = count(readers, "done");
    return [
      {
        name: "Preflight", state: state(at("preflight") || at("created"), this.baseline.length > 0 || planning || running),
        good: base, bad: 0, part: 0, total: Math.max(this.gates, base), note: red ? `gates, ${red} red before` : "gates",
      },
      {
        name: planning ? "Survey and plan" : "Plan", state: state(at("planning"), running), good: planning ? survey : rows.length,
        bad: planning ? parked(readers) : 0, part: 0, total: planning ? readers.length : rows.length,
        note: planning ? `surveys, ${rows.length} tasks` : "tasks",
      },
      {
        name: "Tasks", state: state(at("running") && !rows.every((t) => proven.has(t.state)), running && rows.length > 0),
        good: count(rows, "proven", "unverified", "landing", "done", "landed", noProof), bad: parked(rows),
        part: count(rows, "running", "verifying"), total: rows.length, note: this.unverified ? "unverified" : "proven",
      },
      {
        name: "Landing", state: state(running && !landedAll && !over && (at("running")), running && landedAll),
        good: count(writers, "landed", noProof, "done"), bad: parked(writers), part: count(writers, "landing"), total: writers.length,
        note: this.batches ? `landed, ${this.batches} ${this.batches === 1 ? "batch" : "batches"}` : "landed",
      },
      {
        name: "Final gates", state: state(at("final"), this.final.length > 0),
        good: fin - badFinal, bad: badFinal, part: 0, total: Math.max(this.gates, fin), note: "gates",
      },
    ];
  }
}

function notesOf(handoff: Handoff | undefined, by: string): string[] {
  return [
    ...(handoff?.constraints ?? []).filter((c) => !c.kept).map((c) => `broken constraint ${c.text}: ${by}${c.note ?? ""}`),
    ...(handoff?.deviations ?? []).map((d) => `deviation: ${by}${d}`),
    ...(by ? [] : handoff?.findings ?? []).map((f) => `finding: ${f}`),
  ];
}

export function total(u: Usage): number {
  return (u.prompt ?? 0) + (u.output ?? 0) + (u.thoughts ?? 0);
}
