import { Component, h, type ComponentChild } from "preact";
import { AlikeList } from "./alike";
import { type Answers, keyOf } from "./answers";
import { at } from "./api";
import { Evidence } from "./evidence";
import { visible } from "./foreign";
import { Load } from "./load";
import type { Need, Option, Whole } from "./messages";
import { needPath, runPath, taskPath } from "./place";
import { age, name, plural } from "./words";

/** Pick is one numbered button: a choice that an agent proposes, or an option. */
export interface Pick { label: string; does: string; option: Option; text: string }

/** picks are the numbered answers of a decision, the proposed ones first. */
export function picks(n: Need): Pick[] {
  const reply = n.options.find((o) => o.needs_text) ?? n.options[0];
  const choices = reply ? (n.choices ?? []).map((c) => ({ label: c, does: "", option: reply, text: c })) : [];
  return [...choices, ...n.options.map((o) => ({ label: o.name, does: o.does, option: o, text: "" }))];
}

/** The options that take a text without needing one. */
const reasoned = ["skip", "park"];

interface Props { need: Need; alike: Need[]; answers: Answers; writes: boolean; elsewhere: boolean; goal: string; there: (card: NeedCard) => void }

/** NeedCard is an open decision with its evidence and the answers to it. */
export class NeedCard extends Component<Props, { all: string[] | null; later: boolean; ready: boolean; hint: string }> {
  /** all are the others that the answer is for, as they were when the box was ticked; ready is set once the evidence is there. */
  state = { all: null as string[] | null, later: false, ready: false, hint: "" };
  private field: HTMLTextAreaElement | null = null;

  componentDidMount(): void {
    this.props.there(this);
  }

  /** press answers with the button of a number, from 1. */
  press(number: number): void {
    const pick = picks(this.props.need)[number - 1];
    if (pick && this.props.writes) this.choose(pick);
  }

  private choose(pick: Pick): void {
    const draft = this.props.answers.draft(this.props.need);
    const typed = draft.text.trim();
    if (!this.state.ready) return this.setState({ hint: "Wait until what it is about is loaded." });
    if (pick.text) return this.send(pick.option, pick.text);
    if (pick.option.needs_text && !typed) {
      draft.armed = pick.option.name;
      this.setState({ hint: `${pick.option.name} needs a sentence: write it here.` });
      return this.field?.focus();
    }
    if (typed && !pick.option.needs_text && !reasoned.includes(pick.option.name)) {
      return this.setState({ hint: `${pick.option.name} takes no comment: clear it, or choose another answer.` });
    }
    this.send(pick.option, typed);
  }

  private send(option: Option, text: string): void {
    const { need, answers } = this.props;
    const { task } = answers.draft(need);
    const many = (need.tasks?.length ?? 0) > 1 && option.needs_text && need.kind !== "template";
    if (many && !task && !ofGroup(need)) return this.setState({ hint: "Choose the task that the sentence is for." });
    const { later } = this.state;
    if (later && option.name !== "accept") return this.setState({ hint: `Only accept can be for later ones too: ${option.name} is for what is here.` });
    answers.answer([need, ...this.listed()], { option: option.name, text, task: many ? task : "", alike: later });
  }

  /** listed are the others that the answer is for, and that are open still: with later ones too, all of them. */
  private listed(): Need[] {
    const { all, later } = this.state;
    return this.props.alike.filter((n) => later || all?.includes(keyOf(n)));
  }

  private tick(on: boolean): void {
    this.setState({ all: on ? this.props.alike.map(keyOf) : null });
  }

  render(): ComponentChild {
    const { need, answers, writes, goal, elsewhere } = this.props;
    const fault = answers.faults.get(keyOf(need));
    return (
      <div class="need-body">
        <p class="of">
          {elsewhere && <a href={runPath(need.run)}>{visible(goal || need.run)}</a>}
          {need.about && <span>{need.kind === "template" ? "template " : "task "}
            {need.kind === "template" ? visible(need.about) : <a href={taskPath(need.run, need.about)}>{visible(name(need.about))}</a>}{need.attempt ? `/${need.attempt}` : ""}</span>}
          <a href={needPath(need.run, need.id)} aria-label="Link to this decision">link</a>
          <span>{idles(need)}</span>
          {need.why && <span>Why {need.decider === "person" ? "a person" : `the ${need.decider}`}: {visible(need.why)}.</span>}
        </p>
        {fault && <p class="fault" role="alert">{visible(fault)}</p>}
        <Load<Whole> path={at("runs", need.run, "decisions", need.id)} again={`${need.since} ${need.attempt} ${fault ?? ""}`} done={() => this.state.ready || this.setState({ ready: true, hint: "" })}
          draw={(whole) => <Evidence need={{ ...need, ...whole }} />} />
        {writes && this.form()}
      </div>
    );
  }

