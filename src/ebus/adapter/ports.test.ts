import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { fromHex, toHex } from '../../core/bytes.ts'
import { createEnhancedPortProtocol } from './enhanced-port.ts'
import { createPlainPortProtocol } from './plain-port.ts'
import type { AdapterPortEvent } from './adapter-port.ts'

const brief = (events: readonly AdapterPortEvent[]): string[] =>
  events.map((event) => {
    switch (event.kind) {
      case 'symbol':
        return event.symbol.toString(16)
      case 'started':
        return `started ${event.address.toString(16)}`
      case 'failed':
        return `failed ${event.winner.toString(16)}`
      case 'ready':
        return `ready ${event.features ?? 'unknown'}`
      case 'info':
        return `info ${event.id}: ${toHex(event.data)}`
      case 'error':
        return `error ${event.side} ${event.code}`
      default:
        return event.kind
    }
  })

describe('enhanced port protocol', () => {
  it('sends INIT when opened, and is ready on RESETTED', () => {
    const port = createEnhancedPortProtocol()
    expect(toHex(port.opened(0).bytes)).toBe('c081')
    expect(brief(port.read(fromHex('c081'), 10).events)).toEqual(['ready 1'])
  })

  it('is ready half a second after INIT without an answer, with unknown features', () => {
    const port = createEnhancedPortProtocol()
    port.opened(0)
    expect(brief(port.tick(499).events)).toEqual([])
    expect(brief(port.tick(500).events)).toEqual(['ready unknown'])
    expect(brief(port.tick(5_000).events)).toEqual([])
  })

  it('reports the features once when RESETTED arrives late', () => {
    const port = createEnhancedPortProtocol()
    port.opened(0)
    expect(brief(port.tick(500).events)).toEqual(['ready unknown'])
    expect(brief(port.read(fromHex('c081'), 700).events)).toEqual(['ready 1'])
    expect(brief(port.read(fromHex('c081'), 900).events)).toEqual([])
    expect(brief(port.read(fromHex('c081'), 3_000).events)).toEqual(['reset'])
  })

  it('treats RESETTED within three seconds as the answer to INIT, and a later one as a restart', () => {
    const port = createEnhancedPortProtocol()
    port.opened(0)
    port.read(fromHex('c081'), 10)
    expect(brief(port.read(fromHex('c081'), 2_900).events)).toEqual([])
    const restarted = port.read(fromHex('c081'), 3_000)
    expect(brief(restarted.events)).toEqual(['reset'])
    expect(toHex(restarted.bytes)).toBe('c081')
    expect(brief(port.read(fromHex('c081'), 3_100).events)).toEqual([])
  })

  it('delivers symbols before INIT is answered', () => {
    const port = createEnhancedPortProtocol()
    port.opened(0)
    expect(brief(port.read(fromHex('c6aa 15'), 5).events)).toEqual(['aa', '15'])
  })

  it('sends one INFO request at a time, and collects its answer between symbols', () => {
    const port = createEnhancedPortProtocol()
    expect(toHex(port.requestInfo(3, 0) ?? new Uint8Array())).toBe('cc83')
    expect(port.requestInfo(4, 0)).toBeUndefined()
    expect(brief(port.read(fromHex('cc82 c6aa cc80 15 cca2'), 1).events)).toEqual(['aa', '15', 'info 3: 0022'])
    expect(toHex(port.requestInfo(4, 2) ?? new Uint8Array())).toBe('cc84')
  })

  it('allows the next INFO request a second after an unanswered one', () => {
    const port = createEnhancedPortProtocol()
    port.requestInfo(3, 0)
    port.tick(1_000)
    expect(port.requestInfo(4, 1_000)).toBeDefined()
  })

  it('reports the adapter’s error messages and invalid bytes', () => {
    const port = createEnhancedPortProtocol()
    expect(brief(port.read(fromHex('ec80 f081 d080 8a'), 0).events)).toEqual([
      'error ebus 0',
      'error host 1',
      'decode-fault',
      'decode-fault',
    ])
  })

  it('reports a decode fault in its place between the symbols', () => {
    const port = createEnhancedPortProtocol()
    expect(brief(port.read(fromHex('c6aa 15 8a c6aa 10'), 0).events)).toEqual(['aa', '15', 'decode-fault', 'aa', '10'])
  })

  it('encodes START, its cancellation and SEND in two bytes each', () => {
    const port = createEnhancedPortProtocol()
    expect([port.start(0x31), port.cancelStart(), port.send(0x15)].map(toHex)).toEqual(['c8b1', 'caaa', 'c495'])
  })
})

describe('plain port protocol', () => {
  it('sends its address after a SYN, and recognises from the echo that it won', () => {
    const port = createPlainPortProtocol()
    port.opened(0)
    port.start(0x31)
    const onSyn = port.read(fromHex('aa'), 0)
    expect([toHex(onSyn.bytes), brief(onSyn.events)]).toEqual(['31', ['aa']])
    expect(brief(port.read(fromHex('31'), 0).events)).toEqual(['started 31'])
  })

  it('reports the winner after the winner’s next symbol', () => {
    const port = createPlainPortProtocol()
    port.start(0x31)
    port.read(fromHex('aa'), 0)
    expect(brief(port.read(fromHex('10'), 0).events)).toEqual([])
    expect(brief(port.read(fromHex('08'), 0).events)).toEqual(['failed 10', '8'])
  })

  it('does not start arbitration on a SYN that other symbols already followed', () => {
    const port = createPlainPortProtocol()
    port.start(0x31)
    expect(toHex(port.read(fromHex('aa 10'), 0).bytes)).toBe('')
  })

  it('drops a START that was cancelled', () => {
    const port = createPlainPortProtocol()
    port.start(0x31)
    port.cancelStart()
    expect(toHex(port.read(fromHex('aa'), 0).bytes)).toBe('')
  })
})

describe('a port protocol', () => {
  it.each([
    ['enhanced', createEnhancedPortProtocol, 'c6aa'],
    ['plain', createPlainPortProtocol, 'aa'],
  ])('(%s) never throws on any bytes, and reads the next SYN', (_, open, syn) => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 }), (chunks) => {
        const port = open()
        port.opened(0)
        port.start(0x31)
        for (const [index, chunk] of chunks.entries()) {
          port.read(chunk, index * 100)
          port.tick(index * 100)
        }
        expect(brief(port.read(fromHex(syn), 10_000).events).at(-1)).toBe('aa')
      }),
    )
  })
})
