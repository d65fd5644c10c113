// The events of a run's log, as the page reads them: the mirror of contextscope.Event, orchestrator/data.go, internal/spec
// and subagents/wire. Fields that the page does not show are left out.

export type Kind =
  | "started" | "brief" | "user" | "turn" | "tool" | "steering" | "control" | "error" | "compaction" | "usage" | "progress"
  | "receipt" | "result" | "calls" | "request" | "answer" | "run" | "plan" | "task" | "landing" | "unreadable";

export const kinds: Kind[] = [
  "run", "plan", "task", "landing", "request", "answer", "started", "progress", "turn", "tool", "receipt", "result", "error", "usage", "brief",
  "user", "steering", "control", "compaction", "calls", "unreadable",
];

export interface Part {
  text?: string;
  thought?: boolean;
  functionCall?: { name?: string; args?: Record<string, unknown> };
  functionResponse?: { name?: string; response?: Record<string, unknown> };
}

export interface Event {
  id: string;
  run: string;
  task?: string;
  attempt?: number;
  agent?: string;
  role?: string;
  pos: number;
  time: string;
  kind: Kind;
  author: string;
  content?: { role?: string; parts?: Part[] };
  data?: unknown;
}

export interface Receipt {
  gate: string;
  exit_code: number;
  verdict: string;
  signatures?: string[];
  duration_ns: number;
  tests?: number;
  build?: boolean;
  timed_out?: boolean;
}

export interface Usage { calls?: number; prompt?: number; cached?: number; output?: number; thoughts?: number }

export interface Request {
  kind: string;
  role?: string;
  title?: string;
  brief?: string;
  paths?: string[];
  question?: string;
  task?: string;
}

export interface Answer { refused?: string; task?: string; status?: string; granted?: string[]; text?: string; from?: string }

export interface Nudge { reason: string; class?: string; detail?: string; confidence?: number; second?: number }

export interface Calls { changes?: { call: number; tool?: string; state: string }[] }

export interface Fault { class: string; message: string; output?: string }

export interface Task {
  id: string;
  title?: string;
  role: string;
  files?: string[];
  depends_on?: string[];
  shard?: unknown;
}

export interface Dispatch { task: string; attempt: number; role: string }

export interface RunData {
  state?: string;
  reason?: string;
  spec?: {
    goal: string;
    repo: string;
    base: string;
    branch?: string;
    project: { gates?: { name: string }[] };
    roles: Record<string, { writes?: boolean }>;
    parallel: number;
    budget?: number;
    created: string;
  };
  unverified?: string;
  baseline?: Receipt[];
  final?: Receipt[];
  epoch?: number;
  approved?: boolean;
  budget?: number;
  head?: string;
  ref?: string;
  /** wait: what the run waits for a person to do; "" when it no longer waits. */
  wait?: string;
  notices?: string[];
  dispatch?: Dispatch;
}

export interface PlanData { by: string; tasks: Task[]; notes?: string[]; overlaps?: unknown[]; ceiling?: number }

export interface TaskData { state: string; reason?: string; dispatch?: Dispatch; fault?: Fault }

export interface Landed { task: string; attempt: number; commit: string; added?: number; deleted?: number; files?: number }

export interface LandingData {
  batch: number;
  state: string;
  old: string;
  head: string;
  tasks: Landed[] | null;
  unverified?: string;
  receipts?: Receipt[];
  dispatch?: Dispatch;
}

export interface Handoff {
  summary?: string;
  findings?: string[];
  deviations?: string[];
  constraints?: { text: string; kept: boolean; note?: string }[];
}

export interface Result {
  status: string;
  handoff?: Handoff;
  patch?: { files?: string[]; added?: number; deleted?: number };
  error?: Fault;
  final?: boolean;
  plan?: { tasks: Task[] };
}
