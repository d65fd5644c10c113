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

export async function get<T>(path: string): Promise<T> {
  return JSON.parse(await getText(path)) as T;
}

export function getText(path: string): Promise<string> {
  return answer(fetch(root + path));
}

/** post sends what a person decided. */
export async function post<T>(path: string, body: unknown): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return JSON.parse(await answer(fetch(root + path, { method: "POST", headers, body: JSON.stringify(body) }))) as T;
}

async function answer(asked: Promise<Response>): Promise<string> {
  const got = await asked;
  const text = await got.text();
  if (!got.ok) throw new Refused(got.status, reason(text) || `the server answered ${got.status}`);
  return text;
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
