import { h, type ComponentChild } from "preact";
import { Foreign, visible } from "./foreign";
import type { GateRun, TaskLog } from "./messages";

/** Gates shows what tested an attempt: what failed first, and of each output the first error on top. */
export function Gates(p: { log: TaskLog }): ComponentChild {
  const { log } = p;
  const gates = [...(log.gates ?? [])].sort((a, b) => Number(a.verdict === "pass") - Number(b.verdict === "pass"));
  return (
    <div class="gates">
      {log.rejected && <p class="why">{visible(log.rejected)}</p>}
      {log.printed && <details><summary>What its command printed</summary><Foreign text={log.printed} /></details>}
      {gates.map((g, i) => <One key={i} gate={g} />)}
      {log.run_gates?.map((g, i) => (
        <details key={i}><summary>run_gates, turn {g.turn} {g.red?.length ? <em>{visible(g.red.join(", "))}</em> : ""}</summary><Foreign text={g.output ?? ""} /></details>
      ))}
    </div>
  );
}

function One(p: { gate: GateRun }): ComponentChild {
  const g = p.gate;
  const bad = g.verdict !== "pass";
  const first = g.failures?.[0] ?? (bad ? firstError(g.output ?? "") : "");
  return (
    <details class={`gate ${g.verdict}`} open={bad}>
      <summary><b>{visible(g.gate)}</b> <span class={`verdict ${g.verdict}`}>{visible(g.verdict)}</span>{g.exit_code ? ` exit ${g.exit_code}` : ""}
        {g.batch ? <small> batch {g.batch}{g.with?.length ? ` with ${g.with.length} others` : ""}</small> : ""}</summary>
      {first && <p class="first-error">{visible(first)}</p>}
      {g.failures && g.failures.length > 1 && <ul>{g.failures.slice(1, 20).map((f) => <li>{visible(f)}</li>)}</ul>}
      {g.lost && <p class="note">{visible(g.lost)}</p>}
      <Foreign text={g.output ?? ""} label={`Output of ${g.gate}`} />
    </details>
  );
}

/** firstError is the first line that looks like an error. */
function firstError(output: string): string {
  return output.split("\n").find((l) => /\b(error|fail(ed)?|panic|fatal|undefined|cannot)\b|--- FAIL/i.test(l))?.trim().slice(0, 400) ?? "";
}
