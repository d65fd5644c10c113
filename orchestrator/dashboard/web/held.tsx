import { h, type ComponentChild } from "preact";
import { at, post, words } from "./api";
import { ask } from "./frame";
import type { Outcome } from "./messages";
import { say } from "./toast";

/** One is an answer or an act that its run holds back; back is called once it was taken back. */
export interface One { run: string; id: string; back?: () => void }
interface Held { label: string; due: number; ones: One[] }

let all: Held[] = [];

/** holds shows, for as long as the runs hold something back, what undoes it and what has it done at once. */
export function holds(label: string, ones: One[], ms: number): void {
  if (ones.length === 0) return;
  const held = { label, ones, due: Date.now() + ms };
  all.push(held);
  setTimeout(() => drop(held), ms);
  ask();
}

function drop(held: Held): void {
  all = all.filter((x) => x !== held);
  ask();
}

async function end(held: Held, how: "back" | "now"): Promise<void> {
  drop(held);
  for (const one of held.ones) {
    try {
      const got = await post<Outcome>(at("runs", one.run, "decisions", one.id, how), {});
      if (how === "back") one.back?.();
      say(got.outcome ?? "", false);
    } catch (err) {
      say(words(err), true);
    }
  }
}

/** Undo is the bar of what runs hold back. The seconds are not read out one by one. */
export function Undo(): ComponentChild {
  return (
    <div class="undo" role="status">
      {all.map((x) => (
        <p key={x.due}>
          <span><b>{x.label}</b>, held back<span aria-hidden="true">: {Math.max(0, Math.ceil((x.due - Date.now()) / 1000))} s left</span></span>
          <button type="button" class="act strong" onClick={() => void end(x, "back")}>Undo</button>
          <button type="button" class="act" onClick={() => void end(x, "now")}>Send now</button>
        </p>
      ))}
    </div>
  );
}
