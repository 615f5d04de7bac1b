/** Format: numbers, ages and times as people read them. Times are local; the exact moment is for the hover. */
import type { ApprovalView } from '../../../src/web/views.ts'

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const DAY_TIME = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })
const DAY_MS = 86_400_000

export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 5) return 'just now'
  if (seconds < 90) return `${seconds} s ago`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min ago`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h ago`
  return `${Math.round(seconds / 86_400)} d ago`
}

export function leftText(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000))
  if (seconds < 90) return `${seconds} s`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

export function timeText(ms: number, nowMs: number): string {
  return Math.abs(nowMs - ms) < DAY_MS / 2 ? TIME.format(ms) : DAY_TIME.format(ms)
}

/** The time of the day alone. */
export function clockText(ms: number): string {
  return CLOCK.format(ms)
}

export function exactText(ms: number): string {
  return `${EXACT.format(ms)} (${new Date(ms).toISOString()})`
}

export function celsius(value: number | undefined): string {
  return value === undefined ? '–' : `${value.toFixed(1)}°`
}

export function count(value: number): string {
  return value.toLocaleString()
}

export function tookText(ms: number): string {
  if (ms < 1) return '< 1 ms'
  if (ms < 1_000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`
}

/** `ed25519:D9ebEMpE…` is enough to tell nodes apart. */
export function shortId(id: string): string {
  return id.length > 20 ? `${id.slice(0, 16)}…` : id
}

/** Never the names alone: a node may be called like somebody, and so may those for whom it says that it asks. */
export function askerOf({
  binding,
  askedBy,
  askedFor,
}: Pick<ApprovalView, 'binding' | 'askedBy' | 'askedFor'>): string {
  const { principal } = binding
  if (askedBy === undefined) return principal
  const node = `the node ${askedBy} (${shortId(principal.replace(/^peer:/, ''))})`
  return askedFor === undefined ? node : `${askedFor}, says ${node}`
}

const BROWSERS = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['Firefox', 'Firefox'],
  ['Chrome', 'Chrome'],
  ['Version', 'Safari'],
] as const
const SYSTEMS = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const

/** `Firefox 140 on Linux` out of what a browser calls itself; `undefined` where that says something else. */
export function browserText(userAgent: string): string | undefined {
  for (const [word, name] of BROWSERS) {
    const version = new RegExp(`(?:Headless)?${word}/(\\d{1,4})`).exec(userAgent)?.[1]
    if (version === undefined) continue
    const system = SYSTEMS.find(([part]) => userAgent.includes(part))?.[1]
    return system === undefined ? `${name} ${version}` : `${name} ${version} on ${system}`
  }
  return undefined
}
