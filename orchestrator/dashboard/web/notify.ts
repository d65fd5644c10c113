import { go } from "./place";

/** may reports what the browser lets the page do: "default" means that a person was not asked yet. */
export function may(): NotificationPermission | "none" {
  return "Notification" in window ? Notification.permission : "none";
}

export async function allow(): Promise<void> {
  await Notification.requestPermission();
}

/** notify tells a person who looks elsewhere. Notes with the same tag replace each other. */
export function notify(title: string, body: string, path: string, tag: string): void {
  if (may() !== "granted" || (!document.hidden && document.hasFocus())) return;
  const note = new Notification(title, { body, tag, icon: "/icon.svg" });
  note.onclick = () => {
    window.focus();
    go(path);
    note.close();
  };
}
