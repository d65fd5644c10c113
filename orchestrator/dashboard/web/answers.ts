import { at, post, Refused, words } from "./api";
import { ask } from "./frame";
import { holdBack, holds, type One } from "./held";
import { keep, kept } from "./keep";
import type { Need, Outcome } from "./messages";
import { say } from "./toast";

/** Answer is what a person decided; alike has it stand for every other patch of the run that is alike, now and later. */
export interface Answer { option: string; text: string; task?: string; alike?: boolean }
/** Draft is what a person has begun; armed is the number of the answer that Enter sends, 0 for none. */
export interface Draft { text: string; armed: number; task: string }

/** How long the toast of an answer has a button that takes it back, and how long a run that holds an answer back may take to give
    it to others. */
const takable = 30_000;
const follows = holdBack + 10_000;

/** How many of the last answers are listed. */
const listed = 20;

export function keyOf(n: Need): string {
  return `${n.run} ${n.id} ${n.attempt ?? 0}`;
}

/** Answers sends what a person decided. The run holds it back for a time in which it can be undone. */
export class Answers {
  /** given are the last answers that were taken, the newest first. */
  given: { need: Need; answer: Answer }[] = [];
  /** faults are why an answer was refused, by decision. */
  readonly faults = new Map<string, string>();
  private readonly sent = new Set<string>();
  private now = new Set<string>();
  private readonly drafts = new Map<string, Draft>();
  private snoozed = kept<Record<string, number>>("snoozed", {});

  /** open are the decisions that still wait for a person here. */
  open(needs: Need[]): Need[] {
    const now = Date.now();
    return needs.filter((n) => {
      const key = keyOf(n);
      return !this.sent.has(key) && !((this.snoozed[key] ?? 0) > now);
    });
  }

  snooze(n: Need, ms: number): void {
    const now = Date.now();
    const rest = Object.entries(this.snoozed).filter(([, until]) => until > now);
    this.snoozed = { ...Object.fromEntries(rest), [keyOf(n)]: now + ms };
    keep("snoozed", this.snoozed);
    setTimeout(ask, ms + 100);
    ask();
  }

  asleep(needs: Need[]): Need[] {
    const now = Date.now();
    return needs.filter((n) => (this.snoozed[keyOf(n)] ?? 0) > now);
  }

  wake(): void {
    this.snoozed = {};
    keep("snoozed", {});
    ask();
  }

  draft(n: Need): Draft {
    const key = keyOf(n);
    if (!this.drafts.has(key)) this.drafts.set(key, { text: "", armed: 0, task: "" });
    return this.drafts.get(key)!;
  }

  async answer(needs: Need[], answer: Answer): Promise<void> {
    const sends: Promise<One[]>[] = [];
    const others = needs.filter((n, i) => answer.alike && needs.findIndex((o) => o.run === n.run) < i); // the runs give them the answer
    for (const n of needs) {
      if (others.includes(n)) this.hide(n);
      else sends.push(this.send(n, answer, needs.length > 1));
    }
    const held = (await Promise.all(sends)).flat();
    for (const one of held) {
      const { back } = one;
      one.back = () => { back?.(); others.filter((n) => n.run === one.run).forEach((n) => this.reopened(n)); };
    }
    holds(needs.length > 1 ? `${answer.option} for ${needs.length} decisions alike` : `${answer.option}: ${needs[0].about || needs[0].id}`, held);
  }

  /** hide leaves a decision out while its run gives it the answer of another one. */
  private hide(n: Need): void {
    const key = keyOf(n);
    this.sent.add(key);
    setTimeout(() => { if (this.sent.delete(key)) ask(); }, follows);
  }

  /** send sends an answer, and returns it where the run holds it back. */
  private async send(n: Need, a: Answer, quiet: boolean): Promise<One[]> {
    const key = keyOf(n);
    this.sent.add(key);
    this.faults.delete(key);
    ask();
    let held: One[] = [];
    try {
      const body = { attempt: n.attempt ?? 0, option: a.option, text: a.text, task: a.task ?? "", alike: a.alike ?? false, hold: true };
      const got = await post<Outcome>(at("runs", n.run, "decisions", n.id), body);
      this.drafts.delete(key);
      if (!got.error) this.given = [{ need: n, answer: a }, ...this.given.filter((g) => keyOf(g.need) !== key)].slice(0, listed);
      held = (got.held ?? []).map((id) => ({ run: n.run, id, back: () => this.reopened(n) }));
      const began = got.started ? " A process was started for it; it goes on without this page." : "";
      if (got.error) say(got.error, true);
      else if (!quiet && !held.length) say(`${got.outcome ?? a.option}.${began}`, false, { label: "Take back", press: () => void this.back(n) }, takable);
    } catch (err) {
      this.sent.delete(key);
      this.faults.set(key, err instanceof Refused && err.status === 409 ? `It does not fit any more: ${words(err)}` : words(err));
      if (quiet || !this.now.has(key)) say(`${n.text}: ${words(err)}`, true);
    }
    ask();
    return held;
  }

  /** back takes an answer back. One that is back, or that the run has acted on, is not listed any more. */
  async back(n: Need): Promise<void> {
    try {
      const got = await post<Outcome>(at("runs", n.run, "decisions", n.id, "back"), {});
      this.reopened(n);
      say(got.outcome ?? "It is open again.");
    } catch (err) {
      if (err instanceof Refused && err.status === 409) this.forget(n);
      say(words(err), true);
    }
  }

  /** reopened shows a decision again whose answer was taken back. */
  private reopened(n: Need): void {
    this.sent.delete(keyOf(n));
    this.forget(n);
    ask();
  }

  private forget(n: Need): void {
    this.given = this.given.filter((g) => keyOf(g.need) !== keyOf(n));
  }

  /** there forgets what was sent for decisions that are closed by now, so that a decision that opens again is shown. Why an
      answer was refused is told once more when its card goes. */
  there(needs: Need[]): void {
    this.now = new Set(needs.map(keyOf));
    for (const key of this.sent) if (!this.now.has(key)) this.sent.delete(key);
    for (const [key, fault] of this.faults) {
      if (this.now.has(key)) continue;
      this.faults.delete(key);
      say(fault, true);
    }
  }
}
