import { h, type ComponentChild } from "preact";

/** Word shows a state as a coloured word. */
export function Word(p: { state: string }): ComponentChild {
  return <span class={`word ${p.state}`}>{p.state}</span>;
}
