/**
 * Recording: a bus as symbols with times, in a file that an owner can send and a test can play.
 *
 *   # hearthbus ebus recording 1 2026-11-17T20:30:00.000Z
 *   0 aaaaaa
 *   41 1008b5110101895000aa        milliseconds since the start, symbols as they stood on the wire
 *
 * ebusd's dump, which has only the symbols without times, can be read and written as well.
 */
import { fromHex, toHex } from '../../core/bytes.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { SYMBOL_DURATION_MS } from '../wire/symbol.ts'

export interface RecordedSymbols {
  /** Milliseconds since the start of the recording. */
  readonly atMs: number
  readonly symbols: Uint8Array
}

export interface BusRecording {
  /** Wall-clock time; `undefined` for a dump, which has none. */
  readonly startedAt: string | undefined
  readonly pieces: readonly RecordedSymbols[]
}

const MARK = '# hearthbus ebus recording 1'
const LINE = /^(\d{1,15}) ((?:[\da-f]{2})+)$/i
/** A dump is cut into pieces of a second, so that it can be replayed like a recording. */
const DUMP_PIECE = Math.round(1_000 / SYMBOL_DURATION_MS)

export function formatRecordingHeader(startedAt: string): string {
  return `${MARK} ${startedAt}\n`
}

export function formatRecordingLine({ atMs, symbols }: RecordedSymbols): string {
  return `${Math.round(atMs)} ${toHex(symbols)}\n`
}

/** The fault names the number of an invalid line. */
export function parseBusRecording(bytes: Uint8Array): Result<BusRecording, string> {
  const mark = new TextDecoder('latin1').decode(bytes.subarray(0, MARK.length))
  return mark === MARK ? readLines(new TextDecoder().decode(bytes)) : ok(readDump(bytes))
}

function readLines(text: string): Result<BusRecording, string> {
  const [header = '', ...lines] = text.split('\n')
  const pieces: RecordedSymbols[] = []
  for (const [index, line] of lines.entries()) {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#')) continue
    const [, atMs, symbols] = LINE.exec(trimmed) ?? []
    if (atMs === undefined || symbols === undefined) return fail(`line ${index + 2} is no piece of a recording`)
    pieces.push({ atMs: Number(atMs), symbols: fromHex(symbols) })
  }
  return ok({ startedAt: header.slice(MARK.length).trim() || undefined, pieces })
}

function readDump(bytes: Uint8Array): BusRecording {
  const pieces: RecordedSymbols[] = []
  for (let at = 0; at < bytes.length; at += DUMP_PIECE)
    pieces.push({ atMs: at * SYMBOL_DURATION_MS, symbols: bytes.subarray(at, at + DUMP_PIECE) })
  return { startedAt: undefined, pieces }
}
