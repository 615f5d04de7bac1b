/**
 * Reading: a measured value with its unit, its age and where it comes from. What is old looks old.
 *
 * Pure, but for the ticking of `now`.
 */
import type { JSX } from 'preact'
import { connection, now } from '../core/live.ts'
import { Age } from './words.tsx'

/** Older than this, a value says what was and not what is. */
const STALE_MS = 10 * 60_000

export function isStale(atMs: number | undefined): boolean {
  return atMs === undefined || now.value - atMs > STALE_MS || connection.value === 'lost'
}

export function Reading({
  label,
  value,
  unit,
  atMs,
  source,
}: {
  readonly label: string
  readonly value: string
  readonly unit?: string
  readonly atMs: number | undefined
  readonly source: string
}): JSX.Element {
  const stale = isStale(atMs)
  return (
    <div class={stale ? 'reading stale' : 'reading'}>
      <p class="reading-label">{label}</p>
      <p class="reading-value">
        {value}
        {unit === undefined || value === '–' ? null : <span class="unit"> {unit}</span>}
      </p>
      <Source atMs={atMs} source={source} />
    </div>
  )
}

export function Source({ atMs, source }: { readonly atMs: number | undefined; readonly source: string }): JSX.Element {
  return (
    <p class="source">
      {isStale(atMs) ? <span class="old">{connection.value === 'lost' ? 'not live' : 'old'} · </span> : null}
      {source} · <Age ms={atMs} />
    </p>
  )
}
