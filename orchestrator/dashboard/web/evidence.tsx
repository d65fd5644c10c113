import { Fragment, h, type ComponentChild } from "preact";
import { Diff } from "./diff";
import { visible } from "./foreign";
import type { Patch, Plan, PlanTask, Whole } from "./messages";
import { taskPath } from "./place";
import { plural, tokens } from "./words";

/** Evidence is what a decision is about: sentences, failures, files, patches, a plan. */
export function Evidence(p: { need: Whole }): ComponentChild {
  const { need } = p;
  return (
    <div class="evidence">
      <Told need={need} />
      {need.evidence && need.evidence.length > 0 && (
        <ul class="said-of">{need.evidence.map((e) => <li class={e.includes("\n") ? "block" : ""}>{visible(e)}</li>)}</ul>
      )}
      {need.files && need.files.length > 0 && (
        <p class="files">Files: {need.files.map((f) => <code>{visible(f)}</code>)}</p>
      )}
      {need.plan && <PlanTable plan={need.plan} />}
      {need.patches?.map((x) => <OnePatch key={x.task} run={need.run} patch={x} many={need.patches!.length > 1} />)}
    </div>
  );
}

/** Told is what the task was told: a long brief folded, and what was decided about its earlier patches. */
function Told(p: { need: Whole }): ComponentChild {
  const { brief = "", record, before } = p.need;
  const lines = brief.trim().split("\n");
  const short = lines.length <= 3 && brief.length <= 400;
  return (
    <Fragment>
      {before?.map((b) => (
        <p class="before">Attempt {b.attempt}: {visible(b.by || "the policy")} answered <b>{visible(b.option)}</b>{b.text ? <Fragment>: “{visible(b.text)}”</Fragment> : "."}</p>
      ))}
      {brief.trim() && (short ? <p class="brief"><b>Brief</b> <span>{visible(brief.trim())}</span></p> : (
        <details class="brief"><summary><b>Brief</b> {visible(lines[0].slice(0, 160))} …</summary><pre>{visible(brief)}</pre></details>
      ))}
      {record && <details class="brief"><summary><b>Decision record</b></summary><pre>{visible(record)}</pre></details>}
    </Fragment>
  );
}

function OnePatch(p: { run: string; patch: Patch; many: boolean }): ComponentChild {
  const { patch } = p;
  const body = (
    <Fragment>
      {patch.fault && <p class="why">{visible(patch.fault)}</p>}
      <Diff diff={patch.diff ?? ""} />
    </Fragment>
  );
  const title = <Fragment>Patch of <a href={taskPath(p.run, patch.task)}>{visible(patch.task)}</a></Fragment>;
  if (!p.many) return <section class="patch"><h4>{title}</h4>{body}</section>;
  return <details class="patch"><summary>{title} <small>{patch.files?.length ?? 0} files</small></summary>{body}</details>;
}

/** priced words what a range of tokens costs. */
function priced(l: NonNullable<Plan["likely"]>): string {
  const dollars = (pico = 0) => `$${(pico / 1e12).toFixed(2)}`;
  return (l.high_pico_usd ? ` for ${dollars(l.low_pico_usd)} to ${dollars(l.high_pico_usd)}` : "") + (l.unpriced ? " (unpriced in part)" : "");
}

function PlanTable(p: { plan: Plan }): ComponentChild {
  const { plan } = p;
  const tasks = plan.tasks ?? [];
  return (
    <div class="plan">
      {plan.goal && <p>{visible(plan.goal)}</p>}
      {plan.decision_record && <details><summary>Decision record</summary><pre>{visible(plan.decision_record)}</pre></details>}
      {plan.constraints?.map((c) => <p class="rule">{visible(c)}</p>)}
      <div class="wide">
        <table>
          <caption>{plural(tasks.length, "task")}{plan.likely?.high ? `, likely ${tokens(plan.likely.low)} to ${tokens(plan.likely.high)} tokens${priced(plan.likely)}${plan.likely.past ? "" : ", no history"}` : ""}{plan.ceiling ? `, at most ${tokens(plan.ceiling)} tokens` : ""}</caption>
          <thead><tr><th>task</th><th class="role-of">role</th><th>may change</th><th class="waits-for">waits for</th></tr></thead>
          <tbody>{tasks.map((t) => <PlanRow key={t.id} task={t} />)}</tbody>
        </table>
      </div>
      {plan.notes?.map((n) => <p class="note">{visible(n)}</p>)}
      {plan.overlaps && plan.overlaps.length > 0 && (
        <p class="note">Take turns: {plan.overlaps.slice(0, 8).map((o) => `${o.a} and ${o.b} (${o.path})`).join("; ")}</p>
      )}
    </div>
  );
}

function PlanRow(p: { task: PlanTask }): ComponentChild {
  const t = p.task;
  return (
    <tr>
      <td>
        <details>
          <summary><b>{visible(t.id)}</b> {visible(t.title ?? "")}</summary>
          <pre>{visible(t.brief ?? "")}</pre>
          {t.constraints?.map((c) => <p class="rule">{visible(c)}</p>)}
        </details>
      </td>
      <td class="role-of">{visible(t.role ?? "")}</td>
      <td>{t.files?.map((f) => <code>{visible(f)}</code>)}</td>
      <td class="waits-for">{visible((t.depends_on ?? []).join(", "))}</td>
    </tr>
  );
}
