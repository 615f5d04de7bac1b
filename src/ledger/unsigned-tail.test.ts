import { describe, expect, it } from 'vitest'
import { toUtf8 } from '../core/bytes.ts'
import { findUnsignedTailGapOrStopFault } from './unsigned-tail.ts'
import type { UnsignedTailReader } from './unsigned-tail.ts'

/** Three signed entries of which the last is a stop, and two more. */
const log: UnsignedTailReader = {
  size: 5,
  tailFirst: 0,
  lost: { torn: 0, uncommitted: 0 },
  entries: (from, limit) =>
    Array.from({ length: limit }, (_, index) => ({
      bytes: toUtf8(
        `{"at":"2026-01-01T00:00:00.000Z","kind":"${from + index === 2 ? 'node.stop' : 'test'}","seq":${from + index},"v":1}`,
      ),
    })),
}

describe('entries after a signed stop', () => {
  it('are accepted only as far as the pin has them', () => {
    const refused = { kind: 'behind-stop', size: 5, signedSize: 3 }
    expect([0, 4, 5].map((pinned) => findUnsignedTailGapOrStopFault(log, 3, pinned))).toEqual([
      refused,
      refused,
      undefined,
    ])
  })
})
