import { Component, Fragment, h, type ComponentChild } from "preact";
import { at, post, words } from "./api";
import { visible } from "./foreign";
import { ask } from "./frame";
import { holds } from "./held";
import { tap } from "./keys";
import type { Asked, Offered, Outcome, View, Way } from "./messages";
import { Modal } from "./modal";
import { say } from "./toast";

/** Act is what a person may have a run do. */
export interface Act { run: string; verb: string; tasks?: string[]; forgotten?: boolean; then?: () => void }

/** table has the acts that have a button, by name, as the server describes them. */
let table: Record<string, Offered> = {};
let open: Act | null = null;

/** called is how a person calls the program, with the place of the runs. */
let called = "divisi";

export function learn(acts: Offered[], program: string): void {
  called = program;
  table = Object.fromEntries(acts.map((a) => [a.name, a]));
}

/** act does what a person asked for, after a dialog where it has something to say or to ask. */
export function act(a: Act): void {
  const { warn, asks, loses } = table[a.verb];
  if (a.forgotten || (!warn && !asks && !loses)) return void carry(a, {});
  open = a;
  ask();
}

/** Buttons are the acts that the server offers for a run, or for a task of it. */
export function Buttons(p: { run: string; task?: string; acts: string[]; then?: () => void; children?: ComponentChild }): ComponentChild {
  return (
    <div class="acts" role="group" aria-label={p.task ? `What is to be done with ${p.task}` : "What the run is to do"}>
      {p.children}
      {p.acts.map((name) => table[name]).map((v) => (
        <button type="button" key={v.name} class={`act ${v.loses ? "destroys" : ""}`} title={`${v.help} ${v.undone}`}
          onClick={() => act({ run: p.run, verb: v.name, tasks: p.task ? [p.task] : [], then: p.then })}>{v.label}</button>
      ))}
    </div>
  );
}

async function carry(a: Act, body: Record<string, string>): Promise<boolean> {
  try {
    const got = await post<Outcome>(at("runs", a.run, "acts"), { verb: a.verb, tasks: a.tasks ?? [], forgotten: a.forgotten, hold: true, ...body });
    holds(`${table[a.verb].label}: ${a.tasks?.join(", ") || "the run"}`, (got.held ?? []).map((id) => ({ run: a.run, id })));
    if (got.error) say(got.error, true);
    else say((got.outcome || table[a.verb].label) + (got.started ? ". A process was started for it; it goes on without this page." : ""));
    a.then?.();
    return !got.error;
  } catch (err) {
    say(`${table[a.verb].label}: ${words(err)}`, true);
    return false;
  }
}

/** ActDialog asks for what the open act needs. The view may come after the dialog. */
export function ActDialog(p: { view?: View }): ComponentChild {
  if (!open) return null;
  const a = open;
  return <Ask key={`${a.verb} ${a.tasks?.join()}`} act={a} view={p.view} close={() => { open = null; ask(); }} />;
}

class Ask extends Component<{ act: Act; view?: View; close: () => void }, { said: Record<string, string>; busy: boolean; sure: boolean }> {
  state = { said: {} as Record<string, string>, busy: false, sure: false };
  private readonly opened = Date.now();

  private async submit(e: Event): Promise<void> {
    e.preventDefault();
    if (Date.now() - this.opened < tap) return; // the second click on the button that opened it
    if (this.changesNothing() && !this.state.sure) return this.setState({ sure: true });
    this.setState({ busy: true });
    if (await carry(this.props.act, Object.fromEntries(Object.entries(this.state.said).filter(([, v]) => v.trim())))) this.props.close();
    else this.setState({ busy: false });
  }

  /** changesNothing reports that the act could be given something else to go by, and is not. */
  private changesNothing(): boolean {
    const asks = table[this.props.act.verb].asks ?? [];
    return asks.length > 1 && !asks.some((a) => this.state.said[a.name]?.trim());
  }

  render(): ComponentChild {
    const { act: a, close } = this.props;
    const v = table[a.verb];
    const whom = a.tasks?.length ? a.tasks.join(", ") : "the run";
    const again = this.state.sure && this.changesNothing();
    return (
      <Modal title={`${v.label}: ${whom}`} close={close}>
        <form onSubmit={(e: Event) => void this.submit(e)}>
          <p>{(a.tasks?.length && v.warn_task) || v.warn || v.help}</p>
          {v.asks?.map((one) => this.field(one))}
          {again && <p class="why" role="alert">Do it with nothing changed? The next attempt gets the same as the last one.</p>}
          <p class="note">{v.undone}</p>
          <p class="buttons">
            <button type="button" class="act" onClick={close}>Close</button>
            <button type="submit" class={`act strong ${v.loses ? "destroys" : ""}`} disabled={this.state.busy}>{v.label}{again ? " with nothing changed" : ""}</button>
          </p>
        </form>
      </Modal>
    );
  }

  /** field asks for a text: of those that the run knows, such as its roles, or of any. */
  private field(a: Asked): ComponentChild {
    const known = { role: this.props.view?.roles, model: this.props.view?.models }[a.name];
    const has = {
      required: a.needs, value: this.state.said[a.name] ?? "",
      onInput: (e: Event) => this.setState({ said: { ...this.state.said, [a.name]: (e.target as HTMLInputElement).value } }),
    };
    return <label class="comment"><span>{a.about}</span>
      {known ? <Fragment><input {...has} list={`known-${a.name}`} /><datalist id={`known-${a.name}`}>{known.map((k) => <option value={k} />)}</datalist></Fragment>
        : <textarea rows={3} autofocus {...has} />}</label>;
  }
}

/** Forgotten has a task added for files that a plan has forgotten, which is tested with the patches that wait for it. */
export function Forgotten(p: { run: string; task: string; files?: string[]; then: () => void }): ComponentChild {
  if (!p.files?.length) return null;
  return <button type="button" class="act strong" onClick={() => act({ run: p.run, verb: "retry", tasks: [p.task], forgotten: true, then: p.then })}>
    Add a task for {visible(p.files.join(", "))}</button>;
}

/** Copied is a command line with a button that copies it. */
export function Copied(p: { text: string }): ComponentChild {
  const text = p.text.replace(/^divisi /, () => called + " ");
  const copy = () => void navigator.clipboard.writeText(text).then(() => say("Copied."), () => say("The browser does not let the page copy.", true));
  return <span class="copied"><code>{visible(text)}</code><button type="button" class="quiet" aria-label={`Copy: ${text}`} onClick={copy}>Copy</button></span>;
}

/** Ways are what a person may do next that has no button: as command lines. */
export function Ways(p: { ways: Way[] }): ComponentChild {
  const ways = p.ways.filter((w) => w.command);
  if (ways.length === 0) return null;
  return (
    <details class="ways"><summary>The same in a terminal</summary>
      <dl>{ways.map((w) => <div><dt><Copied text={w.command} /></dt><dd>{w.why}</dd></div>)}</dl>
    </details>
  );
}
