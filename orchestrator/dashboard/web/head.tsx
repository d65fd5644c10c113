import { h, type ComponentChild } from "preact";
import { type Agent, endedRun, type Phase, type Run } from "./fold";
import type { Link } from "./stream";
import { plural, span, tokens } from "./words";

const links: Record<Link, string> = { connecting: "reconnecting", live: "live", lost: "no connection" };

export function Head(p: { run: Run; link: Link; now: number }): ComponentChild {
  const { run, link } = p;
  const end = run.ended || Math.max(p.now, run.last);
  return (
    <header class="head">
      <div class="title">
        <img class="mark" src="/icon.svg" alt="" />
        <h1>Divisi</h1>
        <code class="id" title="The run's id">{run.id}</code>
        <Word state={run.wait ? "waiting" : run.state || "waiting"} />
        <span class={`link ${link}`} title="The page's connection to the log">{links[link]}</span>
      </div>
      <p class="goal" title={run.goal}>{run.goal || "Waiting for the run's first event."}</p>
      <dl class="facts">
        <Fact name="time" value={run.created ? span(end - run.created - run.waitedUntil(end)) : "0s"} />
        <Fact name="tokens" value={tokens(run.tokens) + (run.budget ? ` of ${tokens(run.budget)}` : "")}
          hint={`${plural(run.calls, "model call")}, ${tokens(run.cached)} tokens from the cache`} />
        <Fact name="at once" value={String(run.parallel || "–")} hint="Attempts that may be at work at the same time" />
        <Fact name="base" value={(run.branch ? run.branch + " " : "") + run.base.slice(0, 9)} hint={run.repo} />
        {run.ref && <Fact name="result" value={run.ref.replace("refs/heads/", "") + (run.unverified ? " (unverified)" : "")} hint={`${run.ref} at ${run.head}`} />}
      </dl>
      {run.reason && <p class={`why ${endedRun.has(run.state) ? run.state : ""}`}>{run.state}: {run.reason}</p>}
      {run.wait && <p class="why notice">waiting for {run.wait}</p>}
      {run.unverified && <p class="why unverified">unverified: nothing that lands is proven: {run.unverified}</p>}
      {run.notices.map((n) => <p class="why notice">{n}</p>)}
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

const said: Record<Phase["state"], string> = { waiting: "waiting", working: "working", done: "done", ended: "not reached" };

function Bar(p: { phase: Phase }): ComponentChild {
  const { name, state, good, bad, part, total, note } = p.phase;
  const share = (n: number) => ({ width: `${total ? (100 * n) / total : 0}%` });
  return (
    <li class={`phase ${state}`}>
      <div class="name"><b>{name}</b><span class="said">{said[state]}</span></div>
      <div class="bar" role="progressbar" aria-label={name} aria-valuemin={0} aria-valuemax={total} aria-valuenow={good + bad}>
        <i class="good" style={share(good)} /><i class="bad" style={share(bad)} /><i class="part" style={share(part)} />
      </div>
      <div class="short">{total ? `${good + bad}/${total}` : ""}</div>
      <div class="sum"><span><b>{good}</b>{total ? ` of ${total}` : ""} {note}</span>{bad > 0 && <em>{bad} {name === "Final gates" ? "red" : "parked"}</em>}</div>
    </li>
  );
}

export function Agents(p: { agents: Agent[]; now: number; pick: (task: string) => void; over: boolean }): ComponentChild {
  const list = [...p.agents].sort((a, b) => a.since - b.since);
  return (
    <section class="panel agents" aria-label="Agents at work">
      <h2>Agents at work <small>{list.filter((a) => !a.waits).length}</small></h2>
      <div class="scroll">
        {list.length === 0 && <p class="empty">{p.over ? "The run has ended." : "Nobody is at work just now."}</p>}
        {list.map((a) => (
          <button type="button" class="agent" key={a.id} onClick={() => p.pick(a.task)} title={hint(a)}>
            <span class={`role ${a.role}`}>{a.role || "agent"}</span>
            <span class="who">{a.id.replace(/^--/, "")}</span>
            <span class="doing">{a.doing || "thinking"}</span>
            <span class="spent">{a.tokens ? tokens(a.tokens) : ""}</span>
            <span class="for">{span(p.now - a.since)}</span>
          </button>
        ))}
      </div>
    </section>
  );
}

function hint(a: Agent): string {
  const again = a.delivery > 1 ? `, delivery ${a.delivery}` : "";
  return `${a.id} on ${a.worker || "a worker"}${again}: ${plural(a.turns, "turn")}, ${tokens(a.tokens)} tokens`;
}
