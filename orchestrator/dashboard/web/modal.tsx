import { Component, h, type ComponentChild, type ComponentChildren } from "preact";

/** Modal is a dialog above the page: the browser keeps the focus in it, and gives it back when it closes. */
export class Modal extends Component<{ title: string; close: () => void; children?: ComponentChildren }> {
  private box: HTMLDialogElement | null = null;

  componentDidMount(): void {
    this.box?.showModal();
  }

  render(): ComponentChild {
    const { title, close, children } = this.props;
    return (
      <dialog class="modal" aria-label={title} ref={(e: HTMLDialogElement | null) => void (this.box = e)} onClose={close}
        onClick={(e: MouseEvent) => e.target === this.box && close()}>
        <div class="inside">
          <h2>{title}<button type="button" class="quiet" aria-label="Close" onClick={close}>✕</button></h2>
          {children}
        </div>
      </dialog>
    );
  }
}
