import { Component, h, type ComponentChild } from "preact";
import { AlikeList } from "./alike";
import { type Answers, keyOf } from "./answers";
import { at } from "./api";
import { ask } from "./frame";
import { Evidence } from "./evidence";
import { visible } from "./foreign";
import { tap } from "./keys";
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
  /** sends reports that an Enter sends the answer that is chosen: a second tap comes sooner. */
  private sends = false;
  private timer?: number;

  componentDidMount(): void {
    this.props.there(this);
  }

  /** press chooses the answer of a number, from 1, and Enter sends it. */
  press(key: string): void {
    const { need, answers, writes } = this.props;
    const all = picks(need);
    const armed = all[answers.draft(need).armed - 1];
    if (key === "⏎" && armed && this.sends) this.choose(armed);
    else if (writes && all[Number(key) - 1]) this.arm(Number(key));
  }

  private arm(number: number): void {
    const { need, answers } = this.props;
    const pick = picks(need)[number - 1];
    if (!this.state.ready) return this.setState({ hint: "Wait until what it is about is loaded." });
    const draft = answers.draft(need);
    draft.armed = number;
    this.sends = false;
    const lacks = !pick.text && pick.option.needs_text && !draft.text.trim();
    if (lacks) this.field?.focus();
    this.setState({ hint: lacks ? `${pick.option.name} needs a sentence: write it here.` : "…" });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.sends = true;
      if (!lacks) this.setState({ hint: `Enter sends “${pick.label}”.` });
    }, tap);
    ask();
  }

  /** click answers at once, but for what starts a plan: that is chosen, and sent by another click. */
  private click(pick: Pick, number: number): void {
    if (this.props.need.kind === "plan") this.arm(number);
    else this.choose(pick);
  }

  private choose(pick: Pick): void {
    const { need, answers } = this.props;
    const typed = answers.draft(need).text.trim();
    if (!this.state.ready) return this.setState({ hint: "Wait until what it is about is loaded." });
    if (pick.text) return this.send(pick.option, pick.text);
    if (pick.option.needs_text && !typed) return this.arm(picks(need).findIndex((p) => !p.text && p.option === pick.option) + 1);
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
    void answers.answer([need, ...this.listed()], { option: option.name, text, task: many ? task : "", alike: later });
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
        <Load<Whole> path={at("runs", need.run, "decisions", need.id)} again={`${need.since} ${need.attempt} ${fault ?? ""}`} done={() => this.isThere()}
          draw={(whole) => <Evidence need={{ ...need, ...whole }} />} />
        {writes && this.form()}
      </div>
    );
  }

  private isThere(): void {
    if (this.state.ready || this.timer) return;
    this.timer = setTimeout(() => {
      this.sends = true; // what was chosen when the card was open before
      this.setState({ ready: true, hint: "" });
    }, tap);
  }

  componentWillUnmount(): void {
    clearTimeout(this.timer);
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
          {draft.armed > 0 && <button type="submit" class="act strong">Send “{visible(picks(need)[draft.armed - 1]?.label ?? "")}”</button>}
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
      <button type="button" class={`pick ${suggested ? "suggested" : ""}`} key={i} disabled={!this.state.ready} onClick={() => this.click(p, i + 1)}>
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
    const all = picks(need).filter((p) => !p.text && p.option.needs_text);
    const pick = picks(need)[answers.draft(need).armed - 1] ?? (all.length === 1 ? all[0] : undefined);
    const drafted = answers.draft(need).armed > 0;
    if (pick && (this.sends || !drafted)) this.choose(pick);
    else if (!pick) this.setState({ hint: "Choose an answer." });
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
  const since = n.since ? `Open for ${age(Date.now() - n.since)}` : "New";
  return n.blocks > 0 ? `${since}; ${plural(n.blocks, "task")} ${n.blocks === 1 ? "waits" : "wait"} for it.` : `${since}; no task waits for it.`;
}
