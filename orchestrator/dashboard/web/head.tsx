import { h, type ComponentChild } from "preact";
import { act, label } from "./acts";
import { visible } from "./foreign";
import type { Row, Task, View, Way } from "./messages";
import { Word } from "./word";
import { plural, span, tokens } from "./words";

interface Props { id: string; view: View; row?: Row; tasks: Task[]; writes: boolean; now: number }

/** Head is what the run is, how it stands, and what a person may have it do. */
export function Head(p: Props): ComponentChild {
  const { id, view, row } = p;
  const end = view.ended || Math.max(p.now, view.last);
  const waited = view.waited + (view.wait ? end - view.last : 0);
  return (
    <header class="head">
      <div class="title">
        <h1 class="goal" title={view.goal}>{visible(view.goal || row?.goal || "Waiting for the run's first event.")}</h1>
        <Word state={view.wait ? "waiting" : view.state || row?.state || "waiting"} />
        <code class="id" title="The run's id">{id}</code>
      </div>
      <dl class="facts">
        <Fact name="time" value={view.created ? span(end - view.created - waited) : "0s"} />
        <Fact name="tokens" value={tokens(view.tokens) + (view.budget ? ` of ${tokens(view.budget)}` : "")}
          hint={`${plural(view.calls, "model call")}, ${tokens(view.cached)} tokens from the cache`} />
        <Fact name="at once" value={String(view.parallel || "–")} hint="Attempts that may be at work at the same time" />
        <Fact name="base" value={(view.branch ? view.branch + " " : "") + view.base.slice(0, 9)} hint={view.repo} />
        {view.ref && <Fact name="result" value={view.ref.replace("refs/heads/", "") + (view.unverified ? " (unverified)" : "")} hint={`${view.ref} at ${view.published}`} />}
      </dl>
      {p.writes && <Acts {...p} />}
      <Says view={view} row={row} />
    </header>
  );
}

function Says(p: { view: View; row?: Row }): ComponentChild {
  const { view, row } = p;
  return (
    <div class="says">
      {view.alarm && <p class="why alarm" role="alert">{visible(view.alarm)}</p>}
      {row?.problem && <p class="why alarm">{visible(row.problem)}</p>}
      {view.line && <p class="why stopped">the line is stopped: {visible(view.line)}</p>}
      {view.reason && <p class={`why ${view.ended ? view.state : ""}`}>{view.state}: {visible(view.reason)}</p>}
      {view.wait && <p class="why notice">waiting for {visible(view.wait)}</p>}
      {view.unverified && <p class="why unverified">unverified: nothing that lands is proven: {visible(view.unverified)}</p>}
      {view.notices?.map((n) => <p class="why notice">{visible(n)}</p>)}
    </div>
  );
}

function Fact(p: { name: string; value: string; hint?: string }): ComponentChild {
  return <div title={p.hint}><dt>{p.name}</dt><dd>{visible(p.value)}</dd></div>;
}

/** verbsOf are what a person may have the run do: what the server names, and what always fits a run that goes on. */
function verbsOf(p: Props): string[] {
  const { view, row } = p;
  const ways = (view.ways ?? row?.ways ?? []).filter((w: Way) => w.verb && !w.task).map((w) => w.verb);
  const goes = !!view.state && !view.ended && !["paused", "killed", "damaged", "stopped"].includes(view.state);
  const own = goes ? ["pause", view.line ? "start_line" : "stop_line", "cancel"] : [];
  if (goes && p.tasks.some((t) => t.role === "master")) own.push("send");
  if (p.tasks.some((t) => t.state === "parked")) own.push("retry");
  const order = ["resume", "pause", "start_line", "stop_line", "send", "retry", "publish", "cancel"];
  return [...new Set([...ways, ...own])].filter((v) => v !== "answer").sort((a, b) => order.indexOf(a) - order.indexOf(b));
}

function Acts(p: Props): ComponentChild {
  const text = (v: string) => (v === "retry" ? "Retry parked" : v === "send" ? "Message the master" : label(v));
  return (
    <div class="acts" role="group" aria-label="What the run is to do">
      {verbsOf(p).map((v) => (
        <button type="button" key={v} class={`act ${v === "cancel" ? "destroys" : ""}`} onClick={() => act({ run: p.id, verb: v })}>{text(v)}</button>
      ))}
    </div>
  );
}
