import { h, type ComponentChild } from "preact";
import type { Agent, Phase, View } from "./messages";
import type { Link } from "./stream";
import { plural, span, tokens } from "./words";

const links: Record<Link, string> = { connecting: "reconnecting", live: "live", lost: "no connection" };

export function Head(p: { id: string; view: View; link: Link; now: number }): ComponentChild {
  const { id, view, link } = p;
  const end = view.ended || Math.max(p.now, view.last);
  const waited = view.waited + (view.wait ? end - view.last : 0);
  return (
    <header class="head">
      <div class="title">
        <img class="mark" src="/icon.svg" alt="" />
        <h1>Divisi</h1>
        <code class="id" title="The run's id">{id}</code>
        <Word state={view.wait ? "waiting" : view.state || "waiting"} />
        <span class={`link ${link}`} title="The page's connection to the log">{links[link]}</span>
      </div>
      <p class="goal" title={view.goal}>{view.goal || "Waiting for the run's first event."}</p>
      <dl class="facts">
        <Fact name="time" value={view.created ? span(end - view.created - waited) : "0s"} />
        <Fact name="tokens" value={tokens(view.tokens) + (view.budget ? ` of ${tokens(view.budget)}` : "")}
          hint={`${plural(view.calls, "model call")}, ${tokens(view.cached)} tokens from the cache`} />
        <Fact name="at once" value={String(view.parallel || "–")} hint="Attempts that may be at work at the same time" />
        <Fact name="base" value={(view.branch ? view.branch + " " : "") + view.base.slice(0, 9)} hint={view.repo} />
        {view.ref && <Fact name="result" value={view.ref.replace("refs/heads/", "") + (view.unverified ? " (unverified)" : "")} hint={`${view.ref} at ${view.published}`} />}
      </dl>
      {view.reason && <p class={`why ${view.ended ? view.state : ""}`}>{view.state}: {view.reason}</p>}
      {view.wait && <p class="why notice">waiting for {view.wait}</p>}
      {view.unverified && <p class="why unverified">unverified: nothing that lands is proven: {view.unverified}</p>}
      {view.notices?.map((n) => <p class="why notice">{n}</p>)}
    </header>
  );
}

function Fact(p: { name: string; value: string; hint?: string }): ComponentChild {
  return <div title={p.hint}><dt>{p.name}</dt><dd>{p.value}</dd></div>;
}

/** Word shows a state as a coloured word. */
export function Word(p: { state: string }): ComponentChild {
  return <span class={`word ${p.state}`}>{p.state}</span>;
}

export function Phases(p: { phases: Phase[] }): ComponentChild {
  return <ol class="phases" aria-label="Phases">{p.phases.map((ph) => <Bar key={ph.name} phase={ph} />)}</ol>;
}

function Bar(p: { phase: Phase }): ComponentChild {
  const { name, state, good, bad, part, total, note } = p.phase;
  const share = (n: number) => ({ width: `${total ? (100 * n) / total : 0}%` });
  return (
    <li class={`phase ${state}`}>
      <div class="name"><b>{name}</b><span class="said">{state}</span></div>
      <div class="bar" role="progressbar" aria-label={name} aria-valuemin={0} aria-valuemax={total} aria-valuenow={good + bad}>
        <i class="good" style={share(good)} /><i class="bad" style={share(bad)} /><i class="part" style={share(part)} />
      </div>
      <div class="short">{total ? `${good + bad}/${total}` : ""}</div>
      <div class="sum"><span><b>{good}</b>{total ? ` of ${total}` : ""} {note}</span>{bad > 0 && <em>{bad} {name === "Final gates" ? "red" : "parked"}</em>}</div>
    </li>
  );
}

export function Agents(p: { agents: Agent[]; now: number; pick: (task: string) => void; over: boolean }): ComponentChild {
  const list = p.agents;
  return (
    <section class="panel agents" aria-label="Agents at work">
      <h2>Agents at work <small>{list.filter((a) => !a.waits).length}</small></h2>
      <div class="scroll">
        {list.length === 0 && <p class="empty">{p.over ? "The run has ended." : "No agent is at work."}</p>}
        {list.map((a) => (
          <button type="button" class="agent" key={a.id} onClick={() => p.pick(a.task)} title={hint(a)}>
            <span class={`role ${a.role}`}>{a.role || "agent"}</span>
            <span class="who">{a.id.replace(/^--/, "")}</span>
            <span class="doing">{standing(a) + (a.doing || "thinking")}</span>
            <span class="spent">{a.tokens ? tokens(a.tokens) : ""}</span>
            <span class="for">{span(p.now - a.since)}</span>
          </button>
        ))}
      </div>
    </section>
  );
}

/** standing sums up an agent's own plan. */
function standing(a: Agent): string {
  const steps = a.steps ?? [];
  if (steps.length === 0) return "";
  const now = steps.find((s) => s.state === "doing")?.text;
  return `${steps.filter((s) => s.state === "done").length}/${steps.length}${now ? ` ${now}` : ""} · `;
}

function hint(a: Agent): string {
  const again = a.delivery > 1 ? `, delivery ${a.delivery}` : "";
  return `${a.id} on ${a.worker || "a worker"}${again}: ${plural(a.turns, "turn")}, ${tokens(a.tokens)} tokens` +
    (a.steps ?? []).map((s) => `\n${s.state}: ${s.text}`).join("");
}
