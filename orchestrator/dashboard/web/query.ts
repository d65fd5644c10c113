import type { Line } from "./messages";

/** Term is one part of a filter: a word, or a field and its value; not turns it round. */
export interface Term { field: string; value: string; not: boolean; raw: string }

const fields = ["role", "task", "level", "kind", "agent"];

/** parse reads a filter such as `role:generator -kind:turn level:problems "no such file"`. */
export function parse(text: string): Term[] {
  return [...text.matchAll(/-?(?:[a-z]+:)?(?:"[^"]*"?|\S+)/gi)].map(([raw]) => term(raw)).filter((t) => t.value);
}

function term(raw: string): Term {
  const not = raw.length > 1 && raw[0] === "-";
  const text = not ? raw.slice(1) : raw;
  const cut = text.indexOf(":");
  const field = cut > 0 ? text.slice(0, cut).toLowerCase() : "";
  const known = fields.includes(field);
  const value = (known ? text.slice(cut + 1) : text).replace(/^"|"$/g, "").toLowerCase();
  return { field: known ? field : "", value, not, raw };
}

/** toggled puts a term into a filter, or takes it out where it is there. */
export function toggled(text: string, raw: string): string {
  const terms = parse(text).map((t) => t.raw);
  return (terms.includes(raw) ? terms.filter((t) => t !== raw) : [...terms, raw]).join(" ");
}

export function quoted(field: string, value: string): string {
  return `${field}:${/[\s"]/.test(value) ? `"${value.replaceAll('"', "")}"` : value}`;
}

/** Filter tells which lines a person wants. Values of one field are alternatives; words and fields must all fit. */
export class Filter {
  readonly terms: Term[];
  readonly words: string[];
  /** wordy reports that the text of a line is asked for, not its fields alone. */
  readonly wordy: boolean;
  /** open reports that a person looks for something in particular, so that no line is folded away. */
  readonly open: boolean;
  private readonly known: (task: string) => boolean;
  private readonly byField = new Map<string, string[]>();

  constructor(text: string, known: (task: string) => boolean) {
    this.terms = parse(text);
    this.known = known;
    this.words = this.terms.filter((t) => !t.field && !t.not).map((t) => t.value);
    this.wordy = this.terms.some((t) => !t.field);
    this.open = this.words.length > 0 || this.terms.some((t) => t.field === "kind" || t.field === "level");
    for (const t of this.terms) {
      if (t.field && !t.not) this.byField.set(t.field, [...(this.byField.get(t.field) ?? []), t.value]);
    }
  }

  passes(l: Line, find: string): boolean {
    for (const [field, values] of this.byField) {
      if (!values.some((v) => this.fits(l, field, v))) return false;
    }
    return this.words.every((w) => find.includes(w)) &&
      this.terms.every((t) => !t.not || !(t.field ? this.fits(l, t.field, t.value) : find.includes(t.value)));
  }

  private fits(l: Line, field: string, want: string): boolean {
    switch (field) {
      case "role": return (l.role ?? "").toLowerCase().startsWith(want);
      case "kind": return l.kind.toLowerCase() === want;
      case "agent": return (l.agent ?? "").toLowerCase().includes(want);
      case "level": return want === "problems" ? isProblem(l) : l.level === want;
      default: return this.ofTask((l.task ?? "").toLowerCase(), want);
    }
  }

  /** ofTask: the name of a task means that task and its tester; anything else is a part of names. */
  private ofTask(task: string, want: string): boolean {
    return this.known(want) ? task === want || task.startsWith(want + "--") : task.includes(want);
  }
}

export function isProblem(l: Line): boolean {
  return l.level === "bad" || l.level === "warn";
}
