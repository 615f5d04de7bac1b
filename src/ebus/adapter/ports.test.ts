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

describe('enhanced port', () => {
  it('begins with INIT and is ready when RESETTED comes', () => {
    const port = createEnhancedPortProtocol()
    expect(toHex(port.opened(0).bytes)).toBe('c081')
    expect(brief(port.read(fromHex('c081'), 10).events)).toEqual(['ready 1'])
  })

  it('is ready without an answer after half a second, features unknown', () => {
    const port = createEnhancedPortProtocol()
    port.opened(0)
    expect(brief(port.tick(499).events)).toEqual([])
    expect(brief(port.tick(500).events)).toEqual(['ready unknown'])
    expect(brief(port.tick(5_000).events)).toEqual([])
  })

  it('hears the features of an adapter that answers late, once', () => {
    const port = createEnhancedPortProtocol()
    port.opened(0)
    expect(brief(port.tick(500).events)).toEqual(['ready unknown'])
    expect(brief(port.read(fromHex('c081'), 700).events)).toEqual(['ready 1'])
    expect(brief(port.read(fromHex('c081'), 900).events)).toEqual([])
    expect(brief(port.read(fromHex('c081'), 3_000).events)).toEqual(['reset'])
  })

  it('takes a second RESETTED within three seconds for the same answer, a later one for a restart', () => {
    const port = createEnhancedPortProtocol()
    port.opened(0)
    port.read(fromHex('c081'), 10)
    expect(brief(port.read(fromHex('c081'), 2_900).events)).toEqual([])
    const restarted = port.read(fromHex('c081'), 3_000)
    expect(brief(restarted.events)).toEqual(['reset'])
    expect(toHex(restarted.bytes)).toBe('c081')
    expect(brief(port.read(fromHex('c081'), 3_100).events)).toEqual([])
  })

  it('passes symbols before INIT is answered', () => {
    const port = createEnhancedPortProtocol()
    port.opened(0)
    expect(brief(port.read(fromHex('c6aa 15'), 5).events)).toEqual(['aa', '15'])
  })

  it('asks one INFO at a time and collects its answer among symbols', () => {
    const port = createEnhancedPortProtocol()
    expect(toHex(port.askInfo(3, 0) ?? new Uint8Array())).toBe('cc83')
    expect(port.askInfo(4, 0)).toBeUndefined()
    expect(brief(port.read(fromHex('cc82 c6aa cc80 15 cca2'), 1).events)).toEqual(['aa', '15', 'info 3: 0022'])
    expect(toHex(port.askInfo(4, 2) ?? new Uint8Array())).toBe('cc84')
  })

  it('gives an unanswered INFO up after a second', () => {
    const port = createEnhancedPortProtocol()
    port.askInfo(3, 0)
    port.tick(1_000)
    expect(port.askInfo(4, 1_000)).toBeDefined()
  })

  it('passes on the adapter’s error messages, and reports invalid bytes', () => {
    const port = createEnhancedPortProtocol()
    expect(brief(port.read(fromHex('ec80 f081 d080 8a'), 0).events)).toEqual([
      'error ebus 0',
      'error host 1',
      'decode-fault',
      'decode-fault',
    ])
  })

  it('tells of a hole in the stream where it is, not before what came whole', () => {
    const port = createEnhancedPortProtocol()
    expect(brief(port.read(fromHex('c6aa 15 8a c6aa 10'), 0).events)).toEqual(['aa', '15', 'decode-fault', 'aa', '10'])
  })

  it('writes START, its cancellation and SEND in two bytes each', () => {
    const port = createEnhancedPortProtocol()
    expect([port.start(0x31), port.cancelStart(), port.send(0x15)].map(toHex)).toEqual(['c8b1', 'caaa', 'c495'])
  })
})

describe('plain port', () => {
  it('writes its address on the SYN and knows from the echo that it won', () => {
    const port = createPlainPortProtocol()
    port.opened(0)
    port.start(0x31)
    const onSyn = port.read(fromHex('aa'), 0)
    expect([toHex(onSyn.bytes), brief(onSyn.events)]).toEqual(['31', ['aa']])
    expect(brief(port.read(fromHex('31'), 0).events)).toEqual(['started 31'])
  })

  it('reports the winner once it continues', () => {
    const port = createPlainPortProtocol()
    port.start(0x31)
    port.read(fromHex('aa'), 0)
    expect(brief(port.read(fromHex('10'), 0).events)).toEqual([])
    expect(brief(port.read(fromHex('08'), 0).events)).toEqual(['failed 10', '8'])
  })

  it('does not answer a SYN that something has already followed', () => {
    const port = createPlainPortProtocol()
    port.start(0x31)
    expect(toHex(port.read(fromHex('aa 10'), 0).bytes)).toBe('')
  })

  it('forgets a START that is taken back', () => {
    const port = createPlainPortProtocol()
    port.start(0x31)
    port.cancelStart()
    expect(toHex(port.read(fromHex('aa'), 0).bytes)).toBe('')
  })
})

describe('any port', () => {
  it.each([
    ['enhanced', createEnhancedPortProtocol, 'c6aa'],
    ['plain', createPlainPortProtocol, 'aa'],
  ])('%s never throws on any bytes and hears the next SYN', (_, open, syn) => {
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
