/**
 * Stderr: where the log goes. What cannot be written there is left out, and the log says later how much that was: a
 * house must not go dark because a log is full.
 *
 * Does I/O.
 */
import { writeSync } from 'node:fs'

export interface Lines {
  readonly write: (line: string) => void
}

const STDERR = 2
/** As pino counts: a warning. */
const WARN = 40

export function stderrLines(): Lines {
  let lost = 0
  return {
    write: (line) => {
      if (lost > 0 && put(lostLine(lost))) lost = 0
      if (lost > 0 || !put(line)) lost++
    },
  }
}

/** Synchronous: the last line before a crash is the one that is needed. */
function put(line: string): boolean {
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
