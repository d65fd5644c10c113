// Every object of the page has an address; its query holds the tab, the filter, the selection and the line.
import { at } from "./api";
import { ask } from "./frame";

export interface Place { page: "home" | "run" | "task" | "unknown"; run: string; task: string; need: string; query: URLSearchParams }

export function place(): Place {
  const parts = location.pathname.split("/").filter(Boolean).map(decoded);
  const query = new URLSearchParams(location.search);
  const none = { run: "", task: "", need: "", query };
  const [runs, run = "", of, id = ""] = parts;
  if (parts.length === 0 || (runs === "runs" && parts.length === 1)) return { ...none, page: "home" };
  if (runs === "runs" && parts.length === 2) return { ...none, page: "run", run };
  if (runs === "runs" && of === "tasks" && parts.length === 4) return { ...none, page: "task", run, task: id };
  if (runs === "runs" && of === "decisions" && parts.length === 4) return { ...none, page: "run", run, need: id };
  return { ...none, page: "unknown" };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function runPath(run: string): string {
  return at("runs", run);
}

export function needPath(run: string, id: string): string {
  return at("runs", run, "decisions", id);
}

export function taskPath(run: string, task: string): string {
  return at("runs", run, "tasks", task);
}

export function go(path: string, replace = false): void {
  if (replace) history.replaceState(null, "", path);
  else history.pushState(null, "", path);
  if (!replace) scrollTo(0, 0);
  ask();
}

/** put changes the query of the address; an empty value takes a name out. */
export function put(change: Record<string, string>, replace = true): void {
  const query = new URLSearchParams(location.search);
  for (const [k, v] of Object.entries(change)) {
    if (v) query.set(k, v);
    else query.delete(k);
  }
  const text = query.toString();
  const path = location.pathname + (text ? "?" + text : "");
  if (replace) history.replaceState(null, "", path);
  else history.pushState(null, "", path);
  ask();
}

/** follow makes links within the page change the address without a new load. */
export function follow(): void {
  addEventListener("popstate", ask);
  document.addEventListener("click", (e) => {
    const link = (e.target as Element).closest?.("a[href^='/']");
    if (!link || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    go(link.getAttribute("href")!);
  });
}
