/**
 * ASCII interface: the lines of TCP port 11000. Lines end in CR LF; a bare CR or LF ends one too.
 *
 *   > au,default,default      < ok | error…      login, for the address the line came from
 *   > vr                      < 4.2.22.4         also the keep-alive
 *   > cv,412,99  cl,412,On    < ok | error…      control by value, by label
 *   > gs,412                  < ref,parent,status,name,location2,location1 | …
 *   > gc,412                  < ref,label=value,label=1->98,…
 *                             < DC,412,99,35     pushed on every change: ref, new value, old value
 *
 * A comma inside a part is written `\,`.
 */
import type { HomeseerCredentials } from './json-client.ts'

export type AsciiCommand =
  | { readonly kind: 'login'; readonly user: string; readonly password: string }
  | { readonly kind: 'logout' }
  | { readonly kind: 'version' }
  | { readonly kind: 'control-value'; readonly ref: number; readonly value: number }
  | { readonly kind: 'control-label'; readonly ref: number; readonly label: string }
  | { readonly kind: 'status'; readonly ref: number | undefined }
  | { readonly kind: 'controls'; readonly ref: number | undefined }

export interface AsciiDeviceChange {
  readonly ref: number
  readonly value: number
  readonly previous: number | undefined
}

export type AsciiLine =
  | ({ readonly kind: 'change' } & AsciiDeviceChange)
  | { readonly kind: 'ok' }
  | { readonly kind: 'error' }
  | { readonly kind: 'text'; readonly text: string }

export function encodeAsciiCommand(command: AsciiCommand): string {
  return `${joinAsciiFields(commandParts(command))}\r\n`
}

/** Decodes a line from HomeSeer. No line is an error here: an unknown one is a text. */
export function decodeAsciiLine(line: string): AsciiLine {
  const text = line.trim()
  if (/^ok\b/i.test(text)) return { kind: 'ok' }
  if (/^error\b/i.test(text)) return { kind: 'error' }
  if (/^DC,/i.test(text)) return decodeChange(text)
  return { kind: 'text', text }
}

/** Returns `undefined` for a command that HomeSeer does not know and answers with an error line. */
export function decodeAsciiCommand(line: string): AsciiCommand | undefined {
  const [word = '', first, ...rest] = splitAsciiFields(line.trim())
  const ref = wholeNumber(first)
  switch (word.toLowerCase()) {
    case 'au':
      return { kind: 'login', user: first ?? '', password: rest[0] ?? '' }
    case 'lo':
      return { kind: 'logout' }
    case 'vr':
      return { kind: 'version' }
    case 'cv': {
      const value = finiteNumber(rest[0])
      return ref === undefined || value === undefined ? undefined : { kind: 'control-value', ref, value }
    }
    case 'cl':
      return ref === undefined || rest[0] === undefined ? undefined : { kind: 'control-label', ref, label: rest[0] }
    case 'gs':
      return { kind: 'status', ref }
    case 'gc':
      return { kind: 'controls', ref }
    default:
      return undefined
  }
}

export function encodeAsciiDeviceChange(change: AsciiDeviceChange): string {
  return `DC,${change.ref},${change.value},${change.previous ?? 0}\r\n`
}

export function joinAsciiFields(parts: readonly (string | number)[]): string {
  return parts.map((part) => String(part).replaceAll(',', '\\,')).join(',')
}

export function splitAsciiFields(line: string): readonly string[] {
  return line.split(/(?<!\\),/).map((part) => part.replaceAll('\\,', ','))
}

/** The rest of a line that has not ended; `tooLong` until the end of a line that exceeded the limit. */
export interface PartialAsciiLine {
  readonly text: string
  readonly tooLong: boolean
}

export const EMPTY_PARTIAL_ASCII_LINE: PartialAsciiLine = { text: '', tooLong: false }
const MAX_LINE = 64 * 1_024

/** Complete lines from arbitrary pieces. A line beyond the limit is dropped to its end. */
export function splitCompleteAsciiLines(
  rest: PartialAsciiLine,
  piece: string,
): { readonly lines: readonly string[]; readonly rest: PartialAsciiLine } {
  const parts = (rest.text + piece).split(/[\r\n]+/)
  const last = parts.pop() ?? ''
  const whole = rest.tooLong ? parts.slice(1) : parts
  const tooLong = (rest.tooLong && parts.length === 0) || last.length > MAX_LINE
  return {
    lines: whole.filter((line) => line !== '' && line.length <= MAX_LINE),
    rest: { text: tooLong ? '' : last, tooLong },
  }
}

