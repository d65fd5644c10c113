import { h, type ComponentChild } from "preact";
import { ask } from "./frame";

interface Toast { id: number; text: string; bad: boolean; undo?: { label: string; press: () => void } }

let all: Toast[] = [];
let ids = 0;
let unfolded = false;

/** How many are drawn, the newest, until a person asks for all. */
const most = 3;

/** say tells a person what became of an act; undo, where it is given, takes it back. */
export function say(text: string, bad = false, undo?: Toast["undo"], ms = bad ? 20_000 : 8_000): void {
  const id = ++ids;
  all.push({ id, text, bad, undo });
  setTimeout(() => drop(id), ms);
  ask();
}

function drop(id: number): void {
  all = all.filter((t) => t.id !== id);
  if (all.length <= most) unfolded = false;
  ask();
}

export function Toasts(): ComponentChild {
  const folded = unfolded ? 0 : Math.max(0, all.length - most);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {all.length > most && <p class="rest"><button type="button" class="more" aria-expanded={unfolded} onClick={() => fold(!unfolded)}>
        {unfolded ? "Show only the newest" : `${folded} more`}</button></p>}
      {all.slice(folded).map((t) => (
        <p key={t.id} class={`toast ${t.bad ? "bad" : ""}`}>
          <span>{t.text}</span>
          {t.undo && <button type="button" class="act" onClick={() => { drop(t.id); t.undo!.press(); }}>{t.undo.label}</button>}
          <button type="button" class="quiet" aria-label="Dismiss" onClick={() => drop(t.id)}>✕</button>
        </p>
      ))}
    </div>
  );
}

function fold(open: boolean): void {
  unfolded = open;
  ask();
}
