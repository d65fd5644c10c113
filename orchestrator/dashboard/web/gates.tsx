import { h, type ComponentChild } from "preact";
import { Foreign, visible } from "./foreign";
import type { GateRun, TaskLog } from "./messages";
import { bytes, commandLine, span } from "./words";

/** Gates shows what tested an attempt: what failed first, and of each output the first error on top. */
export function Gates(p: { log: TaskLog; cause?: string }): ComponentChild {
  const { log } = p;
  const gates = [...(log.gates ?? [])].sort((a, b) => Number(a.verdict === "pass") - Number(b.verdict === "pass"));
  return (
    <div class="gates">
      {log.rejected && log.rejected !== p.cause && <p class="why">{visible(log.rejected)}</p>}
      {log.said && !(log.reason ?? "").includes(log.said) && <details><summary>Its last words</summary><Foreign text={log.said} /></details>}
      {log.printed && <details><summary>What its command printed <small>{bytes(log.printed.length)}</small></summary><Foreign text={log.printed} /></details>}
      {gates.map((g, i) => <One key={i} gate={g} />)}
      {log.not_started && <p class="note">Not started, as the change touches none of their paths: {visible(log.not_started.join(", "))}</p>}
      {log.saved?.map((s) => <details key={s.name}><summary>Artifact {visible(s.name)} <small>{bytes(s.bytes)}</small></summary><Foreign text={s.content ?? s.lost ?? ""} /></details>)}
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
      <summary><b>{visible(g.gate)}</b> <span class={`verdict ${g.verdict}`}>{visible(g.verdict)}</span> exit code {g.exit_code ?? 0}{g.duration_ns ? <small> {span(g.duration_ns / 1e6)}</small> : ""}
        {g.alone && <small> · its tests without the change</small>}{g.batch ? <small> · batch {g.batch}{g.with?.length ? ` with ${g.with.length} others` : ""}</small> : ""}</summary>
      {g.command && <p class="ran"><code>$ {visible(commandLine(g.command))}</code></p>}
      {first && <p class="first-error">{visible(first)}</p>}
      {g.failures && g.failures.length > 1 && <ul>{g.failures.slice(1, 20).map((f) => <li>{visible(f)}</li>)}</ul>}
      {g.lost && <p class="note">{visible(g.lost)}</p>}
      {g.programs?.map((x) => <p class="note">with {visible(`${x.path} ${x.version ?? ""}`)}</p>)}
      <Foreign text={g.output ?? ""} label={`Output of ${g.gate}`} />
    </details>
  );
}

/** firstError is the first line that looks like an error. */
function firstError(output: string): string {
  return output.split("\n").find((l) => /\b(error|fail(ed)?|panic|fatal|undefined|cannot)\b|--- FAIL/i.test(l))?.trim().slice(0, 400) ?? "";
}
