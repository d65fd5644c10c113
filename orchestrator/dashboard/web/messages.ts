// What the server sends: views of the run and lines of its log, as orchestrator/dashboard/view.go and frame.go write them. Times
// are in unix milliseconds.

export const kinds = [
  "run", "plan", "task", "landing", "request", "answer", "started", "progress", "turn", "tool", "receipt", "result", "error", "usage", "brief",
  "user", "steering", "control", "compaction", "calls", "unreadable",
];

export interface Line { id: string; time: number; kind: string; task?: string; agent?: string; role?: string; text: string; level: string }

export interface Task {
  id: string;
  title?: string;
  role: string;
  state: string;
  reason?: string;
  alarm?: boolean;
  notes?: string[];
  attempt: number;
  added: number;
  deleted: number;
  tokens: number;
}

/** Step is one item of the plan that an agent keeps. */
export interface Step { state: string; text: string }

export interface Agent {
  id: string;
  task: string;
  role: string;
  worker: string;
  delivery: number;
  doing: string;
  steps?: Step[];
  waits?: boolean;
  turns: number;
  tokens: number;
  since: number;
}

export interface Phase { name: string; state: string; good: number; bad: number; part: number; total: number; note: string }

export interface View {
  state: string;
  reason?: string;
  wait?: string;
  goal: string;
  repo: string;
  base: string;
  branch?: string;
  unverified?: string;
  ref?: string;
  published?: string;
  notices?: string[];
  parallel: number;
  budget?: number;
  tokens: number;
  cached: number;
  calls: number;
  created: number;
  ended: number;
  last: number;
  waited: number;
  phases: Phase[];
  agents: Agent[];
  /** tasks are those whose rows changed since the last view; the first view has all. */
  tasks: Task[];
}
