/**
 * Command output: formats the answer of a command, for a person or as JSON, and defines the exit codes that scripts can
 * rely on.
 *
 * Pure: command-client.ts writes the answer.
 */
import type { Json } from '../core/json.ts'
import { replaceInvisible } from '../core/untrusted-text.ts'

/** Documented in docs/running.md; a test compares the two. */
export const EXIT_CODES = {
  ok: 0,
  /** The tool, or the node, answered with an error. */
  failed: 1,
  /** The command line or the configuration is wrong. */
  usage: 2,
  /** No gateway runs, or it cannot be reached. */
  unreachable: 3,
  /** The policy refused the call, or a person has to approve it first. */
  denied: 4,
  /** The ledger, a proof or the data directory has a defect, or `doctor` found a failure. */
  integrity: 5,
} as const

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES]

/** The answer of a command: the same facts in both forms. */
export interface CommandAnswer {
  readonly json: Json
  readonly text: string
  readonly exit?: ExitCode
}

/** Why a command did not do what it was asked to do. */
export function createFailureAnswer(message: string, exit: ExitCode): CommandAnswer {
  return { json: { ok: false, message }, text: sanitizeForTerminal(message), exit }
}

/** Columns padded to their widest cell; the last one is left as it is. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows].map((row) => row.map(toOneLine))
  const widths = headings.map((_, column) => Math.max(...all.map((row) => displayWidth(row[column] ?? ''))))
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => (column === row.length - 1 ? cell : pad(cell, widths[column] ?? 0))).join('  ')
  return all.map((row) => line(row).trimEnd()).join('\n')
}

/** A duration such as `3 s`, `4 min`, `2 h` or `5 d`, rounded to show how old something is. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

/** Cleans untrusted text, which must not contain control sequences for a terminal. */
export function sanitizeForTerminal(text: string): string {
  return replaceInvisible(text, (character) => (character === '\n' ? '\n' : '\uFFFD'))
}

/** JSON for a program that is harmless in a terminal: invisible characters are written as escape sequences. */
export function formatTerminalSafeJson(value: unknown): string {
  return replaceInvisible(JSON.stringify(value), (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
}

/**
 * Puts untrusted text on one line: it must not begin a line that looks like ours, nor push text with blanks to where a
 * line begins.
 */
export function toOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ')
}

function pad(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - displayWidth(cell)))
}

/** Counts characters, not UTF-16 units. Wide characters of other scripts count as one. */
function displayWidth(cell: string): number {
  return Array.from(cell).length
}
