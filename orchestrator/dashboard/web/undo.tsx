import { h, type ComponentChild } from "preact";
import type { Answers } from "./answers";

/** Undo is the bar of the answers for many that are not sent yet. The seconds are not read out one by one. */
export function Undo(p: { answers: Answers; now: number }): ComponentChild {
  return (
    <div class="undo" role="status">
      {p.answers.waiting.map((w) => (
        <p key={w.due}>
          <span><b>{w.answer.option}</b> for {w.needs.length} decisions alike, not sent yet<span aria-hidden="true">: {Math.max(0, Math.ceil((w.due - Date.now()) / 1000))} s left</span></span>
          <button type="button" class="act strong" onClick={() => p.answers.undo(w)}>Undo</button>
          <button type="button" class="act" onClick={() => p.answers.pass(w)}>Send now</button>
        </p>
      ))}
    </div>
  );
}
