import { Component, h, type ComponentChild } from "preact";
import { act, Copied, Ways } from "./acts";
import { visible } from "./foreign";
import type { Left, Result, Risk, Way } from "./messages";
import { taskPath } from "./place";
import { Sample } from "./spot";
import { Word } from "./word";
import { plural } from "./words";

interface Props { run: string; result: Result; ways: Way[]; acts: string[]; writes: boolean }

/** Ended is what a run that has ended was asked for, what came, where, what to read first, what is left, and what to do now. */
export function Ended(p: Props): ComponentChild {
  const { run, result: r, writes } = p;
  return (
    <section class="panel result" aria-label="Result">
      <h2>Result <small>asked: {visible(r.asked)}</small></h2>
      <div class="parts">
        <div>
          <h3>What came <small>of {plural(r.tasks, "task")}</small></h3>
          <ul class="plain">
            {r.came?.map((g) => <li><b>{g.tasks} {g.grade}</b>{g.by ? <span>: {visible(g.by)}</span> : ""}</li>)}
            {r.left && <li><b>{r.left.length + (r.left_more ?? 0)} left</b></li>}
          </ul>
        </div>
        {r.directories && <div>
          <h3>Where <small>{plural(r.files, "file")}</small> <Lines of={r} /></h3>
          <ul class="plain where">{r.directories.map((d) => <li><code>{visible(d.name)}</code><small>{plural(d.files, "file")}, {plural(d.tasks, "task")}</small><Lines of={d} /></li>)}</ul>
        </div>}
      </div>
      {r.risks && <div class="risks">
        <h3>Read first {r.risks_more ? <small>{r.risks.length} of {r.risks.length + r.risks_more}</small> : ""}</h3>
        {r.risks.map((risk) => <Risky key={risk.task} run={run} risk={risk} writes={writes} />)}
      </div>}
      {r.left && <div>
        <h3>Left {writes && p.acts.filter((a) => ["retry", "resume"].includes(a)).map((verb) => (
          <button type="button" class="act" onClick={() => act({ run, verb })}>{verb === "retry" ? "Retry all …" : "Resume"}</button>
        ))} {r.left_more ? <small>{r.left.length} of {r.left.length + r.left_more}</small> : ""}</h3>
        <ul class="plain left-over">{r.left.map((l) => <Rest run={run} left={l} writes={writes} />)}</ul>
      </div>}
      <div>
        <h3>What now <small>in a terminal: a merge is by your own git, with your hooks</small></h3>
        <ul class="plain now">{p.ways.filter(uses).map((w) => <li><Copied text={w.command} /> <small>{w.why}</small></li>)}</ul>
        <Ways ways={p.ways.filter((w) => !uses(w))} />
      </div>
    </section>
  );
}

/** uses reports whether a command uses what landed: the others repair, and have buttons. */
const uses = (w: Way): boolean => w.for === "landed";

function Lines(p: { of: { added: number; deleted: number } }): ComponentChild {
  return <span class="lines"><ins>+{p.of.added}</ins> <del>−{p.of.deleted}</del></span>;
}

/** Risky is a landed task to read first, and its change once a person opens it. */
class Risky extends Component<{ run: string; risk: Risk; writes: boolean }, { open: boolean }> {
  state = { open: false };

  render(): ComponentChild {
    const { run, risk, writes } = this.props;
    return (
      <details class="risk" onToggle={(e: Event) => this.setState({ open: (e.target as HTMLDetailsElement).open })}>
        <summary><b>{visible(risk.task)}</b> <Lines of={risk} /> {risk.why.map((w) => <span class="reason">{visible(w)}</span>)}</summary>
        {this.state.open && <Sample run={run} id={risk.task} title={risk.title} drop={writes} />}
      </details>
    );
  }
}

function Rest(p: { run: string; left: Left; writes: boolean }): ComponentChild {
  const { run, left: l, writes } = p;
  const again = writes && ["parked", "cancelled"].includes(l.state);
  return (
    <li><a href={taskPath(run, l.task)}>{visible(l.task)}</a> <Word state={l.state} /> <span>{visible(l.reason ?? "")}</span>
      {again ? <button type="button" class="act" title={l.next.why} onClick={() => act({ run, verb: "retry", tasks: [l.task] })}>Retry …</button>
        : <Copied text={l.next.command} />}</li>
  );
}
