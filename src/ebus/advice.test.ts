import { describe, expect, it } from 'vitest'
import type { BusStatus } from './adapter/bus.ts'
import { adviceFor } from './advice.ts'

const WELL: BusStatus = {
  transport: 'enh',
  connected: true,
  signal: true,
  source: 'admitted',
  address: 0xff,
  passive: 'symbols',
  queued: 0,
  symbols: 9,
  reconnects: 0,
  initiators: [],
}

describe('advice', () => {
  it('is not given where nothing needs doing', () => {
    expect(adviceFor(WELL, 'enh:a:1', true)).toBeUndefined()
  })

  it.each<[Partial<BusStatus>, string]>([
    [{ connected: false, signal: false }, 'The adapter at enh:a:1 is not connected.'],
    [{ signal: false }, 'check the two bus wires'],
    [{ source: 'none-free' }, 'Set `source` to one that is free.'],
    [{ source: 'not-ours' }, 'Set another one, or `auto`.'],
    [{ source: 'probing' }, 'this takes a few seconds'],
  ])('for %j says: %s', (parts, sentence) => {
    expect(adviceFor({ ...WELL, ...parts }, 'enh:a:1', true)).toContain(sentence)
  })

  it('says that nobody has answered yet', () => {
    expect(adviceFor(WELL, 'enh:a:1', false)).toContain('No regulator has answered yet')
  })
})
