import { describe, expect, it } from 'vitest'
import type { EbusStatus } from './adapter/ebus-connection.ts'
import { adviseOnBusStatus } from './bus-advice.ts'

const WELL: EbusStatus = {
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

const SPEAKING = { adapter: 'enh:a:1', readOnly: false, hasRegulator: true }

describe('advice on the bus status', () => {
  it('is not given for a bus that works', () => {
    expect(adviseOnBusStatus(WELL, SPEAKING)).toBeUndefined()
  })

  it.each<[Partial<EbusStatus>, string]>([
    [{ connected: false, signal: false }, 'The adapter at enh:a:1 is not connected.'],
    [{ connected: false, refusal: 'EHOSTUNREACH' }, 'is not connected. This machine has no route to it'],
    [{ connected: false, refusal: 'EBUSY' }, 'is not connected. Another program uses that device: stop it'],
    [{ signal: false }, 'check the two bus wires'],
    [{ signal: false, transport: 'tcp-plain' }, 'If it is an ebusd, write `ebusd:` in front of its address.'],
    [{ signal: false, misread: true }, 'What enh:a:1 sends is not the enhanced protocol.'],
    [{ transport: 'tcp-plain', misread: true }, 'Write `enh:` in front of its address.'],
    [{ source: 'none-free' }, 'Set `source` to one that is free.'],
    [{ source: 'not-ours' }, 'Set another one, or `auto`.'],
    [{ source: 'probing' }, 'this takes a few seconds'],
    [{ source: 'forbidden' }, 'Start it with --enablehex'],
  ])('for %j says: %s', (parts, sentence) => {
    expect(adviseOnBusStatus({ ...WELL, ...parts }, SPEAKING)).toContain(sentence)
  })

  it.each(['listening', 'probing', 'none-free', 'not-ours'] as const)(
    'is not given about the source address state %s on a read-only bus',
    (source) => {
      expect(adviseOnBusStatus({ ...WELL, source }, { ...SPEAKING, readOnly: true })).toBeUndefined()
    },
  )

  it('says that no regulator has answered yet', () => {
    expect(adviseOnBusStatus(WELL, { ...SPEAKING, hasRegulator: false })).toContain('No regulator has answered yet')
  })
})
