import { h, type ComponentChild } from "preact";
import { ask } from "./frame";
import type { Me } from "./messages";
import { allow, may } from "./notify";

interface Props { me: Me; link: string; waiting: number; help: () => void }

const links: Record<string, string> = { connecting: "reconnecting", live: "live", lost: "no connection" };

/** Top is the bar that each page has. */
export function Top(p: Props): ComponentChild {
  return (
    <nav class="top" aria-label="Divisi">
      <a class="home" href="/runs"><img class="mark" src="/icon.svg" alt="" /><b>Divisi</b> Runs</a>
      {p.waiting > 0 && <span class="number" title="Decisions that wait for a person">{p.waiting}<span class="unseen"> decisions wait</span></span>}
      <span class={`link ${p.link}`} role="status" title="The page's connection to Divisi"><span class="unseen">Connection: </span>{links[p.link]}</span>
      <span class="space" />
      {may() === "default" && <button type="button" class="quiet" onClick={() => void allow().then(ask)}>Notify me</button>}
      <span class="me" title={`Divisi ${p.me.version}`}>{p.me.name}{p.me.writes ? "" : " (viewer)"}</span>
      <button type="button" class="quiet" aria-label="Keys" onClick={p.help}>?</button>
    </nav>
  );
}
