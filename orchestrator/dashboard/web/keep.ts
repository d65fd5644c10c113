// What the browser keeps between visits. A browser that keeps nothing still shows the page.

export function kept<T>(key: string, none: T): T {
  try {
    const text = localStorage.getItem("divisi:" + key);
    return text === null ? none : (JSON.parse(text) as T);
  } catch {
    return none;
  }
}

export function keep(key: string, value: unknown): void {
  try {
    localStorage.setItem("divisi:" + key, JSON.stringify(value));
  } catch {
    return; // a private window, or no room
  }
}
