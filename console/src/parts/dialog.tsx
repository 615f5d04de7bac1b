/**
 * Dialog: something in front of the page. The browser's own, which keeps the focus inside and closes with Escape.
 *
 * Does I/O: it opens.
 */
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: ComponentChildren
  readonly onClose: () => void
  readonly children: ComponentChildren
}): JSX.Element {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    // Where somebody begins to type, else what it is about: not the button that closes it, which the browser would
    // take.
    const first = dialog?.querySelector<HTMLElement>('input, select, textarea') ?? dialog?.querySelector('h2')
    first?.focus()
  }, [])
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <div class="dialog-head">
        <h2 id={id} tabIndex={-1}>
          {title}
        </h2>
        <button type="button" class="quiet" aria-label="Close" onClick={() => element.current?.close()}>
          ✕
        </button>
      </div>
      {children}
    </dialog>
  )
}
