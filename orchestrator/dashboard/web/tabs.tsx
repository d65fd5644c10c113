import { h, type ComponentChild } from "preact";
import { put } from "./place";

interface Props { label: string; list: { id: string; text: string }[]; at: string }

/** Tabs are the ways to look at an object. The arrow keys go from one to the next, and Tab leaves them. */
export function Tabs(p: Props): ComponentChild {
  const now = Math.max(0, p.list.findIndex((t) => t.id === p.at));
  const key = (e: KeyboardEvent) => {
    const by = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? p.list.length - 1 : 0;
    if (!by) return;
    const to = (now + by) % p.list.length;
    put({ tab: p.list[to].id }, false);
    (e.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]")[to].focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={p.label} onKeyDown={key}>
      {p.list.map((t, i) => (
        <button type="button" role="tab" aria-selected={i === now} tabIndex={i === now ? 0 : -1} onClick={() => put({ tab: t.id }, false)}>{t.text}</button>
      ))}
    </div>
  );
}
