import { Component, type ComponentChild } from "preact";

interface Props { version: unknown[]; draw: () => ComponentChild }

/** Once draws again only when its version has changed: a frame that brings log rows does not touch the task table. */
export class Once extends Component<Props> {
  shouldComponentUpdate(next: Props): boolean {
    const was = this.props.version;
    return next.version.length !== was.length || next.version.some((v, i) => v !== was[i]);
  }

  render(): ComponentChild {
    return this.props.draw();
  }
}
