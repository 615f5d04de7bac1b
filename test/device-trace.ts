/**
 * A device session as lines of JSON, what went in and what came out. A bug report that replays.
 *
 *   {"in":{"kind":"text","atMs":12,"text":"{\"type\":\"hello\",…}"}}
 *   {"out":{"kind":"send","text":"…"}}
 *   {"note":"the device answers late"}
 *
 * A trace holds whatever the device and its callers said, and picture tokens, which are spent by then.
 */
import { isJsonObject, parseJsonOrUndefined } from '../src/core/json.ts'
import type { Result } from '../src/core/result.ts'
import { fail, ok } from '../src/core/result.ts'
import { stepSession } from '../src/devices/session/session-machine.ts'
import type { SessionEffect, SessionInput, DeviceSession } from '../src/devices/session/session.ts'

export type TraceLine = { readonly in: SessionInput } | { readonly out: SessionEffect } | { readonly note: string }

export type TraceFault = { readonly kind: 'bad-trace'; readonly line: number }

export function encodeTrace(lines: readonly TraceLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** Looks only at the outline: a trace is written by us, and replaying a wrong one does no harm. */
export function decodeTrace(text: string): Result<readonly TraceLine[], TraceFault> {
  const lines: TraceLine[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const value = parseJsonOrUndefined(line)
    if (!isJsonObject(value) || !['in', 'out', 'note'].some((key) => key in value))
      return fail({ kind: 'bad-trace', line: index + 1 })
    lines.push(value as unknown as TraceLine)
  }
  return ok(lines)
}

/** Plays the inputs of a trace and returns it as it comes out today, notes in place. */
export function replay(session: DeviceSession, lines: readonly TraceLine[]): readonly TraceLine[] {
  const played: TraceLine[] = []
  let now = session
  for (const line of lines) {
    if ('out' in line) continue
    played.push(line)
    if (!('in' in line)) continue
    const next = stepSession(now, line.in)
    now = next.session
    played.push(...next.effects.map((effect) => ({ out: effect })))
  }
  return played
}
