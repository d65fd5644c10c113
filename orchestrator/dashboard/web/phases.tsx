import { h, type ComponentChild } from "preact";
import type { Phase } from "./messages";
import { span, tokens } from "./words";

export function Phases(p: { phases: Phase[] }): ComponentChild {
  return <ol class="phases" aria-label="Phases">{p.phases.map((ph) => <Bar key={ph.name} phase={ph} />)}</ol>;
}

function Bar(p: { phase: Phase }): ComponentChild {
  const { name, state, good, bad, part, total, note, ms, tokens: spent } = p.phase;
  const share = (n: number) => ({ width: `${total ? (100 * n) / total : 0}%` });
  return (
    <li class={`phase ${state}`}>
      <div class="name"><b>{name}</b><span class="said">{state}</span></div>
      <div class="bar" role="progressbar" aria-label={name} aria-valuemin={0} aria-valuemax={total} aria-valuenow={good + bad}>
        <i class="good" style={share(good)} /><i class="bad" style={share(bad)} /><i class="part" style={share(part)} />
      </div>
      <div class="short">{total ? `${good + bad}/${total}` : ""}</div>
      <div class="sum"><span><b>{good}</b>{total ? ` of ${total}` : ""} {note}</span>{bad > 0 && <em>{bad} {name === "Final gates" ? "red" : "parked"}</em>}</div>
      {(ms || spent) ? <div class="cost">{[ms ? span(ms) : "", spent ? `${tokens(spent)} tokens` : ""].filter(Boolean).join(" · ")}</div> : null}
    </li>
  );
}
