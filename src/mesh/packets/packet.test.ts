import { createHmac, createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../test/any-text.ts'
import { toUtf8 } from '../../core/bytes.ts'
import { PacketFrameReader, encodePacketFrame } from '../http/packet-frames.ts'
import { AnswerPacketResendBuffer } from './answer-packet-resend-buffer.ts'
import { formatPacketHeaderToSign, decodePacket, encodePacket, hasPacketMarker } from './packet.ts'
import { decodePacketCallArray, joinPacketCallTexts } from './packet-call.ts'
import { matchesExpectedPacketProof, computeSessionPacketProof } from './packet-proof.ts'
import { SequenceWindow } from './sequence-window.ts'

const KEY_ID = 'AAAAAAAAAAAAAAAAAAAAAA'

describe('packet', () => {
  it('is a header line followed by the calls as JSON', () => {
    const covered = formatPacketHeaderToSign({ kind: 'call', keyId: KEY_ID, first: 7, count: 2 })
    const packet = encodePacket(covered, 'token:x', '[1,[],[]]')
    expect(packet).toBe(`hbp2 call ${KEY_ID} 7 2 token:x\n[1,[],[]]`)
    expect(decodePacket(packet)).toEqual({
      head: { kind: 'call', keyId: KEY_ID, first: 7, count: 2 },
      proof: 'token:x',
      covered: `call ${KEY_ID} 7 2\n`,
      payload: '[1,[],[]]',
    })
  })

  it('decodes to the same header for every kind of control packet', () => {
    for (const kind of ['cancel', 'again', 'forgotten', 'unknown'] as const) {
      const packet = encodePacket(formatPacketHeaderToSign({ kind, keyId: KEY_ID, number: 3 }))
      expect([hasPacketMarker(toUtf8(packet)), decodePacket(packet)?.head]).toEqual([
        true,
        { kind, keyId: KEY_ID, number: 3 },
      ])
    }
  })

  it('is refused when it has any other form', () => {
    fc.assert(fc.property(anyText(), (text) => decodePacket(text) === undefined))
    const odd = [
      'hbp2 call',
      `hbp2 call ${KEY_ID} 1 1 x`,
      `hbp2 call ${KEY_ID} 0 1 x\n`,
      `hbp2 call ${KEY_ID} 01 1 x\n`,
      `hbp2 call ${KEY_ID} 1 65 x\n`,
      `hbp2 call ${KEY_ID} 1e3 1 x\n`,
      `hbp2 call ${KEY_ID} 1\n`,
      `hbp2 call ${KEY_ID} 1 1 1 x\n`,
      `hbp2 call ${KEY_ID} 1 1 x x\n`,
      `hbp2 answer ${KEY_ID} 1 x\n`,
      `hbp2 again ${KEY_ID}\n`,
      `hbp2 again ${KEY_ID} 1 1\n`,
      `hbp2 call bad.key 1 1 x\n`,
      `hbp2 __proto__ ${KEY_ID} 1\n`,
      `hbp1 call ${KEY_ID} 1 1 x\n`,
      `hbp2 answer ${'x'.repeat(600)}\n`,
    ]
    expect(odd.map((text) => decodePacket(text))).toEqual(odd.map(() => undefined))
  })
})

describe('packet call', () => {
  const contract = ['test.echo', 1, 0, 'blake3:00']
  const right = [contract, 1_000, 0, '01JGFJJZ00BAA6K3XEY2QKD4AA', '00000000000000ff', null, { x: 1 }]
  const decoded = {
    capability: 'test.echo',
    version: [1, 0],
    schemaHash: 'blake3:00',
    deadlineMs: 1_000,
    hops: 0,
    traceId: '01JGFJJZ00BAA6K3XEY2QKD4AA',
    parentSpan: '00000000000000ff',
    session: undefined,
    body: { x: 1 },
  }

  it('is a list of seven members', () => {
    expect(decodePacketCallArray(right, undefined)).toEqual(decoded)
  })

  it('has an eighth member that names the actor, which the next call does not inherit', () => {
    expect(decodePacketCallArray([...right, 'claude'], undefined)).toEqual({ ...decoded, actor: 'claude' })
    for (const actor of [null, '', 7, {}, 'a b', 'x'.repeat(129)])
      expect(decodePacketCallArray([...right, actor], undefined)).toBeUndefined()
    expect(decodePacketCallArray([...right, 'claude', 'gpt'], undefined)).toBeUndefined()
    // It is not the one before's.
    const before = decodePacketCallArray([...right, 'claude'], undefined)
    expect(decodePacketCallArray([null, ...right.slice(1)], before)?.actor).toBeUndefined()
  })

  it('inherits the contract of the preceding call when its own is null', () => {
    const before = decodePacketCallArray(right, undefined)
    expect(decodePacketCallArray([null, ...right.slice(1, 6), { x: 2 }], before)).toEqual({
      ...decoded,
      body: { x: 2 },
    })
    expect(decodePacketCallArray([null, ...right.slice(1)], undefined)).toBeUndefined()
  })

  it('is encoded with null for a contract that equals the preceding one', () => {
    const texts = ['["a"]', '["a"]', '["b"]', '["a"]'].map((text, rest) => ({ contract: text, rest: `${rest}` }))
    expect(joinPacketCallTexts(texts)).toBe(',[["a"],0],[null,1],[["b"],2],[["a"],3]')
  })

  it('is refused when any member is invalid', () => {
    const wrong: readonly unknown[] = [null, 1e12, 99, 'x', 'x', 7, [1]]
    for (const [index, value] of wrong.entries())
      expect(decodePacketCallArray(right.with(index, value as never), undefined)).toBeUndefined()
    for (const [index, value] of ['../etc', -1, 0.5, null].entries())
      expect(decodePacketCallArray(right.with(0, contract.with(index, value as never)), undefined)).toBeUndefined()
    expect(decodePacketCallArray(right.with(0, contract.slice(0, 3)), undefined)).toBeUndefined()
    expect(decodePacketCallArray(right.slice(0, 6), undefined)).toBeUndefined()
    expect(decodePacketCallArray({}, undefined)).toBeUndefined()
  })

  it('is refused when its body is nested deeper than 128 levels', () => {
    const nested = (levels: number): unknown => JSON.parse(`${'{"x":'.repeat(levels)}1${'}'.repeat(levels)}`)
    const deep = (levels: number): unknown => decodePacketCallArray(right.with(6, nested(levels) as never), undefined)
    expect(deep(128)).toBeDefined()
    expect([deep(129), deep(5_000)]).toEqual([undefined, undefined])
  })
})

describe('sequence window', () => {
  it('accepts each number once, in any order within the window', () => {
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

  it('refuses numbers that lie before the window', () => {
    const window = new SequenceWindow()
    window.see(20_000)
    expect([window.see(3_616), window.see(3_617), window.has(1)]).toEqual([false, true, true])
  })

  it('still knows the numbers within the window after a jump', () => {
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

describe('packet proof', () => {
  const session = {
    id: KEY_ID,
    peer: 'somebody',
    key: createSecretKey(Buffer.alloc(32, 0x0b)),
    endsMs: Infinity,
    takesPackets: true,
    callsPerPacket: 64,
    takesActors: true,
    tokens: undefined,
  }

  it('is the HMAC over the kind, the header and the payload, for any payload', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (payload) => {
        const covered = formatPacketHeaderToSign({ kind: 'answer', keyId: KEY_ID })
        const key = session.key.export().toString('hex')
        const expected = createHmac('sha256', key).update(`packet ${covered}${payload}`).digest('base64url')
        const proof = computeSessionPacketProof('answer', covered, payload, session)
        expect(proof).toBe(`hmac-sha256:${expected}`)
        expect(matchesExpectedPacketProof('answer', { proof, covered, payload }, session)).toBe(true)
      }),
    )
  })

  it('does not verify with another payload, header, proof or key', () => {
    const covered = formatPacketHeaderToSign({ kind: 'answer', keyId: KEY_ID })
    const proof = computeSessionPacketProof('answer', covered, '[]', session)
    const other = { ...session, key: createSecretKey(Buffer.alloc(32, 0x0c)) }
    const packet = { proof, covered, payload: '[]' }
    expect([
      matchesExpectedPacketProof('answer', { ...packet, payload: '[ ]' }, session),
      matchesExpectedPacketProof('answer', { ...packet, covered: covered.replace('answer', 'call') }, session),
      matchesExpectedPacketProof('answer', { ...packet, proof: proof.slice(0, -1) }, session),
      matchesExpectedPacketProof('answer', { ...packet, proof: '' }, session),
      matchesExpectedPacketProof('answer', packet, other),
    ]).toEqual([false, false, false, false, false])
  })
})

describe('buffer of sent answers', () => {
  const answersOf = (payload: string): string =>
    encodePacket(formatPacketHeaderToSign({ kind: 'answer', keyId: KEY_ID }), 'token:x', payload)

  it('finds an answer by its call number, and nothing for a number without an answer', () => {
    const buffer = new AnswerPacketResendBuffer()
    buffer.store(answersOf('[[1,200,{"data":"[2,"}],[3,200,{}]]'))
    buffer.store(answersOf('[[4,500,{}]]'))
    expect([1, 2, 3, 4].map((number) => buffer.find(number))).toEqual([
      '[1,200,{"data":"[2,"}]',
      undefined,
      '[3,200,{}]',
      '[4,500,{}]',
    ])
  })

  it('discards the oldest answers when it is full', () => {
    const buffer = new AnswerPacketResendBuffer()
    for (let number = 1; number <= 1_000; number++) buffer.store(answersOf(`[[${number},200,"${'x'.repeat(10_000)}"]]`))
    expect([1, 800, 1_000].map((number) => buffer.find(number) !== undefined)).toEqual([false, false, true])
  })
})

describe('packet frames', () => {
  it('decode to the same packets, however the bytes are split', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 8 }), { maxLength: 8 }),
        fc.integer({ min: 1, max: 9 }),
        (texts, step) => {
          const packets = texts.map((text) => `hbp2\n${JSON.stringify(text)}`)
          const bytes = Buffer.from(packets.map(encodePacketFrame).join(''))
          const reader = new PacketFrameReader(1_024)
          const out: string[] = []
          for (let at = 0; at < bytes.length; at += step)
            out.push(...(reader.feed(bytes.subarray(at, at + step)) ?? []))
          expect(out).toEqual(packets)
        },
      ),
    )
  })

  it('decode to an empty packet when they are not valid UTF-8', () => {
    const bytes = Buffer.concat([Buffer.of(0x41, 0xff, 0x0a, 0x42, 0x0a), Buffer.from('\uFFFD\n\n')])
    expect(new PacketFrameReader(64).feed(bytes)).toEqual(['', '\uFFFD\n'])
  })

  it('are refused above the size limit, whether they are complete or not', () => {
    const long = 'x'.repeat(65)
    expect(new PacketFrameReader(64).feed(Buffer.from(long))).toBeUndefined()
    expect(new PacketFrameReader(64).feed(Buffer.from(`hbp2\n${long}\n`))).toBeUndefined()
    const reader = new PacketFrameReader(64)
    expect(reader.feed(Buffer.from(`hbp2\n${long.slice(0, 40)}`))).toEqual([])
    expect(reader.feed(Buffer.from(long.slice(0, 40)))).toBeUndefined()
  })
})