  private form(): ComponentChild {
    const { need, alike, answers } = this.props;
    const draft = answers.draft(need);
    return (
      <form class="answer" onSubmit={(e: Event) => this.submit(e)}>
        <div class="picks" role="group" aria-label={`Answers about the ${need.kind} ${need.about ?? ""}`}>{picks(need).map((p, i) => this.pick(p, i))}</div>
        {need.alike && (alike.length > 0 || stands(need)) && this.alike()}
        {(need.tasks?.length ?? 0) > 1 && need.kind !== "template" && (
          <label class="for-task">Sentence for <select value={draft.task} onChange={(e: Event) => this.edit({ task: value(e) })}>
            <option value="">{ofGroup(need) ? "all of them" : "– choose a task –"}</option>{need.tasks!.map((t) => <option value={t}>{t}</option>)}
          </select></label>
        )}
        <label class="comment">
          <span aria-live="polite">{this.state.hint || "Comment (goes with the answers that take a sentence)"}</span>
          <textarea rows={2} value={draft.text} ref={(e: HTMLTextAreaElement | null) => void (this.field = e)}
            onInput={(e: Event) => this.edit({ text: value(e) })} onKeyDown={(e: KeyboardEvent) => this.enter(e)} />
        </label>
        <p class="later">
          {draft.armed && <button type="submit" class="act strong">Send “{draft.armed}”</button>}
          <span class="space" />
          <button type="button" class="quiet" onClick={() => answers.snooze(need, 15 * 60_000)}>Snooze 15 min</button>
          <button type="button" class="quiet" aria-label="Snooze 1 h" onClick={() => answers.snooze(need, 3600_000)}>1 h</button>
        </p>
      </form>
    );
  }

  private pick(p: Pick, i: number): ComponentChild {
    const suggested = !p.text && p.label === this.props.need.suggests;
    return (
      <button type="button" class={`pick ${suggested ? "suggested" : ""}`} key={i} disabled={!this.state.ready} onClick={() => this.choose(p)}>
        <kbd>{i + 1}</kbd><span><b>{visible(p.label)}</b>{p.does && <small> {visible(p.does)}</small>}</span>
        {suggested && <em>suggested</em>}
      </button>
    );
  }

  private alike(): ComponentChild {
    const { need, alike } = this.props;
    const { all, later } = this.state;
    const listed = this.listed();
    return (
      <div class="alike">
        {alike.length > 0 && <label><input type="checkbox" checked={later || !!all} disabled={later} onChange={(e: Event) => this.tick((e.target as HTMLInputElement).checked)} />
          {" "}One answer for all {(all ? listed : alike).length + 1} that are alike</label>}
        {stands(need) && <label><input type="checkbox" checked={later} onChange={(e: Event) => this.setState({ later: (e.target as HTMLInputElement).checked, hint: "" })} />
          {" "}Accept every later one of this run that is alike too, until it is taken back</label>}
        {(all || later) && alike.length > 0 && <AlikeList needs={[need, ...listed]} later={alike.length - listed.length} take={() => this.tick(true)} />}
      </div>
    );
  }

  private edit(change: { text?: string; task?: string }): void {
    Object.assign(this.props.answers.draft(this.props.need), change);
    this.setState({ hint: "" });
  }

  private enter(e: KeyboardEvent): void {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) this.submit(e);
  }

  private submit(e: Event): void {
    e.preventDefault();
    const { need, answers } = this.props;
    const armed = answers.draft(need).armed;
    const all = picks(need).filter((p) => !p.text && p.option.needs_text);
    const pick = all.find((p) => p.option.name === armed) ?? (all.length === 1 ? all[0] : undefined);
    if (pick) this.choose(pick);
    else this.setState({ hint: "Choose an answer." });
  }
}

/** ofGroup reports whether one answer is for all shards of a decision, also one with a reason. */
function ofGroup(n: Need): boolean {
  return !n.about && !!n.template;
}

/** stands reports whether an answer can be for later decisions too. */
function stands(n: Need): boolean {
  return n.options.some((o) => o.name === "accept");
}

function value(e: Event): string {
  return (e.target as HTMLInputElement).value;
}

function idles(n: Need): string {
  const since = n.since ? `Since ${age(Date.now() - n.since)}` : "Since now";
  return n.blocks > 0 ? `${since} ${plural(n.blocks, "task")} ${n.blocks === 1 ? "idles" : "idle"}.` : `${since}; no task idles for it.`;
}
