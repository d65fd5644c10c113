import { h, type ComponentChild } from "preact";
import { Buttons, Forgotten } from "./acts";
import { at } from "./api";
import { Attempts } from "./attempts";
import { Context } from "./context";
import { visible } from "./foreign";
import { Load } from "./load";
import { Log } from "./log";
import type { Task, TaskPage as Page } from "./messages";
import { type Place, runPath, taskPath } from "./place";
import type { RunData } from "./rundata";
import { Tabs } from "./tabs";
import { Word } from "./word";
import { commandLine } from "./words";

interface Props { data: RunData; place: Place; writes: boolean; now: number }

const tabs = [{ id: "", text: "Attempts" }, { id: "log", text: "Log" }, { id: "context", text: "What the model saw" }];

/** TaskPage is one task: its brief, its attempts, its lines of the log, and what the model saw. */
export function TaskPage(p: Props): ComponentChild {
  const { data, place } = p;
  const row = data.tasks.get(place.task);
  const version = `${row?.state} ${row?.attempt} ${row?.reason} ${data.view.agents.some((a) => a.task === place.task)} ${data.view.acts.join()}`;
  return (
    <div class="task-page">
      <p class="crumbs"><a href={runPath(data.id)}>{visible(data.view.goal || data.id)}</a> › <span>{visible(place.task)}</span></p>
      <Load<Page> path={at("runs", data.id, "tasks", place.task)} again={version} draw={(got, reload) => <Body {...p} row={row} page={got} reload={reload} />} />
    </div>
  );
}

function Body(p: Props & { row?: Task; page: Page; reload: () => void }): ComponentChild {
  const { data, place, page, row, writes } = p;
  const tab = place.query.get("tab") ?? "";
  const t = page.task;
  const state = row?.state ?? t.state;
  const attempts = page.attempts ?? [];
  return (
    <div>
      <header class="head">
        <div class="title"><h1>{visible(t.id)}</h1><Word state={state} /><span class={`role ${t.role}`}>{visible(t.role)}</span></div>
        {t.title && <p class="sub">{visible(t.title)}</p>}
        {writes && <Buttons run={data.id} task={t.id} acts={page.acts} then={p.reload}>
          <Forgotten run={data.id} task={t.id} files={row?.forgotten} then={p.reload} />
        </Buttons>}
        <div class="says">
          {(row?.reason || t.reason) && <p class={`why ${row?.alarm ? "alarm" : ""}`}>{state}: {visible(row?.reason || t.reason || "")}</p>}
          {row?.why && <p class="why notice">waits: {visible(row.why)}</p>}
        </div>
      </header>
      <Brief data={data} page={page} open={attempts.length === 0} />
      <Tabs label="Ways to look at the task" list={tabs} at={tab} />
      <div role="tabpanel" class={`tab ${tab || "all"}`} aria-label={tabs.find((x) => x.id === tab)?.text}>
        {tab === "log" ? <Log data={data} line={Number(place.query.get("line")) || 0} />
          : tab === "context" ? <Context run={data.id} task={t.id} attempts={attempts} query={place.query} />
          : <Attempts run={data.id} task={t.id} attempts={attempts} />}
      </div>
    </div>
  );
}

function Brief(p: { data: RunData; page: Page; open: boolean }): ComponentChild {
  const t = p.page.task;
  return (
    <details class="panel brief" open={p.open}>
      <summary><b>Brief</b> <span class="sub">{visible((t.brief ?? "").split("\n")[0].slice(0, 160))}</span></summary>
      <pre>{visible(t.brief ?? "")}</pre>
      {t.command && <p>Runs <code>{visible(commandLine(t.command))}</code></p>}
      {t.commit && <p>Landed as <code>{t.commit}</code></p>}
      {t.constraints?.map((c) => <p class="rule">{visible(c)}</p>)}
      {t.files && t.files.length > 0 && <p>May change {t.files.map((f) => <code>{visible(f)}</code>)}</p>}
      {t.depends && t.depends.length > 0 && <p>Waits for {t.depends.map((d) => <a href={taskPath(p.data.id, d)}>{visible(d)}</a>)}</p>}
    </details>
  );
}
