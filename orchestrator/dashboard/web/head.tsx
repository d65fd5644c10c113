import { h, type ComponentChild } from "preact";
import { Buttons } from "./acts";
import { visible } from "./foreign";
import type { Row, View } from "./messages";
import { Word } from "./word";
import { age, plural, span, tokens } from "./words";

interface Props { id: string; view: View; row?: Row; writes: boolean; now: number }

/** Head is what the run is, how it stands, and what a person may have it do. */
export function Head(p: Props): ComponentChild {
  const { id, view, row } = p;
  const end = view.ended || Math.max(p.now, view.last);
  const waited = view.waited + (view.wait ? end - view.last : 0);
  return (
    <header class="head">
      <div class="title">
        <h1 class="goal" title={view.goal}>{visible(view.goal || row?.goal || "Waiting for the run's first event.")}</h1>
        <Word state={stateOf(view, row)} />
        <code class="id" title="The run's id">{id}</code>
      </div>
      <dl class="facts">
        <Fact name="time" value={view.created ? span(end - view.created - waited) : "0s"} />
        <Fact name="tokens" value={tokens(view.tokens) + (view.budget ? ` of ${tokens(view.budget)}` : "") + (view.cost ? `, ${view.cost}` : "")}
          hint={`${plural(view.calls, "model call")}, ${tokens(view.cached)} tokens from the cache`} />
        {view.projected ? <Fact name="lands" value={`in about ${age(view.projected - p.now)}`} hint="Where all goes on as it did" /> : null}
        {view.left ? <Fact name="to go" value={view.left} hint="The range that eight of ten such runs are in" /> : null}
        <Fact name="at once" value={String(view.parallel || "–")} hint="Attempts that may run at the same time" />
        <Fact name="base" value={(view.branch ? view.branch + " " : "") + view.base.slice(0, 9)} hint={view.repo} />
        {view.ref && <Fact name="result" value={view.ref.replace("refs/heads/", "") + (view.unverified ? " (unverified)" : "")} hint={`${view.ref} at ${view.published}`} />}
      </dl>
      {p.writes && <Buttons run={id} acts={view.acts} />}
      <Says view={view} row={row} />
    </header>
  );
}

function Says(p: { view: View; row?: Row }): ComponentChild {
  const { view, row } = p;
  return (
    <div class="says">
      {view.unread?.map((u) => <p class="why unverified">landed unverified, no gate reads {visible(u)}</p>)}
      {view.alarm && <p class="why alarm">{visible(view.alarm)}</p>}
      {row?.problem && <p class="why alarm">{visible(row.problem)}</p>}
      {view.line && <p class="why stopped">the line is stopped: {visible(view.line)}</p>}
      {view.reason && <p class={`why ${view.ended ? view.state : ""}`}>{view.state}: {visible(view.reason)}</p>}
      {view.wait && <p class="why notice">waiting for {visible(view.wait)}</p>}
      {view.unverified && <p class="why unverified">unverified: nothing that lands is proven: {visible(view.unverified)}</p>}
      {view.ci?.map((line) => <p class="why notice">ci: {visible(line)}</p>)}
      {view.unlike?.map((u) => <p class="why notice">unlike its siblings: {visible(u)}</p>)}
      {view.rounds?.map((r) => <p class="why notice">{visible(r)}</p>)}
      {view.untried?.map((u) => <p class="why notice">changed tests not tried: {visible(u)}</p>)}
      {view.notices?.map((n) => <p class="why notice">{visible(n)}</p>)}
    </div>
  );
}

function Fact(p: { name: string; value: string; hint?: string }): ComponentChild {
  return <div title={p.hint}><dt>{p.name}</dt><dd>{visible(p.value)}</dd></div>;
}

/** stateOf is the word for how the run stands: its row knows of a pause, and of a process that is gone. */
function stateOf(view: View, row?: Row): string {
  if (view.wait) return "waiting";
  return row && ["paused", "killed", "damaged"].includes(row.state) ? row.state : view.state || row?.state || "waiting";
}
