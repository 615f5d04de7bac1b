/**
 * Print: what a command says, for a person or as JSON, and the exit codes that scripts can rely on.
 *
 * Pure: commands hand their answer here, cli.ts writes it.
 */
import type { Json } from '../core/json.ts'
import { replaceInvisible } from '../core/untrusted-text.ts'

/** Documented in docs/running.md; a test holds the two together. */
export const EXIT_CODES = {
  ok: 0,
  /** The tool, or the node, answered with an error. */
  failed: 1,
  /** The command line or the configuration is wrong. */
  usage: 2,
  /** No gateway runs, or it cannot be reached. */
  unreachable: 3,
  /** Policy said no, or a person has to approve first. */
  denied: 4,
  /** The ledger, a proof or the data directory is not what it should be, or `doctor` found something wrong. */
  integrity: 5,
} as const

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES]

/** What a command hands back: the same facts in both forms. */
export interface CommandAnswer {
  readonly json: Json
  readonly text: string
  readonly exit?: ExitCode
}

/** Columns padded to their widest cell; the last one is left as it is. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows].map((row) => row.map(toOneLine))
  const widths = headings.map((_, column) => Math.max(...all.map((row) => displayWidth(row[column] ?? ''))))
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => (column === row.length - 1 ? cell : pad(cell, widths[column] ?? 0))).join('  ')
  return all.map((row) => line(row).trimEnd()).join('\n')
}

/** `3 s`, `4 min`, `2 h`, `5 d`: good enough to say how old something is. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

/** What a stranger wrote must not move the cursor of somebody's terminal. */
export function sanitizeForTerminal(text: string): string {
  return replaceInvisible(text, (character) => (character === '\n' ? '\n' : '\uFFFD'))
}

/** For a program, and yet harmless to a terminal: what is invisible stands there as its escape sequence. */
export function formatTerminalSafeJson(value: unknown): string {
  return replaceInvisible(JSON.stringify(value), (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
}

/**
 * Words of strangers within a line of ours begin no line that looks like ours, nor do blanks push them to where one
 * begins.
 */
export function toOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ')
}

function pad(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - displayWidth(cell)))
}

/** Characters, not UTF-16 units; wide ones of other scripts are not looked up for a table. */
function displayWidth(cell: string): number {
  return Array.from(cell).length
}
