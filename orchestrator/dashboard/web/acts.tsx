import { Component, Fragment, h, type ComponentChild } from "preact";
import { at, post, words } from "./api";
import { visible } from "./foreign";
import { ask } from "./frame";
import type { Outcome, View, Way } from "./messages";
import { Modal } from "./modal";
import { say } from "./toast";

/** Act is what a person may have a run do. */
export interface Act { run: string; verb: string; tasks?: string[]; forgotten?: boolean; then?: () => void }

interface Verb { label: string; warn?: string; ofTask?: string; note?: "may" | "must"; noteLabel?: string; fields?: boolean; destroys?: boolean }

/** Verbs without a note act at once. */
const verbs: Record<string, Verb> = {
  pause: { label: "Pause" },
  resume: { label: "Resume" },
  start_line: { label: "Start the line" },
  publish: { label: "Publish" },
  stop_line: { label: "Stop the line", warn: "Nothing lands until the line starts again. Work goes on.", note: "may" },
  cancel: { label: "Cancel", warn: "Agents and gates stop, and the run cannot be resumed. What has landed stays.",
    ofTask: "The agent and the gates of the task stop, and what depends on the task does not begin. The run goes on; Retry opens the task again.", note: "may", destroys: true },
  skip: { label: "Skip", warn: "The task is given up as not needed; what depends on it goes on.", note: "may", destroys: true },
  drop: { label: "Drop", warn: "A landed change is taken out again, by a task that reverts it and is tested like any other.", note: "must",
    destroys: true },
  retry: { label: "Retry", warn: "A new attempt begins.", fields: true },
  send: { label: "Send a message", note: "must", noteLabel: "Message" },
};

let open: Act | null = null;

export function label(verb: string): string {
  return verbs[verb]?.label ?? verb.replaceAll("_", " ");
}

/** act does what a person asked for, after a dialog where it destroys or needs words. */
export function act(a: Act): void {
  const v = verbs[a.verb];
  if (a.forgotten || (v && !v.warn && !v.note && !v.fields)) return void carry(a, {});
  open = a;
  ask();
}

async function carry(a: Act, body: Record<string, string>): Promise<boolean> {
  try {
    const got = await post<Outcome>(at("runs", a.run, "acts"), { verb: a.verb, tasks: a.tasks ?? [], forgotten: a.forgotten, ...body });
    if (got.error) say(got.error, true);
    else say((got.outcome || label(a.verb)) + (got.started ? ". A process was started for it; it goes on without this page." : ""));
    a.then?.();
    return !got.error;
  } catch (err) {
    say(`${label(a.verb)}: ${words(err)}`, true);
    return false;
  }
}

/** ActDialog asks for what the open act needs. The view may come after the dialog. */
export function ActDialog(p: { view?: View }): ComponentChild {
  if (!open) return null;
  const a = open;
  return <Ask key={`${a.verb} ${a.tasks?.join()}`} act={a} view={p.view} close={() => { open = null; ask(); }} />;
}

class Ask extends Component<{ act: Act; view?: View; close: () => void }, { text: string; brief: string; role: string; model: string; busy: boolean; sure: boolean }> {
  state = { text: "", brief: "", role: "", model: "", busy: false, sure: false };

  private async submit(e: Event): Promise<void> {
    e.preventDefault();
    const { text, brief, role, model, sure } = this.state;
    const body = Object.fromEntries(Object.entries({ text, brief, role, model }).filter(([, v]) => v.trim()));
    if (verbs[this.props.act.verb]?.fields && Object.keys(body).length === 0 && !sure) return this.setState({ sure: true });
    this.setState({ busy: true });
    if (await carry(this.props.act, body)) this.props.close();
    else this.setState({ busy: false });
  }

  render(): ComponentChild {
    const { act: a, close } = this.props;
    const v: Verb = verbs[a.verb] ?? { label: label(a.verb), note: "may" };
    const whom = a.tasks?.length ? a.tasks.join(", ") : a.verb === "send" ? "to the master" : a.verb === "retry" ? "all parked tasks" : "the run";
    return (
      <Modal title={`${v.label}: ${whom}`} close={close}>
        <form onSubmit={(e: Event) => void this.submit(e)}>
          {v.warn && <p>{(a.tasks?.length && v.ofTask) || v.warn}</p>}
          {v.fields && <Fragment>
            {this.area("brief", "What the next attempt should know (added to the brief)", false)}
            {this.line("role", "Another role", this.props.view?.roles)}{this.line("model", "Another model", this.props.view?.models)}
            {this.state.sure && !this.said() && <p class="why" role="alert">Try again with nothing changed? The next attempt gets the same brief, role and model.</p>}
          </Fragment>}
          {v.note && this.area("text", v.noteLabel ?? (v.note === "must" ? "Reason" : "Note: why (kept in the log)"), v.note === "must")}
          <p class="buttons">
            <button type="button" class="act" onClick={close}>Close</button>
            <button type="submit" class={`act strong ${v.destroys ? "destroys" : ""}`} disabled={this.state.busy}>{this.state.sure && !this.said() ? "Retry with nothing changed" : v.label}</button>
          </p>
        </form>
      </Modal>
    );
  }

  private area(key: "brief" | "text", name: string, needed: boolean): ComponentChild {
    return <label class="comment"><span>{name}</span><textarea rows={3} required={needed} value={this.state[key]} autofocus
      onInput={(e: Event) => this.setState({ [key]: (e.target as HTMLTextAreaElement).value })} /></label>;
  }

  private said(): boolean {
    const { brief, role, model } = this.state;
    return !!(brief + role + model).trim();
  }

  private line(key: "role" | "model", name: string, known: string[] = []): ComponentChild {
    return <label class="comment"><span>{name}</span><input value={this.state[key]} list={`known-${key}`}
      onInput={(e: Event) => this.setState({ [key]: (e.target as HTMLInputElement).value })} />
      <datalist id={`known-${key}`}>{known.map((k) => <option value={k} />)}</datalist></label>;
  }
}

/** Forgotten has a task added for files that a plan has forgotten, which is tested with the patches that wait for it. */
export function Forgotten(p: { run: string; task: string; files?: string[]; then: () => void }): ComponentChild {
  if (!p.files?.length) return null;
  return <button type="button" class="act strong" onClick={() => act({ run: p.run, verb: "retry", tasks: [p.task], forgotten: true, then: p.then })}>
    Add a task for {visible(p.files.join(", "))}</button>;
}

/** Ways are what a person may do next that has no button: as command lines. */
export function Ways(p: { ways: Way[] }): ComponentChild {
  const ways = p.ways.filter((w) => w.command);
  if (ways.length === 0) return null;
  return (
    <details class="ways"><summary>The same in a terminal</summary>
      <dl>{ways.map((w) => <div><dt><code>{w.command}</code></dt><dd>{w.why}</dd></div>)}</dl>
    </details>
  );
}
