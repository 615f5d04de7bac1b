/**
 * Words: strangers' text, ages, times, badges. The smallest parts, used everywhere.
 *
 * Pure, but for the ticking of `now`.
 */
import type { ComponentChildren, JSX } from 'preact'
import { ageText, exactText, timeText } from '../core/format.ts'
import { stringAt } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { hour, now } from '../core/live.ts'
import { line, plain } from '../core/text.ts'

/** Text that somebody else wrote. Its direction is its own and does not spill over. */
export function Words({ text, max }: { readonly text: string; readonly max?: number }): JSX.Element {
  return <bdi>{line(text, max)}</bdi>
}

/** The cell of a table that shows what stands in a field. */
export function wordsAt(field: string): (item: Json) => JSX.Element {
  return (item) => <Words text={stringAt(item, field) ?? ''} />
}

/** A name of dotted parts. Where there is little room its middle goes: what it does stands at the end. */
export function ToolName({ name }: { readonly name: string }): JSX.Element {
  const text = line(name)
  const dot = text.lastIndexOf('.')
  if (dot <= 0) return <code>{text}</code>
  return (
    <code class="dotted">
      <span>{text.slice(0, dot)}</span>
      <span>{text.slice(dot)}</span>
    </code>
  )
}

/** The same over several lines. */
export function Prose({ text, max }: { readonly text: string; readonly max?: number }): JSX.Element {
  return (
    <p class="prose" dir="auto">
      {plain(text, max)}
    </p>
  )
}

export function Time({ ms }: { readonly ms: number }): JSX.Element {
  if (!Number.isFinite(ms)) return <span>–</span>
  return (
    <time dateTime={new Date(ms).toISOString()} title={exactText(ms)}>
      {timeText(ms, hour.value)}
    </time>
  )
}

export function Age({ ms }: { readonly ms: number | undefined }): JSX.Element {
  if (ms === undefined || !Number.isFinite(ms)) return <span>age unknown</span>
  return (
    <time dateTime={new Date(ms).toISOString()} title={exactText(ms)}>
      {ageText(now.value - ms)}
    </time>
  )
}

export type Tone = 'good' | 'bad' | 'warn' | 'calm' | 'accent'

export function Badge({
  tone = 'calm',
  children,
}: {
  readonly tone?: Tone
  readonly children: ComponentChildren
}): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>
}

const EFFECT_TONES: Readonly<Record<string, Tone>> = {
  reads: 'calm',
  records: 'calm',
  writes: 'accent',
  sensitive: 'warn',
  admin: 'warn',
}

export function EffectBadge({ effect }: { readonly effect: string }): JSX.Element {
  return <Badge tone={EFFECT_TONES[effect] ?? 'calm'}>{line(effect, 20)}</Badge>
}

export function resultTone(result: string): Tone {
  if (result === 'ok') return 'good'
  return /approval|permit|denied|deny|policy/i.test(result) ? 'warn' : 'bad'
}

export function ResultBadge({ result }: { readonly result: string }): JSX.Element {
  return <Badge tone={resultTone(result)}>{line(result, 40)}</Badge>
}
