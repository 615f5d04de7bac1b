import { describe, expect, it } from 'vitest'

import type { EbusSendFault } from './ebus-connection.ts'
import { mayTargetHaveActed } from './ebus-connection.ts'

describe('an eBUS fault', () => {
  it.each<[EbusSendFault, boolean]>([
    [{ kind: 'answer-lost' }, true],
    [{ kind: 'answer-garbled' }, true],
    [{ kind: 'ebusd', message: 'ERR: send error' }, true],
    [{ kind: 'timed-out', afterMs: 5, phase: 'talking' }, true],
    [{ kind: 'disconnected', reason: 'gone', phase: 'talking' }, true],
    [{ kind: 'timed-out', afterMs: 5, phase: 'arbitrating' }, false],
    [{ kind: 'cancelled', phase: 'queued' }, false],
    [{ kind: 'no-answer' }, false],
    [{ kind: 'refused' }, false],
    [{ kind: 'collision', attempts: 3 }, false],
    [{ kind: 'no-source', state: 'listening' }, false],
  ])('%j leaves open whether the target has acted: %s', (fault, open) => {
    expect(mayTargetHaveActed(fault)).toBe(open)
  })
})