function commandParts(command: AsciiCommand): readonly (string | number)[] {
  switch (command.kind) {
    case 'login':
      return ['au', oneLine(command.user), oneLine(command.password)]
    case 'logout':
      return ['lo']
    case 'version':
      return ['vr']
    case 'control-value':
      return ['cv', command.ref, command.value]
    case 'control-label':
      return ['cl', command.ref, oneLine(command.label)]
    case 'status':
      return command.ref === undefined ? ['gs'] : ['gs', command.ref]
    default:
      return command.ref === undefined ? ['gc'] : ['gc', command.ref]
  }
}

/** A line break inside a part would be a second command. */
function oneLine(text: string): string {
  if (/[\r\n]/.test(text)) throw new RangeError('a line break inside an ASCII command')
  return text
}

function decodeChange(text: string): AsciiLine {
  const [, ref, value, previous] = text.split(',')
  const number = wholeNumber(ref)
  const current = finiteNumber(value)
  if (number === undefined || current === undefined) return { kind: 'text', text }
  return { kind: 'change', ref: number, value: current, previous: finiteNumber(previous) }
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text.trim()) ? Number(text) : undefined
}

function finiteNumber(text: string | undefined): number | undefined {
  if (text === undefined || !/^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text.trim())) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}

// ASCII session: one connection to the push port, from connect to loss.
//
//   logging-in ──ok──▶ live ──silence──▶ pinging ──any line──▶ live
//      │                 ▲                   └──silence: hang up
//      └──error: hang up │
//   greeting ──any line──┘
//
// Login is per address on HomeSeer's side, but it is sent on every connection: a restart forgets it. Without
// credentials the version is asked for instead; any answer will do, because pushes go to every open connection.

export interface AsciiSessionState {
  readonly phase: 'logging-in' | 'greeting' | 'live' | 'pinging' | 'over'
}

export type AsciiSessionInput =
  | { readonly kind: 'connected'; readonly credentials: HomeseerCredentials | undefined }
  | { readonly kind: 'lines'; readonly lines: readonly string[] }
  /** Nothing arrived for as long as the phase may take (`patienceMs`). */
  | { readonly kind: 'silence' }

export type AsciiSessionEffect =
  | { readonly kind: 'send'; readonly text: string }
  | { readonly kind: 'live' }
  | { readonly kind: 'changed'; readonly changes: readonly AsciiDeviceChange[] }
  | { readonly kind: 'hang-up'; readonly reason: 'refused' | 'silent' }

export const INITIAL_ASCII_SESSION: AsciiSessionState = { phase: 'greeting' }

export interface AsciiSessionStep {
  readonly session: AsciiSessionState
  readonly effects: readonly AsciiSessionEffect[]
}

export function stepAsciiSession(session: AsciiSessionState, input: AsciiSessionInput): AsciiSessionStep {
  if (session.phase === 'over') return { session, effects: [] }
  switch (input.kind) {
    case 'connected':
      return greet(input.credentials)
    case 'lines':
      return receiveLines(session, input.lines)
    default:
      if (session.phase !== 'live') return hangUp('silent')
      return {
        session: { phase: 'pinging' },
        effects: [{ kind: 'send', text: encodeAsciiCommand({ kind: 'version' }) }],
      }
  }
}

function greet(credentials: HomeseerCredentials | undefined): AsciiSessionStep {
  if (credentials === undefined)
    return {
      session: INITIAL_ASCII_SESSION,
      effects: [{ kind: 'send', text: encodeAsciiCommand({ kind: 'version' }) }],
    }
  const text = encodeAsciiCommand({ kind: 'login', ...credentials })
  return { session: { phase: 'logging-in' }, effects: [{ kind: 'send', text }] }
}

/** A change, or any other line, can arrive before the answer to the login. */
function receiveLines(session: AsciiSessionState, lines: readonly string[]): AsciiSessionStep {
  const received = lines.map(decodeAsciiLine)
  const changes = received.filter((line) => line.kind === 'change')
  const effects: AsciiSessionEffect[] = changes.length === 0 ? [] : [{ kind: 'changed', changes }]
  if (session.phase === 'live' || session.phase === 'pinging') return { session: { phase: 'live' }, effects }
  const answers = session.phase === 'logging-in' ? ['ok', 'error'] : ['ok', 'error', 'text']
  const answer = received.find((line) => answers.includes(line.kind))
  if (answer === undefined) return { session, effects }
  if (answer.kind === 'error' && session.phase === 'logging-in') return hangUp('refused')
  return { session: { phase: 'live' }, effects: [{ kind: 'live' }, ...effects] }
}

function hangUp(reason: 'refused' | 'silent'): AsciiSessionStep {
  return { session: { phase: 'over' }, effects: [{ kind: 'hang-up', reason }] }
}
