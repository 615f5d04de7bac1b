import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { utf8 } from '../../core/bytes.ts'
import { FrameReader, framed } from '../http/packet-frames.ts'
import { KeptAnswers } from './kept-answers.ts'
import { coveredHead, decodePacket, encodePacket, isPacket } from './packet.ts'
import { decodePacketCall } from './packet-call.ts'
import { SequenceWindow } from './sequence-window.ts'

const KEY_ID = 'AAAAAAAAAAAAAAAAAAAAAA'

describe('packet', () => {
  it('is a line of words, a line feed and the calls', () => {
    const covered = coveredHead({ kind: 'call', keyId: KEY_ID, first: 7, count: 2 })
    const bytes = encodePacket(covered, 'token:x', '[1,[],[]]')
    expect(Buffer.from(bytes).toString()).toBe(`hbp1 call ${KEY_ID} 7 2 token:x\n[1,[],[]]`)
    expect(decodePacket(bytes)).toEqual({
      head: { kind: 'call', keyId: KEY_ID, first: 7, count: 2 },
      proof: 'token:x',
      covered: `call ${KEY_ID} 7 2\n`,
      payload: new Uint8Array(utf8('[1,[],[]]')),
    })
  })

  it('reads back whatever it is about', () => {
    for (const kind of ['cancel', 'again', 'forgotten', 'unknown'] as const) {
      const bytes = encodePacket(coveredHead({ kind, keyId: KEY_ID, number: 3 }))
      expect([isPacket(bytes), decodePacket(bytes)?.head]).toEqual([true, { kind, keyId: KEY_ID, number: 3 }])
    }
  })

  it('is refused when it is anything else', () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => decodePacket(bytes) === undefined))
    const odd = [
      'hbp1 call',
      `hbp1 call ${KEY_ID} 1 1 x`,
      `hbp1 call ${KEY_ID} 0 1 x\n`,
      `hbp1 call ${KEY_ID} 01 1 x\n`,
      `hbp1 call ${KEY_ID} 1 33 x\n`,
      `hbp1 call ${KEY_ID} 1e3 1 x\n`,
      `hbp1 call bad.key 1 1 x\n`,
      `hbp1 __proto__ ${KEY_ID} 1\n`,
      `hbp2 call ${KEY_ID} 1 1 x\n`,
      `hbp1 answer ${'x'.repeat(600)}\n`,
    ]
    expect(odd.map((text) => decodePacket(utf8(text)))).toEqual(odd.map(() => undefined))
  })
})

describe('packet call', () => {
  const right = [
    'test.echo',
    1,
    0,
    'blake3:00',
    1_000,
    0,
    '01JGFJJZ00BAA6K3XEY2QKD4AA',
    '00000000000000ff',
    null,
    { x: 1 },
  ]

  it('is a list of ten', () => {
    expect(decodePacketCall(right)).toEqual({
      capability: 'test.echo',
      version: [1, 0],
      schemaHash: 'blake3:00',
      deadlineMs: 1_000,
      hops: 0,
      traceId: '01JGFJJZ00BAA6K3XEY2QKD4AA',
      parentSpan: '00000000000000ff',
      session: undefined,
      body: { x: 1 },
    })
  })

  it('is refused when any of them is wrong', () => {
    const wrong: readonly unknown[] = ['../etc', -1, 0.5, null, 1e12, 99, 'x', 'x', 7, [1]]
    for (const [index, value] of wrong.entries())
      expect(decodePacketCall(right.with(index, value as never))).toBeUndefined()
    expect(decodePacketCall(right.slice(0, 9))).toBeUndefined()
    expect(decodePacketCall({})).toBeUndefined()
  })

  it('is refused when its body is deeper than anybody walks', () => {
    const nested = (levels: number): unknown => JSON.parse(`${'{"x":'.repeat(levels)}1${'}'.repeat(levels)}`)
    expect(decodePacketCall(right.with(9, nested(128) as never))).toBeDefined()
    expect(decodePacketCall(right.with(9, nested(129) as never))).toBeUndefined()
    expect(decodePacketCall(right.with(9, nested(5_000) as never))).toBeUndefined()
  })
})

describe('sequence window', () => {
  it('takes each number once, in any order within the window', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 16_000 }), { maxLength: 200 }), (numbers) => {
        const [window, seen] = [new SequenceWindow(), new Set<number>()]
        for (const number of numbers) {
          expect(window.see(number)).toBe(!seen.has(number))
          seen.add(number)
        }
      }),
    )
  })

  it('takes nothing that is further back than it remembers', () => {
    const window = new SequenceWindow()
    window.see(20_000)
    expect([window.see(3_616), window.see(3_617), window.has(1)]).toEqual([false, true, true])
  })

  it('forgets nothing of what it remembers when numbers jump', () => {
    const window = new SequenceWindow()
    for (const number of [1, 2, 40, 16_384, 16_385, 1_000_000, 1_000_001]) expect(window.see(number)).toBe(true)
    expect([1_000_000, 1_000_001, 999_999, 16_385].map((number) => window.has(number))).toEqual([
      true,
      true,
      false,
      true,
    ])
  })
})

describe('kept answers', () => {
  const answersOf = (payload: string): Uint8Array =>
    encodePacket(coveredHead({ kind: 'answer', keyId: KEY_ID }), 'token:x', payload)

  it('finds the newest by number, and nothing that was never said', () => {
    const kept = new KeptAnswers()
    kept.keep(answersOf('[[1,200,{"data":"[2,"}],[3,200,{}]]'))
    kept.keep(answersOf('[[4,500,{}]]'))
    expect([1, 2, 3, 4].map((number) => kept.find(number))).toEqual([
      '[1,200,{"data":"[2,"}]',
      undefined,
      '[3,200,{}]',
      '[4,500,{}]',
    ])
  })

  it('is bounded', () => {
    const kept = new KeptAnswers()
    for (let number = 1; number <= 1_000; number++) kept.keep(answersOf(`[[${number},200,"${'x'.repeat(10_000)}"]]`))
    expect([1, 800, 1_000].map((number) => kept.find(number) !== undefined)).toEqual([false, false, true])
  })
})

describe('packet frames', () => {
  it('come out whole however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 }),
        fc.integer({ min: 1, max: 9 }),
        (packets, step) => {
          const bytes = Buffer.concat(packets.map(framed))
          const reader = new FrameReader(64)
          const out: Uint8Array[] = []
          for (let at = 0; at < bytes.length; at += step)
            out.push(...(reader.feed(bytes.subarray(at, at + step)) ?? []).map((packet) => Uint8Array.from(packet)))
          expect(out).toEqual(packets)
        },
      ),
    )
  })

  it('are refused by their length alone', () => {
    expect(new FrameReader(64).feed(Buffer.from('00000041', 'hex'))).toBeUndefined()
  })
})
