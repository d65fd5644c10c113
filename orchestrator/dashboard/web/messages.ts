// What the server sends, as docs/dashboard.md has it. Times are in unix milliseconds; 0 means not yet.

export interface Me { name: string; role: string; writes: boolean; version: string; run: string; acts: Offered[]; called: string }

/** Offered is an act that has a button: what it does, how it is undone, and what a person is asked for. */
export interface Offered {
  name: string; label: string; help: string; warn?: string; warn_task?: string; undone: string; loses?: boolean; asks?: Asked[];
}
export interface Asked { name: string; about: string; needs?: boolean }

/** Way is what a person may do next, as a command line; for "landed" it uses what landed. */
export interface Way { command: string; why: string; for?: string }

export interface Row {
  id: string;
  gone?: boolean;
  state: string;
  reason?: string;
  goal: string;
  repo: string;
  created: number;
  ended: number;
  last: number;
  tokens: number;
  budget?: number | string;
  tasks: number;
  ended_tasks: number;
  landed: number;
  unchanged: number;
  parked: number;
  wait?: string;
  line?: string;
  decisions: number;
  active: boolean;
  problem?: string;
}

export interface Option { name: string; does: string; needs_text?: boolean }

/** Need is a decision that is open. */
export interface Need {
  run: string;
  id: string;
  kind: string;
  about?: string;
  attempt?: number;
  text: string;
  blocks: number;
  alike?: string;
  suggests?: string;
  decider?: string;
  why?: string;
  since: number;
  options: Option[];
  choices?: string[];
  tasks?: string[];
  files?: string[];
  evidence?: string[];
  template?: string;
  added?: number;
  deleted?: number;
}

export interface Patch { task: string; files?: string[]; diff?: string; fault?: string }

export interface PlanTask {
  id: string;
  title?: string;
  role: string;
  brief: string;
  constraints?: string[];
  files?: string[];
  depends_on?: string[];
  change_set?: string;
  shard_of?: string;
}

export interface Plan {
  goal?: string;
  decision_record?: string;
  constraints?: string[];
  tasks?: PlanTask[];
  notes?: string[];
  overlaps?: { a: string; b: string; path: string }[];
  ceiling?: number;
  /** likely is the range that eight of ten such plans are in. */
  likely?: { low: number; high: number; low_pico_usd?: number; high_pico_usd?: number; unpriced?: number; past?: number };
}

/** Whole is a decision with what it is about. */
export interface Whole extends Need {
  patches?: Patch[];
  plan?: Plan;
  brief?: string;
  record?: string;
  before?: { attempt: number; option: string; text?: string; by?: string }[];
}

/** Outcome is what became of an act; held are the ids under which its run holds it back. */
export interface Outcome { outcome?: string; started?: boolean; held?: string[]; error?: string }

export interface Line {
  pos: number;
  id: string;
  time: number;
  kind: string;
  task?: string;
  agent?: string;
  role?: string;
  text: string;
  level: string;
  /** fold marks a line that says nothing to a person by itself. */
  fold?: boolean;
}

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
  /** template is the rule that a task is a shard of. */
  template?: string;
  /** why is the reason that a pending task does not run. */
  why?: string;
  landed?: number;
  patch?: boolean;
  /** forgotten are the files for which a task can be added: the gates fail in them, and no task may change them. */
  forgotten?: string[];
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
  last?: number;
}

export interface Phase {
  name: string;
  state: string;
  good: number;
  bad: number;
  part: number;
  total: number;
  note: string;
  ms?: number;
  tokens?: number;
}

export interface Batch { batch: number; tasks?: string[]; set?: string; since: number; search?: string }

export interface Queue {
  waiting?: string[];
  waiting_count?: number;
  limit?: number;
  testing?: Batch[];
  /** idle is why no batch is made of those that wait. */
  idle?: string;
  suspects?: string[];
  gate_runs?: number;
  gate_runs_one_by_one?: number;
}

/** Result is what a run that has ended has brought. */
export interface Result {
  asked: string;
  tasks: number;
  came?: { tasks: number; grade: string; by?: string }[];
  files: number;
  added: number;
  deleted: number;
  directories?: { name: string; tasks: number; files: number; added: number; deleted: number }[];
  risks?: Risk[];
  risks_more?: number;
  left?: Left[];
  left_more?: number;
}
export interface Risk { task: string; title?: string; why: string[]; files: number; added: number; deleted: number }
export interface Left { task: string; state: string; reason?: string; next: Way }

export interface View {
  state: string;
  reason?: string;
  wait?: string;
  goal: string;
  repo: string;
  base: string;
  branch?: string;
  unverified?: string;
  unread?: string[];
  ci?: string[];
  unlike?: string[];
  rounds?: string[];
  untried?: string[];
  ref?: string;
  published?: string;
  notices?: string[];
  parallel: number;
  budget?: number | string;
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
  line?: string;
  alarm?: string;
  ways?: Way[];
  acts: string[];
  roles?: string[];
  models?: string[];
  workers?: { name: string; agents: number; since: number }[];
  queue?: Queue;
  /** series is left out where it has no point more than the page has. */
  series?: [number, number, number][];
  projected?: number;
  /** cost is what the tokens cost, left what the rest is likely to use, in words. */
  cost?: string;
  left?: string;
  result?: Result;
  flaky?: { gate: string; names?: string[] }[];
}

export interface Receipt { gate: string; verdict: string; duration_ms?: number }

export interface Attempt {
  n: number;
  role: string;
  worker?: string;
  model?: string;
  began: number;
  ended: number;
  status?: string;
  error?: { class?: string; message?: string };
  summary?: string;
  findings?: string[];
  deviations?: string[];
  files?: string[];
  added?: number;
  deleted?: number;
  tokens?: number;
  turns?: number;
  doubts?: unknown[];
  receipts?: Receipt[];
}

export interface TaskPage {
  task: {
    id: string; title?: string; role: string; brief?: string; constraints?: string[]; files?: string[]; depends?: string[];
    state: string; reason?: string; command?: string[]; commit?: string;
  };
  attempts?: Attempt[];
  acts: string[];
}

export interface GateRun {
  gate: string;
  verdict: string;
  command?: string[];
  exit_code?: number;
  duration_ns?: number;
  programs?: { path: string; version?: string }[];
  batch?: number;
  with?: string[];
  failures?: string[];
  output?: string;
  lost?: string;
  alone?: boolean;
}

export interface TaskLog {
  status?: string;
  reason?: string;
  rejected?: string;
  said?: string;
  printed?: string;
  saved?: { name: string; bytes: number; content?: string; lost?: string }[];
  /** not_started are the gates of which the change touches none of the paths. */
  not_started?: string[];
  run_gates?: { turn: number; red?: string[]; output?: string }[];
  gates?: GateRun[];
}
