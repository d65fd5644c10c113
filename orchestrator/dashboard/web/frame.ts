// The page is drawn as a whole, at most once a frame. Whatever changes what it shows asks for a frame.

let draw: () => void = () => undefined;
let asked = false;

/** onFrame names what draws the page. */
export function onFrame(f: () => void): void {
  draw = f;
}

/** ask draws with the next frame; a page in the background has no frames, so that it uses a timer. */
export function ask(): void {
  if (asked) return;
  asked = true;
  const run = () => {
    asked = false;
    draw();
  };
  if (document.hidden) setTimeout(run, 250);
  else requestAnimationFrame(run);
}
