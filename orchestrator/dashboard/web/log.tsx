import { Fragment, h, type ComponentChild } from "preact";
import { List } from "./list";
import { kinds } from "./messages";
import type { Filter, Row, Rows } from "./rows";
import { clock, count } from "./words";

export interface Detail { pos: number; id: string; text: string }

interface Props {
  rows: Rows;
  shown: Row[];
  waiting: number;
  paused: boolean;
  follow: boolean;
  detail: Detail | null;
  onFilter: (f: Partial<Filter>) => void;
  onPause: (paused: boolean) => void;
  onFollow: (follow: boolean) => void;
  onDetail: (r: Row | null) => void;
}

export function Log(p: Props): ComponentChild {
  return (
    <section class="panel log" aria-label="Log">
      <h2>Log <small class="counts">{sum(p)}</small></h2>
      <Tools {...p} />
      <div class="stage">
        <List items={p.shown} rowVar="--log-row" keyOf={(r) => r.n} label="Log" role="log" follow={p.follow}
          onFollow={p.onFollow} empty={p.rows.count ? "No event matches the filter." : "No events yet."}
          draw={(r) => <Entry row={r} picked={p.detail?.pos === r.pos} open={p.onDetail} />} />
        {!p.follow && p.shown.length > 0 && (
          <button type="button" class="newest" onClick={() => p.onFollow(true)}>↓ newest</button>
        )}
      </div>
      {p.detail && <Whole detail={p.detail} close={() => p.onDetail(null)} />}
    </section>
  );
}

function sum(p: Props): string {
  const all = `${count(p.rows.count)} events`;
  const some = p.rows.active() ? `${count(p.rows.shown.length)} of ${all}` : all;
  return p.rows.forgotten ? `${some} (the page keeps the newest ${count(p.rows.all.length)})` : some;
}

function Tools(p: Props): ComponentChild {
  const f = p.rows.filter;
  const value = (e: Event) => (e.target as HTMLInputElement).value;
  return (
    <div class="tools" role="search">
      <input type="search" name="text" placeholder="Filter text" aria-label="Filter by text" value={f.text}
        onInput={(e: Event) => p.onFilter({ text: value(e) })} />
      <select name="kind" aria-label="Filter by kind" value={f.kind} onChange={(e: Event) => p.onFilter({ kind: value(e) })}>
        <option value="">all kinds</option>
        <option value="problems">problems ({count(p.rows.problems)})</option>
        {kinds.map((k) => <option value={k}>{k} ({count(p.rows.byKind.get(k) ?? 0)})</option>)}
      </select>
      <input type="search" name="task" placeholder="Task" aria-label="Filter by task" value={f.task}
        onInput={(e: Event) => p.onFilter({ task: value(e) })} />
      <button type="button" class="pause" aria-pressed={p.paused} onClick={() => p.onPause(!p.paused)}>
        {p.paused ? <Fragment>Go on{p.waiting > 0 && ` (${count(p.waiting)} new)`}</Fragment> : "Pause"}
      </button>
      {p.rows.active() && (
        <button type="button" class="clear" onClick={() => p.onFilter({ text: "", kind: "", task: "" })}>Clear</button>
      )}
    </div>
  );
}

function Entry(p: { row: Row; picked: boolean; open: (r: Row) => void }): ComponentChild {
  const r = p.row;
  return (
    <button type="button" class={`cols entry ${r.level} ${p.picked ? "picked" : ""}`} data-pos={r.pos} onClick={() => p.open(r)}>
      <time>{clock(r.time)}</time>
      <span class={`kind ${r.kind}`}>{r.kind}</span>
      <span class="of">{(r.agent || r.task || "conductor").replace(/^--/, "")}</span>
      <span class="text">{r.text}</span>
    </button>
  );
}

function Whole(p: { detail: Detail; close: () => void }): ComponentChild {
  return (
    <aside class="whole" aria-label="The event in full">
      <div class="bar-of"><b>Event at {p.detail.pos}</b><button type="button" onClick={p.close}>Close</button></div>
      <pre>{p.detail.text}</pre>
    </aside>
  );
}
