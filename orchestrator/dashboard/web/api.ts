// The server's API, as docs/dashboard.md has it.

export const root = "/api/v1";

/** Refused is an answer of the server that is none: its status, and its words. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, words: string) {
    super(words);
    this.status = status;
  }
}

export function get<T>(path: string): Promise<T> {
  return answer<T>(fetch(root + path));
}

/** post sends what a person decided. With keepalive it outlives the page. */
export function post<T>(path: string, body: unknown, keepalive = false): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return answer<T>(fetch(root + path, { method: "POST", headers, body: JSON.stringify(body), keepalive }));
}

async function answer<T>(asked: Promise<Response>): Promise<T> {
  const got = await asked;
  const text = await got.text();
  if (!got.ok) throw new Refused(got.status, reason(text) || `the server answered ${got.status}`);
  return JSON.parse(text) as T;
}

function reason(text: string): string {
  try {
    return (JSON.parse(text) as { error?: string }).error ?? text;
  } catch {
    return text.trim();
  }
}

export function words(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}

/** at makes a path of names, each of them safe in an address. */
export function at(...parts: (string | number)[]): string {
  return parts.map((p) => "/" + encodeURIComponent(p)).join("");
}
