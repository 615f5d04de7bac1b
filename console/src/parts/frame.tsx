/** Frame: a page's heading and its sections. */
import type { ComponentChildren, JSX } from 'preact'

export function Page({
  title,
  lead,
  actions,
  children,
}: {
  readonly title: string
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <div class="page">
      <header class="page-head">
        <div>
          <h1 tabIndex={-1}>{title}</h1>
          {lead === undefined ? null : <p class="lead">{lead}</p>}
        </div>
        {actions === undefined ? null : <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

export function Section({
  title,
  note,
  actions,
  children,
}: {
  readonly title: string
  readonly note?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <section class="section" aria-label={title}>
      <div class="section-head">
        <h2>{title}</h2>
        {note === undefined ? null : <p class="aside">{note}</p>}
        {actions === undefined ? null : <div class="actions">{actions}</div>}
      </div>
      {children}
    </section>
  )
}

/** Names and values, as a list that a screen reader reads in pairs. */
export function Facts({
  of,
  small = false,
}: {
  readonly of: readonly (readonly [string, ComponentChildren])[]
  readonly small?: boolean
}): JSX.Element {
  return (
    <dl class={small ? 'facts small' : 'facts'}>
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
