import { Component, h, type ComponentChild } from "preact";
import { visible } from "./foreign";
import { grouped, type Part } from "./groups";
import { List } from "./list";
import type { Task, View } from "./messages";
import type { Span, Spans } from "./spans";
import { Group } from "./tasks";
import { clock, name, span } from "./words";

interface Props { view: View; rows: Task[]; spans: Spans; picked: string; pick: (task: string) => void; now: number }

const windows = [{ text: "all", ms: 0 }, { text: "1 h", ms: 3600_000 }, { text: "15 min", ms: 900_000 }];

/** Timeline shows when each attempt was at work: the same tasks, selection and groups as the table. */
export class Timeline extends Component<Props, { open: Set<string>; ms: number }> {
  state = { open: new Set<string>(), ms: 0 };

  /** bounds are the begin and the end of the time axis. */
  private bounds(): [number, number] {
    const { view, now } = this.props;
    const end = view.ended || Math.max(now, view.last);
    const from = this.state.ms ? Math.max(view.created, end - this.state.ms) : view.created;
    return [from, Math.max(end, from + 1000)];
  }

  render(): ComponentChild {
    const { rows, spans, picked, view } = this.props;
    const [from, to] = this.bounds();
    const byTask = spans.byTask();
    const known = new Set(rows.map((r) => r.id));
    const own = [...byTask.keys()].filter((id) => !known.has(id)).map((id) => ({ id, role: "", state: "", attempt: 0, added: 0, deleted: 0, tokens: 0 }));
    const began = (t: Task) => byTask.get(t.id)?.[0]?.begin ?? Infinity;
    const order = [...own, ...rows].sort((a, b) => { const x = began(a), y = began(b); return x === y ? 0 : x - y; });
    return (
      <section class="panel timeline" aria-label="Timeline">
        <h2>Timeline <small>{view.created ? `${clock(from)} to ${clock(to)}` : ""}</small>
          <span class="legend">{roles(spans).map((r) => <span class={`key ${r}`}>{visible(r)}</span>)}
            <span class="key failed">failed</span><span class="key landed">landed</span></span>
          <span class="tabs small" role="group" aria-label="Time shown">{windows.map((w) => (
            <button type="button" aria-pressed={this.state.ms === w.ms} onClick={() => this.setState({ ms: w.ms })}>{w.text}</button>
          ))}</span>
        </h2>
        <div class="lane axis" aria-hidden="true"><span class="of" /><span class="track">{ticks(from, to).map((t) => (
          <span class="tick" style={{ left: `${share(t, from, to)}%` }}>{clock(t).slice(0, to - from < 600_000 ? 8 : 5)}</span>
        ))}</span></div>
        <List items={grouped(order, this.state.open, picked)} rowVar="--lane-row" keyOf={(p) => p.key} label="Timeline" role="list"
          empty="No attempt has begun." draw={(p) => this.part(p, from, to)} />
      </section>
    );
  }

  private part(p: Part, from: number, to: number): ComponentChild {
    if (!p.task) return <Group part={p} toggle={(n) => this.toggle(n)} />;
    const { spans, picked, pick, view } = this.props;
    const t = p.task;
    const of = spans.byTask().get(t.id) ?? [];
    return (
      <button type="button" class={`lane ${t.id === picked ? "picked" : ""} ${p.inner ? "inner" : ""}`} data-j aria-label={`${t.id}: ${t.state}${t.state === "pending" && t.why ? ", " + t.why : ""}`} aria-pressed={t.id === picked}
        title={[t.id, ...of.map((s) => `${s.agent} ${s.role}: ${clock(s.begin)}, ${span((s.end || to) - s.begin)}`)].join("\n")}
        onClick={() => pick(t.id === picked ? "" : t.id)}>
        <span class="of">{visible(name(t.id))}<small>{t.state === "pending" && t.why ? visible(t.why) : t.state}</small></span>
        <span class="track">
          {of.filter((s) => (s.end || to) >= from).map((s) => bar(s, from, to, !!view.ended))}
          {t.landed ? <i class="landed" style={{ left: `${share(t.landed, from, to)}%` }} /> : null}
        </span>
      </button>
    );
  }

  private toggle(n: string): void {
    const open = new Set(this.state.open);
    if (!open.delete(n)) open.add(n);
    this.setState({ open });
  }
}

/** roles are those whose attempts are shown. */
function roles(spans: Spans): string[] {
  return [...new Set([...spans.byTask().values()].flat().map((s) => s.role || "agent"))].sort();
}

function bar(s: Span, from: number, to: number, over: boolean): ComponentChild {
  const left = share(s.begin, from, to);
  const width = Math.max(0.15, share(s.end || to, from, to) - left);
  const state = s.end ? (s.good ? "" : "failed") : over ? "lost" : "now";
  return <i class={`at ${s.role} ${state}`} style={{ left: `${left}%`, width: `${width}%` }} />;
}

/** share is where a time is on the axis, in percent. */
function share(t: number, from: number, to: number): number {
  return Math.max(0, Math.min(100, (100 * (t - from)) / (to - from)));
}

const steps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map((s) => s * 1000);

/** ticks are the round times on the axis, at most eight. */
function ticks(from: number, to: number): number[] {
  const step = steps.find((s) => (to - from) / s <= 8) ?? (to - from) / 8;
  const all: number[] = [];
  for (let t = Math.ceil(from / step) * step; t < to; t += step) all.push(t);
  return all;
}
