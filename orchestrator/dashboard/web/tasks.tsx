import { h, type ComponentChild } from "preact";
import { Word } from "./head";
import { List } from "./list";
import type { Task } from "./messages";
import { count, tokens } from "./words";

export type Order = "state" | "id" | "role" | "attempt" | "lines" | "tokens";
export interface Sort { by: Order; down: boolean }

/** again is the sort after a click on a column: figures begin with the largest, a second click turns the order round. */
export function again(s: Sort, by: Order): Sort {
  if (s.by === by) return { by, down: !s.down };
  return { by, down: by === "lines" || by === "attempt" || by === "tokens" };
}

/** The order of states when sorted: failures first, then what moves, then what waits, then what is over. */
const states = [
  "parked", "held", "running", "verifying", "accepted", "landing", "pending", "landed unverified", "landed", "done", "dropped", "skipped", "cancelled",
];

const heads: { by: Order; text: string; hint: string }[] = [
  { by: "state", text: "status", hint: "" },
  { by: "id", text: "task", hint: "" },
  { by: "role", text: "role", hint: "" },
  { by: "attempt", text: "try", hint: "The newest attempt" },
  { by: "lines", text: "lines", hint: "Lines added and deleted" },
  { by: "tokens", text: "tokens", hint: "All attempts, its tester counted" },
];

export function sorted(rows: Task[], s: Sort): Task[] {
  const sign = s.down ? -1 : 1;
  return [...rows].sort((a, b) => sign * compare(a, b, s.by));
}

function compare(a: Task, b: Task, by: Order): number {
  switch (by) {
    case "state": return states.indexOf(a.state) - states.indexOf(b.state);
    case "lines": return a.added + a.deleted - b.added - b.deleted;
    case "attempt": return a.attempt - b.attempt;
    case "tokens": return a.tokens - b.tokens;
    default: return a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : 0;
  }
}

interface Props {
  rows: Task[];
  sort: Sort;
  picked: string;
  only: string;
  onSort: (by: Order) => void;
  onPick: (task: string) => void;
  onOnly: (state: string) => void;
}

export function Tasks(p: Props): ComponentChild {
  const rows = sorted(p.only ? p.rows.filter((r) => r.state === p.only) : p.rows, p.sort);
  return (
    <section class="panel tasks" aria-label="Tasks">
      <h2>Tasks <small>{count(p.rows.length)}</small><Legend {...p} /></h2>
      <div class="cols task heads">
        {heads.map((c) => (
          <button type="button" class={`c-${c.by}`} title={`Sort by ${c.text}. ${c.hint}`}
            aria-pressed={p.sort.by === c.by} onClick={() => p.onSort(c.by)}>
            {c.text}{p.sort.by === c.by ? (p.sort.down ? " ↑" : " ↓") : ""}
          </button>
        ))}
      </div>
      <Notes row={p.rows.find((r) => r.id === p.picked)} />
      <List items={rows} rowVar="--task-row" keyOf={(r) => r.id} label="Tasks" role="list" empty="No tasks yet."
        draw={(r) => <One row={r} picked={r.id === p.picked} pick={p.onPick} />} />
    </section>
  );
}

/** Notes shows why the picked task failed, and what its agents reported beside their results. */
function Notes(p: { row?: Task }): ComponentChild {
  if (!p.row || (!p.row.notes && !p.row.alarm)) return null;
  return (
    <div class="notes" aria-label="Notes">
      {p.row.alarm && <p class="why">{p.row.reason}</p>}
      {p.row.notes?.map((n) => <p>{n}</p>)}
    </div>
  );
}

function Legend(p: Props): ComponentChild {
  const n = new Map<string, number>();
  for (const r of p.rows) n.set(r.state, (n.get(r.state) ?? 0) + 1);
  const there = states.filter((s) => n.has(s));
  return (
    <span class="legend">
      {there.map((s) => (
        <button type="button" class={`word ${s}`} aria-pressed={p.only === s} title={`Show only tasks that are ${s}`}
          onClick={() => p.onOnly(p.only === s ? "" : s)}>{n.get(s)} {s}</button>
      ))}
    </span>
  );
}

function One(p: { row: Task; picked: boolean; pick: (task: string) => void }): ComponentChild {
  const r = p.row;
  return (
    <button type="button" class={`cols task ${p.picked ? "picked" : ""}`} title={`${r.id}: ${r.title ?? ""}\n${[r.reason ?? "", ...(r.notes ?? [])].join("\n")}\nClick to see its log.`}
      onClick={() => p.pick(p.picked ? "" : r.id)}>
      <span class="c-state"><Word state={r.state} /></span>
      <span class="c-id"><b>{r.id}</b><span class={r.alarm ? "why" : "sub"}>{r.reason || r.title}</span></span>
      <span class="c-role">{r.role}</span>
      <span class="c-attempt">{r.attempt || ""}</span>
      <span class="c-lines">{r.added || r.deleted ? [<ins>+{r.added}</ins>, " ", <del>−{r.deleted}</del>] : ""}</span>
      <span class="c-tokens">{r.tokens ? tokens(r.tokens) : ""}</span>
    </button>
  );
}
