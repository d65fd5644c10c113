import { h, type ComponentChild } from "preact";
import { visible } from "./foreign";
import type { View } from "./messages";
import { taskPath } from "./place";
import { count, plural, span } from "./words";

/** Landing shows what is tested and what waits to be, and what proved unreliable. */
export function Landing(p: { run: string; view: View; now: number }): ComponentChild {
  const q = p.view.queue;
  const waiting = q?.waiting_count ?? q?.waiting?.length ?? 0;
  const saved = (q?.gate_runs_one_by_one ?? 0) - (q?.gate_runs ?? 0);
  return (
    <section class="panel landing" aria-label="Landing queue">
      <h2>Landing <small>{plural(waiting, "task")} waiting{q?.limit ? `, batches of at most ${q.limit}` : ""}</small></h2>
      <dl class="figures">
        <Figure name="gate runs" hint="How often a gate ran to test patches that were to land" value={count(q?.gate_runs ?? 0)} />
        <Figure name="one by one" hint="How many gate runs it takes at least to test each patch alone" value={count(q?.gate_runs_one_by_one ?? 0)} />
        <Figure name="saved" hint="Gate runs that were not needed since patches are tested together: one by one, less gate runs" value={saved > 0 ? count(saved) : "–"} />
        <Figure name="suspects" hint="Tasks whose patches may be why a batch failed its gates; they are tested apart from the others" value={count(q?.suspects?.length ?? 0)} />
      </dl>
      <div class="scroll">
        {!q?.testing?.length && <p class="empty">No batch is tested now{q?.idle ? `: ${q.idle}` : ""}.</p>}
        {q?.testing?.map((b) => (
          <div class="batch" key={b.batch}>
            <b>Batch {b.batch}</b> <span class="sub">{visible([b.set, b.search, b.since && `tested for ${span(p.now - b.since)}`].filter(Boolean).join(", "))}</span>
            <Names run={p.run} names={b.tasks ?? []} />
          </div>
        ))}
        {waiting > 0 && <div class="batch"><b>Waiting</b><Names run={p.run} names={q?.waiting ?? []} more={waiting - (q?.waiting?.length ?? 0)} /></div>}
      </div>
    </section>
  );
}

function Figure(p: { name: string; hint: string; value: string }): ComponentChild {
  return <div title={p.hint}><dt>{p.name}</dt><dd>{p.value}</dd></div>;
}

function Names(p: { run: string; names: string[]; more?: number }): ComponentChild {
  return <ol class="names">{p.names.map((n) => <li><a href={taskPath(p.run, n)}>{visible(n)}</a></li>)}{(p.more ?? 0) > 0 && <li>… {p.more} more</li>}</ol>;
}

export function Workers(p: { view: View; now: number }): ComponentChild {
  const all = p.view.workers ?? [];
  return (
    <section class="panel workers" aria-label="Workers">
      <h2>Workers <small>{all.length}</small></h2>
      {all.length === 0 && <p class="empty">{p.view.ended ? "The run has ended." : "No worker is there: nothing can be worked on."}</p>}
      <ul class="plain">{all.map((w) => <li key={w.name}><b>{visible(w.name)}</b> <span class="sub">{plural(w.agents, "agent")}, for {span(p.now - w.since)}</span></li>)}</ul>
    </section>
  );
}

export function Flaky(p: { view: View }): ComponentChild {
  const all = p.view.flaky ?? [];
  return (
    <section class="panel flaky" aria-label="Flaky gates">
      <h2>Flaky gates <small>{all.length}</small></h2>
      {all.length === 0 && <p class="empty">No gate gave two answers for the same tree.</p>}
      <ul class="plain">{all.map((f) => <li key={f.gate}><b>{visible(f.gate)}</b> <span class="sub">{visible((f.names ?? []).join(", "))}</span></li>)}</ul>
    </section>
  );
}
