import { h, type ComponentChild } from "preact";
import { at, post, Refused, words } from "./api";
import { ask } from "./frame";
import { keep, kept } from "./keep";
import type { Outcome } from "./messages";
import { say } from "./toast";

/** One is an answer or an act that its run holds back; back is called once it was taken back. */
export interface One { run: string; id: string; back?: () => void }
interface Held { label: string; due: number; ones: One[]; busy?: boolean }

/** How long a run holds back what a person has sent, in ms. */
export const holdBack = 10_000;

let all: Held[] = [];

/** holds shows, for as long as the runs hold something back, what undoes it and what has it done at once; also when the page is
    loaded again. */
export function holds(label: string, ones: One[]): void {
  if (ones.length > 0) show({ label, ones, due: Date.now() + holdBack });
}

function show(held: Held): void {
  all.push(held);
  setTimeout(() => { held.ones = []; changed(); }, held.due - Date.now());
  changed();
}

function changed(): void {
  all = all.filter((x) => x.ones.length > 0);
  keep("held", all.map(({ label, due, ones }) => ({ label, due, ones: ones.map(({ run, id }) => ({ run, id })) })));
  ask();
}

/** heldBefore shows what was held back when the page was left. */
export function heldBefore(): void {
  for (const held of kept<Held[]>("held", [])) if (held.due > Date.now()) show(held);
}

/** end undoes all of it, or has it done. What the server was not reached for stays, to be tried again. */
async function end(held: Held, how: "back" | "now"): Promise<void> {
  held.busy = true;
  ask();
  for (const one of [...held.ones]) {
    try {
      const got = await post<Outcome>(at("runs", one.run, "decisions", one.id, how), {});
      if (how === "back") one.back?.();
      say(got.outcome ?? "", false);
    } catch (err) {
      say(words(err), true);
      if (!(err instanceof Refused) || err.status >= 500) continue;
    }
    held.ones = held.ones.filter((x) => x !== one);
  }
  held.busy = false;
  changed();
}

/** Undo is the bar of what runs hold back. The seconds are not read out one by one. */
export function Undo(): ComponentChild {
  return (
    <div class="undo" role="status">
      {all.map((x) => (
        <p key={x.due}>
          <span><b>{x.label}</b>, held back<span aria-hidden="true">: {Math.max(0, Math.ceil((x.due - Date.now()) / 1000))} s left</span></span>
          <button type="button" class="act strong" disabled={x.busy} onClick={() => void end(x, "back")}>Undo</button>
          <button type="button" class="act" disabled={x.busy} onClick={() => void end(x, "now")}>Send now</button>
        </p>
      ))}
    </div>
  );
}
