import type { Answer, Calls, Event, LandingData, Nudge, Part, PlanData, Receipt, Request, Result, RunData, TaskData, Usage } from "./events";
import { plural, span, tokens } from "./words";

export type Level = "quiet" | "plain" | "good" | "warn" | "bad";
export interface Line { text: string; level: Level }

const bound = 600;

/** line says what an event means in one line of text. Its level is shown as a colour and a word. */
export function line(e: Event): Line {
  const l = of(e);
  const text = l.text.slice(0, bound * 2).replace(/\s+/g, " ").trim();
  return { level: l.level, text: text.length > bound ? text.slice(0, bound) + "…" : text };
}

function of(e: Event): Line {
  const d = (e.data ?? {}) as never;
  switch (e.kind) {
    case "run": return run(d);
    case "plan": return plan(d);
    case "task": return task(e, d);
    case "landing": return landing(d);
    case "started": return started(d);
    case "progress": return { text: (d as { doing?: string }).doing ?? "", level: "quiet" };
    case "usage": return usage(d);
    case "receipt": return receipt(d);
    case "result": return result(d);
    case "error": return { text: fault(d), level: "bad" };
    case "unreadable": return { text: (d as { reason?: string }).reason ?? "", level: "bad" };
    case "compaction": return { text: "older turns were compacted", level: "quiet" };
    case "steering": return { text: "was told: " + said(e.content?.parts), level: "warn" };
    case "request": return { text: wants(d), level: (d as Request).kind === "ask" ? "warn" : "plain" };
    case "answer": return answer(d);
    case "calls": return { text: calls(d), level: "quiet" };
    case "control": return control(e, d);
    default: return { text: said(e.content?.parts), level: e.kind === "turn" ? "plain" : "quiet" };
  }
}

/** control says why the runtime spoke to an agent, or what it noted: not all of it has words to the agent. */
function control(e: Event, n: Nudge): Line {
  switch (n.reason) {
    case "limit": return { text: `has one turn left to hand in: ${n.class ?? ""}`, level: "warn" };
    case "loop": return { text: `repeats itself: ${n.detail ?? ""}`, level: "warn" };
    case "judged": {
      const sure = n.second ?? n.confidence;
      return { text: sure === undefined ? "no judge could say whether it gets on" : `judged to be in a circle with ${sure}: ${n.detail ?? ""}`, level: "quiet" };
    }
    case "stopped": return { text: "stops here; it goes on with the run", level: "quiet" };
    case "tools": return { text: "the tools of its MCP servers are noted", level: "quiet" };
    default: return { text: said(e.content?.parts), level: "quiet" };
  }
}

/** calls says where the calls that changed stand now. */
function calls(c: Calls): string {
  const now = new Map<number, string>();
  const names = new Map<number, string>();
  for (const change of c.changes ?? []) {
    if (change.tool) names.set(change.call, change.tool);
    now.set(change.call, `${names.get(change.call) ?? `call ${change.call + 1}`} ${change.state}`);
  }
  return [...now.values()].join(", ");
}

/** wants says what an agent asks of others, and waits for. */
export function wants(q: Request): string {
  switch (q.kind) {
    case "ask": return `asks: ${q.question ?? ""}`;
    case "delegate": return `waits for ${q.role}: ${q.title || q.brief}`;
    case "transfer": return `hands over to ${q.role}: ${q.brief ?? ""}`;
    case "scope": return `asks to write ${(q.paths ?? []).join(", ")}`;
    default: return `writes to ${q.task ?? ""}`;
  }
}

function answer(a: Answer): Line {
  if (a.refused) return { text: `refused: ${a.refused}`, level: "warn" };
  if (a.from) return { text: `${a.from} answers: ${a.text ?? ""}`, level: "good" };
  return { text: a.granted?.length ? `may write ${a.granted.join(", ")}` : `${a.task ?? ""} ${a.status ?? a.text ?? ""}`, level: "plain" };
}

function said(parts: Part[] = []): string {
  return parts.map(part).filter(Boolean).join("  ");
}

function part(p: Part): string {
  if (p.thought) return "";
  if (p.functionCall) return `→ ${p.functionCall.name}(${args(p.functionCall.args)})`;
  if (p.functionResponse) return `${p.functionResponse.name}: ${args(p.functionResponse.response)}`;
  return (p.text ?? "").slice(0, bound * 2);
}

function args(a: Record<string, unknown> = {}): string {
  const all = Object.entries(a).slice(0, 8);
  if (all.length === 1) return short(all[0][1]);
  return all.map(([k, v]) => `${k}=${short(v)}`).join(", ");
}

function short(v: unknown): string {
  const s = typeof v === "string" ? v : JSON.stringify(v) ?? "";
  return s.length > 120 ? s.slice(0, 120) + "…" : s;
}

function fault(f?: { class?: string; message?: string }): string {
  return f?.class ? `${f.class}: ${f.message ?? ""}` : f?.message ?? "";
}

