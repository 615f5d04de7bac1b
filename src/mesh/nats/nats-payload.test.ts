import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toUtf8 } from '../../core/bytes.ts'
import { StreamFrameCredit } from './stream-credit.ts'
import { decodeNatsAnswerMessage, decodeNatsMessageToProvider, encodeNatsMessage } from './nats-payload.ts'
import { createServiceVerbAnswer, listServiceVerbSubjects } from './service-verbs.ts'
import { formatBucketName, formatCallSubject, readLastSubjectToken, formatReplyPrefix } from './subject.ts'
import { identityOf } from '../../../test/mesh-keys.ts'

describe('NATS message', () => {
  it('is a line of JSON, a line feed and the body', () => {
    const bytes = encodeNatsMessage({ t: 'frame', n: 1, e: 'token' }, '{"text":"ü\\n"}')
    expect(Buffer.from(bytes).toString()).toBe('{"t":"frame","n":1,"e":"token"}\n{"text":"ü\\n"}')
    expect(decodeNatsAnswerMessage(bytes)).toEqual({
      ok: true,
      value: { head: { t: 'frame', n: 1, e: 'token' }, body: new Uint8Array(toUtf8('{"text":"ü\\n"}')) },
    })
  })

  it('is refused when it has any other form', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(decodeNatsMessageToProvider(bytes).ok).toBe(false)
        expect(decodeNatsAnswerMessage(bytes).ok).toBe(false)
      }),
    )
    const odd = [
      '',
      '{}\n',
      '{"t":"call"}\n',
      '{"t":"ack","r":"x","n":-1}\n',
      '{"t":"call","f":{"a":1},"p":""}\n',
      `${'x'.repeat(9_000)}\n`,
    ]
    expect(odd.map((text) => decodeNatsMessageToProvider(toUtf8(text)).ok)).toEqual(odd.map(() => false))
  })
})

describe('stream frame credit', () => {
  it('lets one window of frames through and then waits for the reader', async () => {
    const credit = new StreamFrameCredit(2)
    await credit.ready()
    credit.next()
    await credit.ready()
    credit.next()
    let went = false
    const third = credit.ready().then(() => (went = true))
    await Promise.resolve()
    expect([went, credit.isWaiting]).toEqual([false, true])
    credit.take(1)
    await third
    expect(went).toBe(true)
  })

  it('ignores an acknowledgement of frames that were never sent', () => {
    const credit = new StreamFrameCredit(1)
    credit.next()
    void credit.ready()
    credit.take(99)
    expect(credit.isWaiting).toBe(true)
  })

  it('rejects a waiting writer when the reader has gone', async () => {
    const credit = new StreamFrameCredit(1)
    credit.next()
    const waiting = credit.ready()
    credit.close(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
  })
})

describe('NATS subject', () => {
  it('names community, node, process and call in valid NATS tokens', () => {
    const [community, node] = [identityOf(2).id, identityOf(1).id]
    expect(formatCallSubject(community, node)).toBe(
      'hb.SHgRC8SglYZ048Qf.call.iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w',
    )
    expect(readLastSubjectToken(`${formatReplyPrefix(community, node, 'p')}.7k`)).toBe('7k')
    expect(formatBucketName(community)).toMatch(/^[A-Za-z0-9_-]+$/)
  })
})

describe('NATS service verbs', () => {
  it('answer PING, INFO and STATS as ADR-32 specifies', () => {
    const facts = {
      id: 'n1',
      version: '0.1.0',
      nodeName: 'cellar',
      nodeId: 'ed25519:x',
      startedAt: '2026-01-01T00:00:00.000Z',
      subject: 'hb.c.call.n1',
      stats: { requests: 4, errors: 1, busyMs: 2, lastError: '500' },
    }
    expect(listServiceVerbSubjects('PING', 'n1')).toEqual([
      '$SRV.PING',
      '$SRV.PING.hearthbus',
      '$SRV.PING.hearthbus.n1',
    ])
    expect(createServiceVerbAnswer('PING', facts)).toMatchObject({
      type: 'io.nats.micro.v1.ping_response',
      name: 'hearthbus',
      id: 'n1',
    })
    expect(createServiceVerbAnswer('INFO', facts)).toMatchObject({
      endpoints: [{ name: 'call', subject: 'hb.c.call.n1' }],
    })
    expect(createServiceVerbAnswer('STATS', facts)).toMatchObject({
      endpoints: [{ num_requests: 4, num_errors: 1, processing_time: 2_000_000, average_processing_time: 500_000 }],
    })
  })
})
