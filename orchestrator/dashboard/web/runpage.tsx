import { h, type ComponentChild } from "preact";
import { Ways } from "./acts";
import { Agents } from "./agents";
import { Head } from "./head";
import { Keys } from "./keys";
import { Log } from "./log";
import type { Row } from "./messages";
import { Once } from "./once";
import { Phases } from "./phases";
import { type Place, put } from "./place";
import { Plots } from "./plots";
import { quoted } from "./query";
import { Flaky, Landing, Workers } from "./queue";
import { Ended } from "./result";
import type { RunData } from "./rundata";
import { Since } from "./since";
import { Spot } from "./spot";
import { Tabs } from "./tabs";
import { Tasks } from "./tasks";
import { Timeline } from "./timeline";

interface Props { data: RunData; row?: Row; place: Place; writes: boolean; now: number }

const tabs = [
  { id: "", text: "Tasks" }, { id: "timeline", text: "Timeline" }, { id: "log", text: "Log" }, { id: "landing", text: "Landing and plots" },
  { id: "spot", text: "Spot check" },
];

/** RunPage is one run: how it stands, and a tab for each way to look at it. One selected task goes for all tabs. */
export function RunPage(p: Props): ComponentChild {
  const { data, row, place, writes, now } = p;
  const { view, version } = data;
  const tab = place.query.get("tab") ?? "";
  return (
    <div class="run">
      <Once version={[version, now, row]} draw={() => <Head id={data.id} view={view} row={row} writes={writes} now={now} />} />
      {view.result && <Once version={[version]} draw={() => <Ended run={data.id} result={view.result!} ways={view.ways ?? []} acts={view.acts} writes={writes} />} />}
      <Since key={data.id} run={data.id} />
      <Once version={[version]} draw={() => <Phases phases={view.phases} />} />
      <Tabs label="Ways to look at the run" list={tabs} at={tab} />
      <div role="tabpanel" class={`tab ${tab || "all"}`} aria-label={tabs.find((t) => t.id === tab)?.text}>{body(p, tab)}</div>
      {!view.result && <Ways ways={view.ways ?? []} />}
      <Keys list={[
        { keys: "t", help: "next tab", press: () => put({ tab: tabs[(tabs.findIndex((t) => t.id === tab) + 1) % tabs.length].id }, false) },
      ]} />
    </div>
  );
}

function body(p: Props, tab: string): ComponentChild {
  const { data, place, writes, now } = p;
  const { view, version } = data;
  const picked = place.query.get("task") ?? "";
  const pick = (task: string) => pickTask(data, task);
  const rows = [...data.tasks.values()];
  const log = <Log data={data} line={Number(place.query.get("line")) || 0} />;
  switch (tab) {
    case "timeline":
      return <Once version={[version, now, picked, data.rows.count]} draw={() => (
        <Timeline view={view} rows={rows} spans={data.spans} picked={picked} pick={pick} now={now} />
      )} />;
    case "log": return log;
    case "landing":
      return <Once version={[version, now]} draw={() => (
        <div class="grid">
          <Plots view={view} total={rows.filter((t) => !["skipped", "cancelled", "dropped"].includes(t.state) && t.role !== "master").length} />
          <div class="stack"><Landing run={data.id} view={view} now={now} /><Workers view={view} now={now} /><Flaky view={view} /></div>
        </div>
      )} />;
    case "spot": return <Spot run={data.id} tasks={rows} writes={writes} />;
    default:
      return (
        <div class="columns">
          <div class="left">
            <Once version={[version, now]} draw={() => <Agents agents={view.agents} now={now} over={view.ended > 0} pick={pick} />} />
            <Once version={[data.changes, picked]} draw={() => <Tasks run={data.id} rows={rows} picked={picked} pick={pick} />} />
          </div>
          {log}
        </div>
      );
  }
}

/** pickTask selects a task in all tabs, and filters the log by it; "" takes both back. */
function pickTask(data: RunData, task: string): void {
  const rest = data.shown.filter.terms.filter((t) => t.field !== "task").map((t) => t.raw);
  const q = [...(task ? [quoted("task", task)] : []), ...rest].join(" ");
  data.shown.look(q);
  put({ task, q, line: "" });
}
