import { Component, h, type ComponentChild } from "preact";
import uPlot from "uplot";
import type { View } from "./messages";
import { clock, count, tokens } from "./words";

/** Plots show over time what has landed, with the likely end, and what it used. */
export function Plots(p: { view: View; total: number }): ComponentChild {
  const { view } = p;
  const series = view.series ?? [];
  const last = series.at(-1);
  if (!last || series.length < 2) return <section class="panel plots" aria-label="Plots"><h2>Landed and tokens over time</h2><p class="empty">Too little has happened yet.</p></section>;
  const times = series.map((s) => s[0] / 1000);
  const ahead = !view.ended && view.projected && view.projected > last[0] ? view.projected / 1000 : 0;
  const more = ahead ? [null] : [];
  const landed: uPlot.AlignedData = [
    ahead ? [...times, ahead] : times,
    [...series.map((s) => s[1]), ...more],
    [...series.map((_, i) => (ahead && i === series.length - 1 ? last[1] : null)), ...(ahead ? [p.total] : [])],
  ];
  const used: uPlot.AlignedData = [times, series.map((s) => s[2]), series.map(() => null)];
  return (
    <section class="panel plots" aria-label="Plots">
      <h2>Landed <small>{count(last[1])} of {count(p.total)}{ahead ? `; likely all at ${clock(view.projected!)}` : ""}</small></h2>
      <Plot data={landed} colour="--fill-good" words={`Landed tasks over time, ${last[1]} now`} format={count} />
      <h2>Tokens <small>{tokens(last[2])}{view.budget ? ` of ${tokens(view.budget)}` : ""}</small></h2>
      <Plot data={used} colour="--blue" words={`Tokens over time, ${last[2]} now`} format={tokens} />
    </section>
  );
}

interface Props { data: uPlot.AlignedData; colour: string; words: string; format: (n: number) => string }

const height = 170;

/** Plot is one line over time, and a dashed one of what is likely. */
class Plot extends Component<Props> {
  private box: HTMLElement | null = null;
  private plot?: uPlot;
  private watch?: ResizeObserver;
  private readonly scheme = matchMedia("(prefers-color-scheme: dark)");
  private readonly renew = () => this.make();

  componentDidMount(): void {
    this.make();
    this.watch = new ResizeObserver(() => this.plot?.setSize({ width: this.width(), height }));
    this.watch.observe(this.box!);
    this.scheme.addEventListener("change", this.renew);
  }

  componentDidUpdate(): void {
    this.plot?.setData(this.props.data);
  }

  componentWillUnmount(): void {
    this.watch?.disconnect();
    this.scheme.removeEventListener("change", this.renew);
    this.plot?.destroy();
  }

  private width(): number {
    return Math.max(200, this.box?.clientWidth ?? 0);
  }

  private make(): void {
    this.plot?.destroy();
    const style = getComputedStyle(document.documentElement);
    const colour = style.getPropertyValue(this.props.colour).trim();
    const axis = { stroke: style.getPropertyValue("--dim").trim(), grid: { stroke: style.getPropertyValue("--line").trim(), width: 1 }, ticks: { show: false } };
    this.plot = new uPlot({
      width: this.width(), height, legend: { show: false }, cursor: { y: false },
      scales: { y: { range: (_u, _min, max) => [0, Math.max(1, max * 1.05)] } },
      axes: [{ ...axis, size: 26, values: (_u, all) => all.map((t) => clock(t * 1000).slice(0, 5)) }, { ...axis, size: 56, values: (_u, all) => all.map((n) => (Number.isInteger(n) ? this.props.format(n) : "")) }],
      series: [{}, { stroke: colour, width: 2, fill: colour + "22", points: { show: false } }, { stroke: colour, width: 1.5, dash: [5, 5], points: { show: false } }],
    }, this.props.data, this.box!);
  }

  render(): ComponentChild {
    return <div class="plot" role="img" aria-label={this.props.words} ref={(e: HTMLElement | null) => void (this.box = e)} />;
  }

  shouldComponentUpdate(next: Props): boolean {
    return next.data[0].length !== this.props.data[0].length || next.data[0].at(-1) !== this.props.data[0].at(-1);
  }
}
