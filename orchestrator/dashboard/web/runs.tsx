import { Component, h, type ComponentChild } from "preact";
import type { Feed } from "./feed";
import { visible } from "./foreign";
import type { Row } from "./messages";
import { put, runPath } from "./place";
import { Word } from "./word";
import { age, day, plural, span, tokens } from "./words";

interface Props { feed: Feed; query: string; now: number }

const states = ["waiting", "running", "planning", "preflight", "final", "created", "paused", "killed", "damaged", "parked", "stopped", "done", "cancelled"];

/** Runs is the table of all runs: those that go on first, then the newest. */
export class Runs extends Component<Props> {
  render(): ComponentChild {
    const { feed, query, now } = this.props;
    const all = [...feed.rows.values()];
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = all.filter((r) => words.every((w) => fits(r, w))).sort(order);
    return (
      <section class="panel runs" aria-label="Runs">
        <h2>Runs <small>{rows.length === all.length ? all.length : `${rows.length} of ${all.length}`}</small>
          <input type="search" data-search placeholder="Filter: words, state:running" aria-label="Filter runs" value={query}
            onInput={(e: Event) => put({ q: (e.target as HTMLInputElement).value })} />
        </h2>
        {all.length === 0 && <p class="empty">{feed.known ? "There is no run yet: divisi run begins one." : "Loading …"}</p>}
        {rows.length > 0 && (
          <div class="wide">
            <table class="table" data-list>
              <thead><tr><th>state</th><th>run</th><th>progress</th><th class="right">age</th><th class="right">tokens</th><th>repository</th></tr></thead>
              <tbody>{rows.map((r) => <OneRun key={r.id} row={r} now={now} />)}</tbody>
            </table>
          </div>
        )}
      </section>
    );
  }
}

function fits(r: Row, word: string): boolean {
  if (word.startsWith("state:")) return stateOf(r).startsWith(word.slice(6));
  return `${r.id} ${r.goal} ${r.repo} ${stateOf(r)} ${r.wait ?? ""}`.toLowerCase().includes(word);
}

export function stateOf(r: Row): string {
  return r.wait && r.active ? "waiting" : r.state;
}

function order(a: Row, b: Row): number {
  const over = (r: Row) => (isOver(r) ? 1 : 0);
  const rank = (r: Row) => (states.indexOf(stateOf(r)) + 99) % 99;
  return over(a) - over(b) || (over(a) ? b.created - a.created : rank(a) - rank(b) || b.created - a.created);
}

/** isOver reports whether a run has ended; when it did is not known of each. */
function isOver(r: Row): boolean {
  return r.ended > 0 || (!r.active && ["done", "parked", "cancelled"].includes(r.state));
}

function OneRun(p: { row: Row; now: number }): ComponentChild {
  const r = p.row;
  const says = r.problem || (r.line && `line stopped: ${r.line}`) || (r.wait && `waits for ${r.wait}`) || r.reason || "";
  return (
    <tr>
      <td class="narrow"><Word state={stateOf(r)} />{r.active && !r.ended && <i class="alive" role="img" aria-label="A process has it" title="A process has it" />}</td>
      <td class="main">
        <a href={runPath(r.id)} data-j><b>{visible(r.goal || r.id)}</b></a>
        <small><code>{r.id}</code>{r.decisions > 0 && <em class="waits"> {plural(r.decisions, "decision")}</em>}</small>
        {says && <small class={r.problem || r.line || r.wait ? "why" : ""}>{visible(says)}</small>}
      </td>
      <td><Progress row={r} /></td>
      <td class="right" title={day(r.created)}>{isOver(r) && !r.ended ? "" : r.ended ? <span>{age(p.now - r.ended)} ago<small>took {span(r.ended - r.created)}</small></span> : span(p.now - r.created)}</td>
      <td class="right spent">{tokens(r.tokens)}{r.budget ? <small>of {tokens(r.budget)}</small> : ""}</td>
      <td class="repo"><code title={r.repo}>{visible(r.repo.replace(/^.*\/(?=[^/]+\/?$)/, ""))}</code></td>
    </tr>
  );
}

/** Progress is a bar of what has landed and what was given up. */
export function Progress(p: { row: Row }): ComponentChild {
  const { tasks, landed, unchanged, parked, ended_tasks: over } = p.row;
  const share = (n: number) => ({ width: `${tasks ? (100 * n) / tasks : 0}%` });
  return (
    <div class="progress">
      <div class="bar" role="progressbar" aria-label="Tasks that are over" aria-valuemin={0} aria-valuemax={tasks} aria-valuenow={over}>
        <i class="good" style={share(landed)} /><i class="done" style={share(Math.max(0, over - landed - parked))} /><i class="bad" style={share(parked)} />
      </div>
      <small>{tasks ? `${over}/${tasks}` : "no tasks yet"}{unchanged > 0 && `, ${unchanged} without a change`}{parked > 0 && <em> {parked} parked</em>}</small>
    </div>
  );
}