const runLevel: Record<string, Level> = { done: "good", parked: "bad", stopped: "warn", cancelled: "warn" };

function run(d: RunData): Line {
  const say: string[] = [];
  if (d.spec) say.push(d.spec.goal);
  if (d.state) say.push(`run is ${d.state}${d.reason ? `: ${d.reason}` : ""}`);
  if (d.wait) say.push(`run is waiting for ${d.wait}`);
  if (d.approved) say.push("the plan was approved");
  if (d.baseline) say.push("baseline " + gates(d.baseline));
  if (d.unverified && !d.ref) say.push(`unverified: ${d.unverified}`);
  if (d.final) say.push("final gates " + gates(d.final));
  if (d.budget !== undefined) say.push(`budget is now ${tokens(d.budget)} tokens`);
  if (d.epoch && d.epoch > 1) say.push(`conductor ${d.epoch} took over`);
  if (d.dispatch) say.push(`${d.dispatch.task.replace("--", "")} is on the queue`);
  if (d.ref) say.push(`published ${d.unverified ? "unverified " : ""}${d.ref}`);
  for (const n of d.notices ?? []) say.push(n);
  const bad = d.final?.some((r) => r.verdict === "fail");
  const warns = d.wait || d.notices?.length || d.unverified;
  return { text: say.join(" · "), level: bad ? "bad" : warns ? "warn" : runLevel[d.state ?? ""] ?? "plain" };
}

function gates(list: Receipt[]): string {
  return list.map((r) => `${r.gate} ${r.verdict}`).join(", ") || "none";
}

function plan(d: PlanData): Line {
  const say = [`${plural(d.tasks?.length ?? 0, "task")} from ${d.by}`];
  if (d.overlaps?.length) say.push(plural(d.overlaps.length, "overlap"));
  if (d.ceiling) say.push(`at most ${tokens(d.ceiling)} tokens`);
  for (const n of d.notes ?? []) say.push(n);
  return { text: say.join(" · "), level: d.notes?.length ? "warn" : "plain" };
}

const taskLevel: Record<string, Level> = { landed: "good", done: "good", proven: "good", unverified: "warn", parked: "bad", cancelled: "warn" };

function task(e: Event, d: TaskData): Line {
  const on = d.dispatch ? ` (${d.dispatch.role}, attempt ${d.dispatch.attempt})` : "";
  const why = d.fault ? `: ${fault(d.fault)}` : d.reason ? `: ${d.reason}` : "";
  const again = d.state === "pending" && d.fault;
  return { text: `${e.task} is ${again ? "pending again" : d.state}${on}${why}`, level: again ? "warn" : taskLevel[d.state] ?? "plain" };
}

const landingLevel: Record<string, Level> = { landed: "good", red: "bad", split: "warn" };

function landing(d: LandingData): Line {
  const names = (d.tasks ?? []).map((t) => t.task);
  const some = names.slice(0, 6).join(", ") + (names.length > 6 ? ` and ${names.length - 6} more` : "");
  if (d.unverified) return { text: `batch ${d.batch} ${d.state} unverified: ${some}`, level: "warn" };
  return { text: `batch ${d.batch} ${d.state}: ${some}`, level: landingLevel[d.state] ?? "plain" };
}

function started(d: { worker?: string; delivery?: number }): Line {
  const again = (d.delivery ?? 1) > 1;
  return { text: `${d.worker ?? "a worker"} began${again ? ` (delivery ${d.delivery})` : ""}`, level: again ? "warn" : "plain" };
}

function usage(u: Usage): Line {
  const cached = u.cached ? ` (${tokens(u.cached)} cached)` : "";
  return { text: `${tokens(u.prompt ?? 0)} in${cached}, ${tokens((u.output ?? 0) + (u.thoughts ?? 0))} out`, level: "quiet" };
}

const verdictLevel: Record<string, Level> = { pass: "good", baseline: "good", fail: "bad", unattributable: "warn" };

function receipt(r: Receipt): Line {
  const say = [`gate ${r.gate}: ${r.verdict}`, span((r.duration_ns ?? 0) / 1e6)];
  if (r.tests) say.push(plural(r.tests, "test"));
  if (r.signatures?.length) say.push(`${plural(r.signatures.length, "failure")}: ${r.signatures.slice(0, 3).join(", ")}`);
  if (r.timed_out) say.push("timed out");
  return { text: say.join(" · "), level: verdictLevel[r.verdict] ?? "plain" };
}

function result(r: Result): Line {
  const say = [r.status];
  if (r.error) say.push(fault(r.error));
  if (r.patch) say.push(`+${r.patch.added ?? 0} −${r.patch.deleted ?? 0} in ${plural(r.patch.files?.length ?? 0, "file")}`);
  if (r.plan) say.push(`asks for ${plural(r.plan.tasks.length, "task")}`);
  if (r.handoff?.summary) say.push(r.handoff.summary);
  return { text: say.join(" · "), level: r.status === "done" ? "good" : "bad" };
}
