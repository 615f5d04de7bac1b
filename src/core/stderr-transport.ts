/**
 * Stderr: where the log goes. What cannot be written there is left out, and the log says later how much that was: a
 * house must not go dark because a log is full, or because whoever has the other end of a pipe does not read it.
 */
import { fstatSync, writeSync } from 'node:fs'

export interface LineWriter {
  readonly write: (line: string) => void
}

const STDERR = 2
/** How much waits for a reader before lines are left out. */
const MAX_WAITING_BYTES = 262_144
/** As pino counts: a warning. */
const WARN = 40

export function stderrLines(): LineWriter {
  const put = isPipe() ? putToReader : putNow
  // The reader may leave: then nobody misses the line. One listener will do, however many loggers there are.
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

/** Never waits. What the pipe has room for is in it when this returns; the rest goes when somebody reads. */
function putToReader(line: string): boolean {
  if (process.stderr.writableLength > MAX_WAITING_BYTES) return false
  process.stderr.write(line)
  return true
}

/** Synchronous: the last line before a crash is the one that is needed. */
function putNow(line: string): boolean {
  try {
    let rest = Buffer.from(line)
    while (rest.length > 0) rest = rest.subarray(writeSync(STDERR, rest))
    return true
  } catch {
    // A full disk, a terminal that is gone. There is nobody to tell.
    return false
  }
}

function lostLine(lines: number): string {
  const entry = { level: WARN, time: new Date().toISOString(), lines, msg: 'lines of this log could not be written' }
  // Half of the last line may have been.
  return `\n${JSON.stringify(entry)}\n`
}
