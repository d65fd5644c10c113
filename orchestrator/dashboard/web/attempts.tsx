import { Component, Fragment, h, type ComponentChild } from "preact";
import { at } from "./api";
import { Diff } from "./diff";
import { Foreign, visible } from "./foreign";
import { Gates } from "./gates";
import { Load } from "./load";
import type { Attempt, TaskLog } from "./messages";
import { clock, day, plural, span, tokens } from "./words";

interface Props { run: string; task: string; attempts: Attempt[] }

/** How many attempts stand beside each other before a person asks for the others. */
const some = 2;

/** Attempts are the attempts of a task side by side, the newest first. */
export class Attempts extends Component<Props, { all: boolean }> {
  state = { all: false };

  render(): ComponentChild {
    const { run, task } = this.props;
    const all = [...this.props.attempts].sort((a, b) => b.n - a.n);
    if (all.length === 0) return <p class="empty panel">No attempt has begun.</p>;
    const shown = this.state.all ? all : all.slice(0, some);
    return (
      <div>
        {all.length > some && <p><button type="button" class="act" aria-pressed={this.state.all} onClick={() => this.setState({ all: !this.state.all })}>
          {this.state.all ? `Only the newest ${some}` : `All ${all.length} attempts`}</button></p>}
        <div class="attempts">{shown.map((a) => <One key={a.n} run={run} task={task} attempt={a} />)}</div>
      </div>
    );
  }
}

function One(p: { run: string; task: string; attempt: Attempt }): ComponentChild {
  const a = p.attempt;
  const path = at("runs", p.run, "tasks", p.task);
  const version = `${a.status} ${a.ended} ${a.receipts?.length}`;
  return (
    <article class="panel attempt" aria-label={`Attempt ${a.n}`}>
      <h2>Attempt {a.n} <span class={`word ${a.status ?? "running"}`}>{a.status || "running"}</span>
        <small title={day(a.began)}>{a.began ? `${clock(a.began)}, ${span((a.ended || Date.now()) - a.began)}` : ""}</small></h2>
      <p class="sub">{[a.role, a.model, a.worker && `on ${a.worker}`, a.turns && plural(a.turns, "turn"), a.tokens && `${tokens(a.tokens)} tokens`]
        .filter(Boolean).map((x, i) => <span key={i}>{visible(String(x))}</span>)}</p>
      {a.error && (a.error.message || a.error.class) && <p class="why alarm">{a.error.class && <b>{visible(a.error.class)}: </b>}{visible(a.error.message ?? "")}</p>}
      <Handoff attempt={a} />
      <Receipts attempt={a} />
      <Load<TaskLog> path={`${path}/log?attempt=${a.n}`} again={version} draw={(got) => <Gates log={got} cause={a.error?.message} />} />
      <h3>Change {(a.added || a.deleted) ? <Fragment><ins>+{a.added}</ins> <del>−{a.deleted}</del></Fragment> : ""}</h3>
      {a.status || a.ended || a.error ? <Load<{ diff?: string }> path={`${path}/diff?attempt=${a.n}`} again={version} draw={(got) => <Diff diff={got.diff ?? ""} />} />
        : <p class="empty">It has no result yet: the change is here once the attempt ends.</p>}
    </article>
  );
}

function Handoff(p: { attempt: Attempt }): ComponentChild {
  const a = p.attempt;
  const lists: [string, unknown[] | undefined][] = [["Findings", a.findings], ["Deviations", a.deviations], ["Doubts", a.doubts]];
  return (
    <div class="handoff">
      {a.summary && <Foreign text={a.summary} label="Summary" class="prose" />}
      {lists.map(([name, list]) => list && list.length > 0 && (
        <div key={name}><h3>{name}</h3><ul>{list.map((x) => <li>{visible(typeof x === "string" ? x : JSON.stringify(x))}</li>)}</ul></div>
      ))}
    </div>
  );
}

function Receipts(p: { attempt: Attempt }): ComponentChild {
  const all = p.attempt.receipts ?? [];
  if (all.length === 0) return null;
  return (
    <ul class="receipts" aria-label="Receipts">
      {all.map((r) => <li class={r.verdict}><b>{visible(r.gate)}</b> {visible(r.verdict)}{r.duration_ms ? ` ${span(r.duration_ms)}` : ""}</li>)}
    </ul>
  );
}
