import { h, type ComponentChild } from "preact";
import { at } from "./api";
import { Foreign } from "./foreign";
import { Load } from "./load";
import type { Attempt } from "./messages";
import { put } from "./place";

interface Props { run: string; task: string; attempts: Attempt[]; query: URLSearchParams }

/** Context is what the model saw at one turn of an attempt. */
export function Context(p: Props): ComponentChild {
  const newest = p.attempts.reduce((n, a) => Math.max(n, a.n), 0);
  if (!newest) return <p class="empty panel">No attempt has begun.</p>;
  const attempt = Number(p.query.get("attempt")) || newest;
  const turns = p.attempts.find((a) => a.n === attempt)?.turns ?? 0;
  const turn = Math.min(Number(p.query.get("turn")) || turns, Math.max(turns, 1)) || 1;
  const path = `${at("runs", p.run, "tasks", p.task, "context")}?attempt=${attempt}&turn=${turn}`;
  const go = (t: number) => put({ turn: String(t) });
  return (
    <section class="panel context" aria-label="What the model saw">
      <h2>What the model saw
        <label>attempt <select value={String(attempt)} onChange={(e: Event) => put({ attempt: (e.target as HTMLSelectElement).value, turn: "" })}>
          {p.attempts.map((a) => <option value={String(a.n)}>{a.n}</option>)}</select></label>
        <button type="button" class="act" aria-label="The turn before" disabled={turn <= 1} onClick={() => go(turn - 1)}>←</button>
        <label>turn <input type="number" min={1} max={Math.max(turns, 1)} value={turn} onChange={(e: Event) => go(Number((e.target as HTMLInputElement).value))} /> of {turns || "?"}</label>
        <button type="button" class="act" aria-label="The next turn" disabled={turns > 0 && turn >= turns} onClick={() => go(turn + 1)}>→</button>
      </h2>
      <Load<{ text: string }> path={path} draw={(got) => <Foreign text={got.text} label="Context" />} />
    </section>
  );
}
