import { Component, h, type ComponentChild } from "preact";
import { act } from "./acts";
import { at } from "./api";
import { Diff } from "./diff";
import { visible } from "./foreign";
import { Load } from "./load";
import type { Task } from "./messages";
import { taskPath } from "./place";

interface Props { run: string; tasks: Task[]; writes: boolean }

const some = 5;

/** Spot shows five random landed tasks of a template, their diffs one under the other. */
export class Spot extends Component<Props, { of: string; ids: string[] }> {
  state = { of: "", ids: [] as string[] };

  private landed(of: string): Task[] {
    return this.props.tasks.filter((t) => t.landed && (t.template || "") === of && (of || t.added + t.deleted > 0));
  }

  private names(): string[] {
    const all = new Set(this.props.tasks.filter((t) => t.landed).map((t) => t.template || ""));
    return [...all].sort((a, b) => this.landed(b).length - this.landed(a).length);
  }

  private draw(of: string): void {
    const left = this.landed(of).map((t) => t.id);
    const ids: string[] = [];
    while (ids.length < some && left.length) ids.push(...left.splice(Math.floor(Math.random() * left.length), 1));
    this.setState({ of, ids });
  }

  render(): ComponentChild {
    const names = this.names();
    const { of, ids } = this.state;
    if (names.length === 0) return <section class="panel spot" aria-label="Spot check"><h2>Spot check</h2><p class="empty">Nothing has landed yet.</p></section>;
    return (
      <section class="panel spot" aria-label="Spot check">
        <h2>Spot check <small>{some} random landed tasks</small>
          {names.map((n) => (
            <button type="button" class="act" aria-pressed={ids.length > 0 && of === n} onClick={() => this.draw(n)}>{n ? visible(n) : "other tasks"} ({this.landed(n).length})</button>
          ))}
        </h2>
        {ids.length === 0 && <p class="empty">Choose a template.</p>}
        {ids.map((id) => this.one(id))}
        {ids.length > 0 && <p class="buttons"><button type="button" class="act" onClick={() => this.draw(of)}>Another {some}</button></p>}
      </section>
    );
  }

  private one(id: string): ComponentChild {
    const { run, writes, tasks } = this.props;
    const t = tasks.find((x) => x.id === id);
    return <Sample key={id} run={run} id={id} title={t?.title} drop={writes && !!t?.landed} />;
  }
}

/** Sample is a landed task with its change. */
export function Sample(p: { run: string; id: string; title?: string; drop: boolean }): ComponentChild {
  const { run, id } = p;
  return (
    <article class="sample">
      <h3><a href={taskPath(run, id)}>{visible(id)}</a> <span>{visible(p.title ?? "")}</span>
        <span class="space" />{p.drop && <button type="button" class="act destroys" aria-label={`Drop ${id}`} onClick={() => act({ run, verb: "drop", tasks: [id] })}>Drop …</button>}</h3>
      <Load<{ diff?: string }> path={at("runs", run, "tasks", id, "diff")} draw={(got) => <Diff diff={got.diff ?? ""} />} />
    </article>
  );
}
