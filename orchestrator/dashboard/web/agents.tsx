import { h, type ComponentChild } from "preact";
import { visible } from "./foreign";
import type { Agent } from "./messages";
import { age, name, plural, span, tokens } from "./words";

interface Props { agents: Agent[]; now: number; pick: (task: string) => void; over: boolean }

/** quiet is how long an agent may give no sign of life before the page says so, in milliseconds. */
const quiet = 120_000;

export function Agents(p: Props): ComponentChild {
  const list = p.agents;
  return (
    <section class="panel agents" aria-label="Active agents">
      <h2>Active agents <small>{list.filter((a) => !a.waits).length}</small></h2>
      <div class="scroll">
        {list.length === 0 && <p class="empty">{p.over ? "The run has ended." : "No agent is active."}</p>}
        {list.map((a) => (
          <button type="button" class="agent" key={a.id} onClick={() => p.pick(a.task)} title={hint(a)}>
            <span class={`role ${a.role}`}>{visible(a.role || "agent")}</span>
            <span class="who">{visible(name(a.id))}</span>
            <span class="doing">{silent(a, p.now)}{visible(standing(a) + (a.doing || "thinking"))}</span>
            <span class="spent">{a.tokens ? tokens(a.tokens) : ""}</span>
            <span class="for">{span(p.now - a.since)}</span>
          </button>
        ))}
      </div>
    </section>
  );
}

/** silent warns of an agent that has given no sign of life for long. */
function silent(a: Agent, now: number): ComponentChild {
  if (!a.last || a.waits || now - a.last < quiet) return null;
  return <em class="silent">silent for {age(now - a.last)} </em>;
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
