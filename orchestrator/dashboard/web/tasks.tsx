import { Component, h, type ComponentChild } from "preact";
import { visible } from "./foreign";
import { byState, grouped, type Part } from "./groups";
import { List } from "./list";
import type { Task } from "./messages";
import { taskPath } from "./place";
import { again, type Order, type Sort, sorted, states } from "./sort";
import { Word } from "./word";
import { count, tokens } from "./words";

const heads: { by: Order; text: string; hint: string }[] = [
  { by: "state", text: "status", hint: "" },
  { by: "id", text: "task", hint: "" },
  { by: "role", text: "role", hint: "" },
  { by: "attempt", text: "try", hint: "The newest attempt" },
  { by: "lines", text: "lines", hint: "Lines added and deleted" },
  { by: "tokens", text: "tokens", hint: "All attempts, its tester counted" },
];

interface Props { run: string; rows: Task[]; picked: string; pick: (task: string) => void }
interface State { sort: Sort; only: string; open: Set<string> }

/** Tasks is the table of the run's tasks, the shards of a template under one head. */
export class Tasks extends Component<Props, State> {
  state: State = { sort: { by: "state", down: false }, only: "", open: new Set() };

  render(): ComponentChild {
    const { rows, picked } = this.props;
    const { sort, only, open } = this.state;
    const parts = grouped(sorted(only ? rows.filter((r) => r.state === only) : rows, sort), open, picked);
    return (
      <section class="panel tasks" aria-label="Tasks">
        <h2>Tasks <small>{count(rows.length)}</small>{this.legend()}</h2>
        <div class="cols task heads">
          {heads.map((c) => (
            <button type="button" class={`c-${c.by}`} title={`Sort by ${c.text}. ${c.hint}`} aria-pressed={sort.by === c.by}
              onClick={() => this.setState({ sort: again(sort, c.by) })}>
              {c.text}{sort.by === c.by ? (sort.down ? " ↑" : " ↓") : ""}
            </button>
          ))}
        </div>
        <Notes run={this.props.run} row={rows.find((r) => r.id === picked)} />
        <List items={parts} rowVar="--task-row" keyOf={(p) => p.key} label="Tasks" role="list" empty="No tasks yet."
          draw={(p) => this.part(p)} />
      </section>
    );
  }

  private legend(): ComponentChild {
    const n = byState(this.props.rows);
    const { only } = this.state;
    return (
      <span class="legend">
        {states.filter((s) => n.has(s)).map((s) => (
          <button type="button" class={`word ${s}`} aria-pressed={only === s} title={`Show only tasks that are ${s}`}
            onClick={() => this.setState({ only: only === s ? "" : s })}>{n.get(s)} {s}</button>
        ))}
      </span>
    );
  }

  private part(p: Part): ComponentChild {
    if (p.task) return <One row={p.task} inner={!!p.inner} picked={p.task.id === this.props.picked} pick={this.props.pick} />;
    return <Group part={p} toggle={(name) => this.toggle(name)} />;
  }

  private toggle(name: string): void {
    const open = new Set(this.state.open);
    if (!open.delete(name)) open.add(name);
    this.setState({ open });
  }
}

/** Group is the head of a template's shards. */
export function Group(p: { part: Part; toggle: (name: string) => void }): ComponentChild {
  const { group, of, open, hidden } = p.part;
  const n = byState(of!);
  return (
    <button type="button" class="group" data-j aria-expanded={open} onClick={() => p.toggle(group!)}>
      <span class="arrow" aria-hidden="true">{open ? "▾" : "▸"}</span>
      <b>{visible(group!)}</b>
      <span class="sub" title="Folded tasks are not in the list; those that failed or wait for a decision always are. Click to show or fold them">{open ? `${of!.length} shards` : `${hidden} of ${of!.length} folded`}</span>
      <span class="legend">{states.filter((s) => n.has(s)).map((s) => <span class={`word ${s}`}>{n.get(s)} {s}</span>)}</span>
    </button>
  );
}

/** Notes shows why the picked task failed or waits, and what its agents reported beside their results. */
function Notes(p: { run: string; row?: Task }): ComponentChild {
  const { row } = p;
  if (!row) return null;
  return (
    <div class="notes" aria-label="Notes">
      <p><a href={taskPath(p.run, row.id)}>Open {visible(row.id)}</a> {visible(row.title ?? "")}</p>
      {row.why && <p>waits: {visible(row.why)}</p>}
      {row.alarm && <p class="why">{visible(row.reason ?? "")}</p>}
      {row.notes?.map((n) => <p>{visible(n)}</p>)}
    </div>
  );
}

/** spoken is a row for a screen reader, which does not read the heads of the columns with it. */
function spoken(r: Task, says: string): string {
  const lines = r.added || r.deleted ? `${r.added} lines added, ${r.deleted} deleted` : "";
  return [`${r.id}: ${r.state}`, r.role, r.attempt ? `attempt ${r.attempt}` : "", lines, r.tokens ? `${tokens(r.tokens)} tokens` : "", says]
    .filter(Boolean).join(", ");
}

function One(p: { row: Task; picked: boolean; inner: boolean; pick: (task: string) => void }): ComponentChild {
  const r = p.row;
  const says = (r.alarm && r.reason) || r.why || r.reason || r.title || "";
  return (
    <button type="button" aria-label={spoken(r, says)} class={`cols task ${p.picked ? "picked" : ""} ${p.inner ? "inner" : ""}`} data-j aria-pressed={p.picked}
      title={`${r.id}: ${r.title ?? ""}\n${[r.reason ?? "", r.why ?? "", ...(r.notes ?? [])].join("\n")}\nClick to see its log.`}
      onClick={() => p.pick(p.picked ? "" : r.id)}>
      <span class="c-state"><Word state={r.state} /></span>
      <span class="c-id"><b>{visible(r.id)}</b><span class={r.alarm ? "why" : "sub"}>{visible(says)}</span></span>
      <span class="c-role">{visible(r.role)}</span>
      <span class="c-attempt">{r.attempt || ""}</span>
      <span class="c-lines">{r.added || r.deleted ? [<ins>+{r.added}</ins>, " ", <del>−{r.deleted}</del>] : ""}</span>
      <span class="c-tokens">{r.tokens ? tokens(r.tokens) : ""}</span>
    </button>
  );
}
