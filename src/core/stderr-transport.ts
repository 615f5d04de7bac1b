/**
 * Stderr: where the log goes. Lines that cannot be written are dropped, and a later line says how many: the gateway
 * must not stop because a log is full, or because the reader of a pipe does not read.
 */
import { fstatSync, writeSync } from 'node:fs'

export interface LineWriter {
  readonly write: (line: string) => void
}

const STDERR = 2
/** How many bytes wait for a reader before lines are dropped. */
const MAX_WAITING_BYTES = 262_144
/** Pino's number for a warning. */
const WARN = 40

export function createStderrLineWriter(): LineWriter {
  const put = isPipe() ? putToReader : putNow
  // The reader may close the pipe: then the line is dropped. One listener is enough for all loggers.
  if (put === putToReader && process.stderr.listenerCount('error') === 0) process.stderr.on('error', () => undefined)
  let lost = 0
  return {
    write: (line) => {
      if (lost > 0 && put(lostLine(lost))) lost = 0
      if (lost > 0 || !put(line)) lost++
    },
  }
}

function isPipe(): boolean {
  try {
    const stat = fstatSync(STDERR)
    return stat.isFIFO() || stat.isSocket()
  } catch {
    return false
  }
}

/** Never waits. What fits into the pipe is in it when this returns; the rest is written when somebody reads. */
function putToReader(line: string): boolean {
  if (process.stderr.writableLength > MAX_WAITING_BYTES) return false
  process.stderr.write(line)
  return true
}

/** Writes synchronously: the last line before a crash is the most important one. */
function putNow(line: string): boolean {
  try {
    let rest = Buffer.from(line)
    while (rest.length > 0) rest = rest.subarray(writeSync(STDERR, rest))
    return true
  } catch {
    // A full disk, or a terminal that is gone: the error cannot be reported anywhere.
    return false
  }
}

function lostLine(lines: number): string {
  const entry = {
    level: WARN,
    time: new Date().toISOString(),
    lines,
    msg: 'log lines were lost because they could not be written',
  }
  // The last line may have been written in part.
  return `\n${JSON.stringify(entry)}\n`
}
