import { Component, h, type ComponentChild } from "preact";
import { at } from "./api";
import { Foreign, visible } from "./foreign";
import { Keys } from "./keys";
import { Load } from "./load";
import { taskPath } from "./place";
import type { Entry } from "./rows";
import { say } from "./toast";
import { day } from "./words";

interface Event { id: string; time: string; kind: string; task?: string; attempt?: number; data?: unknown; [field: string]: unknown }
interface Props { run: string; pos: number; entry?: Entry; filtered: boolean; beside: () => void; close: () => void }

/** Whole is the events at one position of the log, in words and fields, or as JSON. */
export class Whole extends Component<Props, { json: boolean }> {
  state = { json: false };

  render(): ComponentChild {
    const { run, pos, entry, filtered, beside, close } = this.props;
    const { json } = this.state;
    return (
      <aside class="whole" aria-label="The event in full">
        <div class="bar-of"><b>Event at {pos}</b><span class="space" />
          {filtered && <button type="button" onClick={beside}>Context ±20</button>}
          <button type="button" aria-pressed={json} onClick={() => this.setState({ json: !json })}>JSON</button>
          <button type="button" onClick={() => void link(pos)}>Copy link</button>
          <button type="button" onClick={close}>Close</button></div>
        <div class="scroll" tabIndex={0}>
          {entry && !json && <p class="text">{visible(entry.text)}</p>}
          <Load<Event[]> path={`${at("runs", run, "batch")}?pos=${pos}`}
            draw={(all) => json ? <Foreign text={JSON.stringify(all, null, 2)} label="JSON" /> : <div>{all.map((e) => <Fields key={e.id} run={run} event={e} />)}</div>} />
        </div>
        <Keys list={[
          { keys: "o", help: "JSON of the open line", press: () => this.setState({ json: !this.state.json }) },
          ...(filtered ? [{ keys: "c", help: "context of the open line", press: beside }] : []),
        ]} />
      </aside>
    );
  }
}

async function link(pos: number): Promise<void> {
  const url = new URL(location.href);
  url.searchParams.set("line", String(pos));
  url.searchParams.delete("seen");
  await navigator.clipboard.writeText(url.href).then(() => say("Copied the link."), () => say(url.href));
}

/** The fields that a person does not read. */
const dull = ["v", "id", "run", "seq", "pos", "data", "time", "kind", "task"];

function Fields(p: { run: string; event: Event }): ComponentChild {
  const { event: e } = p;
  const rest = Object.entries(e).filter(([k]) => !dull.includes(k));
  return (
    <dl class="fields">
      <Field name="what" value={`${e.kind}, ${day(Date.parse(e.time))}`} />
      {e.task && <div><dt>task</dt><dd><a href={taskPath(p.run, e.task)}>{visible(e.task)}</a></dd></div>}
      {rest.map(([k, v]) => <Field name={k} value={v} />)}
      {isObject(e.data) ? Object.entries(e.data).map(([k, v]) => <Field name={k} value={v} />) : <Field name="data" value={e.data} />}
    </dl>
  );
}

function isObject(v: unknown): v is Record<string, unknown> {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}

function Field(p: { name: string; value: unknown; deep?: number }): ComponentChild {
  if (p.value === undefined || p.value === null || p.value === "") return null;
  return <div><dt>{visible(p.name)}</dt><dd>{shown(p.value, p.deep ?? 0)}</dd></div>;
}

/** shown draws a value: what is nested deeply stays JSON. */
function shown(v: unknown, deep: number): ComponentChild {
  if (typeof v === "string") return v.includes("\n") || v.length > 400 ? <Foreign text={v} /> : visible(v);
  if (typeof v !== "object" || v === null) return String(v);
  if (deep > 2) return <Foreign text={JSON.stringify(v, null, 2)} />;
  if (!Array.isArray(v)) return <dl class="fields">{Object.entries(v).map(([k, x]) => <Field name={k} value={x} deep={deep + 1} />)}</dl>;
  if (v.every((x) => typeof x !== "object")) return visible(v.join(", "));
  return <ol>{v.map((x) => <li>{shown(x, deep + 1)}</li>)}</ol>;
}
