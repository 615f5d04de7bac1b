/** States: nothing there, still coming, did not come, did not work. Each says what is going on and what can be done. */
import type { ComponentChildren, JSX } from 'preact'
import type { Loaded } from '../core/load.ts'
import { Age } from './words.tsx'

export function Empty({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  )
}

export function Loading({ what }: { readonly what: string }): JSX.Element {
  return (
    <div class="loading" role="status">
      <span class="skeleton" />
      <span class="skeleton short" />
      <span class="hidden-text">{what} is being fetched.</span>
    </div>
  )
}

function Failed({ error, reload }: { readonly error: string; readonly reload?: () => void }): JSX.Element {
  return (
    <div class="failed" role="alert">
      <p>{error}</p>
      {reload === undefined ? null : (
        <button type="button" onClick={reload}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Why something did not work, where it was tried. */
export function Flaw({ text }: { readonly text: string }): JSX.Element | null {
  if (text === '') return null
  return (
    <p class="note bad" role="alert">
      {text}
    </p>
  )
}

/** Shows what was loaded; an old value stays, marked as old, when a newer one could not be had. */
export function Shown<Value>({
  of,
  what,
  children,
}: {
  readonly of: Loaded<Value>
  readonly what: string
  readonly children: (value: Value) => ComponentChildren
}): JSX.Element {
  if (of.value === undefined) {
    return of.error === undefined ? <Loading what={what} /> : <Failed error={of.error} reload={of.reload} />
  }
  return (
    <>
      {of.error === undefined ? null : (
        <p class="note warn" role="status">
          {of.error} What is shown is from <Age ms={of.atMs} />.{' '}
          <button type="button" class="link" onClick={of.reload}>
            Try again
          </button>
        </p>
      )}
      {children(of.value)}
    </>
  )
}
