/**
 * ASCII session: one connection to the push port, from connect to loss.
 *
 *   logging-in ──ok──▶ live ──silence──▶ pinging ──any line──▶ live
 *      │                 ▲                   └──silence: hang up
 *      └──error: hang up │
 *   greeting ──any line──┘
 *
 * Login is per address on HomeSeer's side, but it is sent on every connection: a restart forgets it. Without
 * credentials the version is asked for instead; any answer will do, because pushes go to every open connection.
 *
 * Pure: lines and silence are inputs, what to send and whom to tell are outputs.
 */
import { decodeLine, encodeCommand, type DeviceChange } from './ascii.ts'
import type { Credentials } from './json-client.ts'

export interface AsciiSession {
  readonly phase: 'logging-in' | 'greeting' | 'live' | 'pinging' | 'over'
}

export type AsciiInput =
  | { readonly kind: 'connected'; readonly credentials: Credentials | undefined }
  | { readonly kind: 'lines'; readonly lines: readonly string[] }
  /** Nothing was heard for as long as the phase may take (`patienceMs`). */
  | { readonly kind: 'silence' }

export type AsciiEffect =
  | { readonly kind: 'send'; readonly text: string }
  | { readonly kind: 'live' }
  | { readonly kind: 'changed'; readonly changes: readonly DeviceChange[] }
  | { readonly kind: 'hang-up'; readonly reason: 'refused' | 'silent' }

export const NEW_SESSION: AsciiSession = { phase: 'greeting' }

export interface AsciiStep {
  readonly session: AsciiSession
  readonly effects: readonly AsciiEffect[]
}

export function step(session: AsciiSession, input: AsciiInput): AsciiStep {
  if (session.phase === 'over') return { session, effects: [] }
  switch (input.kind) {
    case 'connected':
      return greet(input.credentials)
    case 'lines':
      return hear(session, input.lines)
    default:
      if (session.phase !== 'live') return hangUp('silent')
      return {
        session: { phase: 'pinging' },
        effects: [{ kind: 'send', text: encodeCommand({ kind: 'version' }) }],
      }
  }
}

function greet(credentials: Credentials | undefined): AsciiStep {
  if (credentials === undefined)
    return { session: NEW_SESSION, effects: [{ kind: 'send', text: encodeCommand({ kind: 'version' }) }] }
  const text = encodeCommand({ kind: 'login', ...credentials })
  return { session: { phase: 'logging-in' }, effects: [{ kind: 'send', text }] }
}

/** A change can arrive before the answer to the login, and so can a line nobody asked for. */
function hear(session: AsciiSession, lines: readonly string[]): AsciiStep {
  const heard = lines.map(decodeLine)
  const changes = heard.filter((line) => line.kind === 'change')
  const effects: AsciiEffect[] = changes.length === 0 ? [] : [{ kind: 'changed', changes }]
  if (session.phase === 'live' || session.phase === 'pinging') return { session: { phase: 'live' }, effects }
  const answers = session.phase === 'logging-in' ? ['ok', 'error'] : ['ok', 'error', 'text']
  const answer = heard.find((line) => answers.includes(line.kind))
  if (answer === undefined) return { session, effects }
  if (answer.kind === 'error' && session.phase === 'logging-in') return hangUp('refused')
  return { session: { phase: 'live' }, effects: [{ kind: 'live' }, ...effects] }
}

function hangUp(reason: 'refused' | 'silent'): AsciiStep {
  return { session: { phase: 'over' }, effects: [{ kind: 'hang-up', reason }] }
}
