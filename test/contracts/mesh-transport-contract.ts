/**
 * Mesh transport contract: what the way to other nodes keeps, whichever wire it takes. Every transport runs this suite
 * against a real one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Call, Outcome } from '../../src/bus/call.ts'
import { fail, ok } from '../../src/core/result.ts'
import { answering, collect, echo, ME, reply, streaming } from '../bus-village.ts'
import { until } from '../mesh-house.ts'
import { MAX_BODY_BYTES } from '../mesh-pair.ts'
import type { MeshPair } from '../mesh-pair.ts'

export function meshTransportContract(name: string, open: () => Promise<MeshPair>): void {
  describe(`mesh over ${name}`, () => {
    let pair: MeshPair

    beforeEach(async () => {
      pair = await open()
    })

    afterEach(async () => {
      pair.caller.close()
      pair.provider.close()
      await pair.close()
    })

    it('carries a call and its answer, with caller and trace id', async () => {
      let seen: Call | undefined
      pair.offer(
        answering({ name: 'test.echo' }, async (call) => {
          seen = call
          return ok({ data: { back: call.body }, content: [{ type: 'text', text: 'ü 水' }], usage: { tokensIn: 3 } })
        }),
      )
      const traceId = '01JGFJJZ00BAA6K3XEY2QKD4AA'
      const outcome = await pair.caller.call(
        'test.echo',
        undefined,
        { x: [1, 'ü'] },
        { ...ME, traceId, sessionId: 'a b' },
      )
      expect(outcome).toEqual({
        ok: true,
        value: {
          data: { back: { x: [1, 'ü'] } },
          content: [{ type: 'text', text: 'ü 水' }],
          usage: { tokensIn: 3 },
          from: { node: expect.stringMatching(/^ed25519:/) },
        },
      })
      expect(seen).toMatchObject({
        caller: { kind: 'peer', id: pair.callerId, level: 'trusted', actor: 'tester' },
        channel: 'mesh',
        traceId,
        sessionId: `${pair.callerId}/tester a b`,
        hopBudget: 0,
      })
    })

    it('names the principal of every call: read, write, stream and oversized body', async () => {
      const seen = offerForms()
      await callForms()
      expect(seen).toEqual(['reads tester', 'reads gpt', 'large gpt', 'writes gpt', 'streams gpt'])
    })

    it('omits the principal for a node that does not support it', async () => {
      pair.ageProvider()
      const seen = offerForms()
      await callForms()
      expect(seen).toEqual(['reads nobody', 'reads nobody', 'large nobody', 'writes nobody', 'streams nobody'])
    })

    /** Keeps for whom each call came. */
    function offerForms(): readonly string[] {
      const seen: string[] = []
      const note = ({ caller, body }: Call): void => {
        seen.push(`${body['form'] as string} ${caller.kind === 'peer' ? (caller.actor ?? 'nobody') : caller.kind}`)
      }
      const noting = async (call: Call): Promise<Outcome> => {
        note(call)
        return reply('done')
      }
      pair.offer(
        answering({ name: 'test.read' }, noting),
        answering({ name: 'test.write', effect: 'writes', idempotent: false, trustRequired: 'trusted' }, noting),
        streaming({ name: 'test.frames' }, async function* (call) {
          note(call)
          yield { event: 'chunk', data: 1 }
          return reply('done')
        }),
      )
      return seen
    }

    async function callForms(): Promise<void> {
      const gpt = { ...ME, caller: { kind: 'principal', id: 'gpt', role: 'agent' } } as const
      // Two in one packet.
      await Promise.all([ME, gpt].map((who) => pair.caller.call('test.read', undefined, { form: 'reads' }, who)))
      await pair.caller.call('test.read', undefined, { form: 'large', filler: 'x'.repeat(20_000) }, gpt)
      await pair.caller.call('test.write', undefined, { form: 'writes' }, gpt)
      await collect(pair.caller.stream('test.frames', undefined, { form: 'streams' }, gpt))
    }

    it('carries a failure with code, retry time, reasons and details', async () => {
      const fault = {
        kind: 'approval-required',
        code: 'ERR_APPROVAL',
        message: 'A person has to approve this.',
        retryAfterMs: 1_000,
        reasons: [{ rule: 'approval', message: 'It is a lock.' }],
        details: { approval_id: 'a1' },
      } as const
      pair.offer(answering({ name: 'test.fails' }, async () => fail(fault)))
      const heard = await pair.caller.call('test.fails', undefined, {}, ME)
      // Where the person is asked is said beside it.
      const node = expect.any(String)
      expect(heard).toEqual({
        ok: false,
        fault: {
          ...fault,
          begun: true,
          message: expect.stringMatching(/^A person has to approve this\. It waits on the node /),
          details: { ...fault.details, node, node_name: node },
        },
      })
    })

    it('carries a write with the signature of the calling node', async () => {
      pair.offer(answering({ name: 'test.write', effect: 'writes', idempotent: false, trustRequired: 'trusted' }, echo))
      expect(await pair.caller.call('test.write', undefined, { x: 1 }, ME)).toMatchObject(reply({ x: 1 }))
    })

    it('gives each of two hundred concurrent calls its own answer', async () => {
      pair.offer(answering({ name: 'test.echo', maxConcurrent: 500 }, echo))
      const numbers = Array.from({ length: 200 }, (_, number) => number)
      const outcomes = await Promise.all(
        numbers.map((number) => pair.caller.call('test.echo', undefined, { number }, ME)),
      )
      expect(outcomes).toMatchObject(numbers.map((number) => reply({ number })))
      expect(pair.caller.stats().inFlight).toBe(0)
    })

    it('delivers stream frames in order, and then the outcome', async () => {
      pair.offer(
        streaming({ name: 'test.frames' }, async function* () {
          for (let number = 0; number < 100; number++) yield { event: 'chunk', data: { number } }
          return reply('done')
        }),
      )
      const stream = pair.caller.stream('test.frames', undefined, {}, ME)
      const frames = await collect(stream)
      expect(frames.map(({ data }) => data)).toEqual(Array.from({ length: 100 }, (_, number) => ({ number })))
      expect(await stream.outcome).toMatchObject(reply('done'))
    })

    it('ends a stream with the failure of its handler', async () => {
      pair.offer(
        streaming({ name: 'test.frames', idempotent: false }, async function* () {
          yield { event: 'chunk', data: 1 }
          return fail({ kind: 'failed', code: 'internal_error', message: 'Out of words.' })
        }),
      )
      const stream = pair.caller.stream('test.frames', undefined, {}, ME)
      expect(await collect(stream)).toHaveLength(1)
      expect(await stream.outcome).toMatchObject({ ok: false, fault: { kind: 'failed', message: 'Out of words.' } })
    })

    it('stops the producer while the consumer does not read', async () => {
      let produced = 0
      const filler = 'x'.repeat(32_768)
      pair.offer(
        streaming({ name: 'test.frames' }, async function* () {
          for (; produced < 2_000; produced++) yield { event: 'chunk', data: filler }
          return reply('done')
        }),
      )
      const stream = pair.caller.stream('test.frames', undefined, {}, ME)
      await stream.next()
      let before = -1
      // It has stopped when nothing more is made while nobody reads.
      await until('the producer waits', async () => {
        const [was, now] = [before, produced]
        before = now
        await sleep(150)
        return was === now && now === produced
      })
      // 64 MB in all; what is under way fits into the buffers of two sockets.
      expect(produced).toBeLessThan(500)
      await stream.return()
    })

    it('aborts the handler when the caller cancels the call', async () => {
      const seen = { started: false, aborted: false }
      pair.offer(answering({ name: 'test.sleep' }, sleeper(seen)))
      const controller = new AbortController()
      const call = pair.caller.call('test.sleep', undefined, {}, { ...ME, signal: controller.signal })
      await until('it has begun', () => seen.started)
      controller.abort()
      expect(await call).toMatchObject({ ok: false, fault: { kind: 'cancelled' } })
      await until('the handler hears of it', () => seen.aborted)
      await until('nothing is left in flight', () => pair.provider.stats().inFlight === 0)
    })

    it('ends the handler when its stream is no longer read', async () => {
      let ended = false
      pair.offer(
        streaming({ name: 'test.frames' }, async function* () {
          try {
            for (;;) yield { event: 'chunk', data: 'x'.repeat(10_000) }
          } finally {
            ended = true
          }
        }),
      )
      const stream = pair.caller.stream('test.frames', undefined, {}, ME)
      await stream.next()
      await stream.return()
      await until('the generator has ended', () => ended)
      expect(ended).toBe(true)
    })

    it('carries the remaining deadline, and aborts the handler at its end', async () => {
      const seen = { started: false, aborted: false }
      pair.offer(answering({ name: 'test.sleep' }, sleeper(seen)))
      // On a machine that has no time for us, all of it may be over before the handler has begun.
      await until('it has begun', async () => {
        const outcome = await pair.caller.call('test.sleep', undefined, {}, { ...ME, timeoutMs: 2_000 })
        expect(outcome).toMatchObject({ ok: false, fault: { kind: 'timed-out' } })
        return seen.started
      })
      await until('the handler hears of it', () => seen.aborted)
    })

    it('negotiates a new session key after the provider has restarted', async () => {
      pair.offer(answering({ name: 'test.echo' }, echo))
      expect(await pair.caller.call('test.echo', undefined, { x: 1 }, ME)).toMatchObject(reply({ x: 1 }))
      pair.forgetSessions()
      expect(await pair.caller.call('test.echo', undefined, { x: 2 }, ME)).toMatchObject(reply({ x: 2 }))
    })

    it('fails at once as partition when the provider is unreachable', async () => {
      pair.offer(answering({ name: 'test.echo', idempotent: false }, echo))
      await pair.cut()
      const outcome = await pair.caller.call('test.echo', undefined, {}, { ...ME, timeoutMs: 10_000 })
      expect(outcome).toMatchObject({ ok: false, fault: { kind: 'offline', code: 'partition' } })
      await pair.mend()
      await until('it is reached again', async () => (await pair.caller.call('test.echo', undefined, {}, ME)).ok)
    })

    it('reports a call whose answer was lost as failed, without hanging', async () => {
      const seen = { runs: 0 }
      pair.offer(
        answering({ name: 'test.slow', effect: 'records', idempotent: false }, async (call) => {
          seen.runs++
          await sleep(300, undefined, { signal: call.signal }).catch(() => undefined)
          return reply({ run: seen.runs })
        }),
      )
      const call = pair.caller.call('test.slow', undefined, {}, { ...ME, timeoutMs: 8_000 })
      await until('it has begun', () => seen.runs === 1)
      await pair.cut()
      await pair.mend()
      const outcome = await call
      // Either the answer was fetched after all, or nobody claims to know.
      expect(outcome.ok ? outcome.value.data : outcome.fault.kind).toSatisfy(
        (word: unknown) => word === 'unknown-outcome' || JSON.stringify(word) === '{"run":1}',
      )
      expect(seen.runs).toBe(1)
    })

    it('accepts a body up to the limit and refuses a larger one', async () => {
      pair.offer(answering({ name: 'test.size' }, async (call) => reply(JSON.stringify(call.body).length)))
      const sized = (bytes: number): ReturnType<MeshPair['caller']['call']> =>
        pair.caller.call('test.size', undefined, { x: 'x'.repeat(bytes) }, ME)
      expect(await sized(MAX_BODY_BYTES - 100)).toMatchObject({ ok: true })
      expect(await sized(MAX_BODY_BYTES)).toMatchObject({ ok: false, fault: { code: 'bad_request' } })
      expect(await sized(10)).toMatchObject({ ok: true })
    })

    it('refuses a caller with another schema hash, and names the expected one', async () => {
      pair.offer(answering({ name: 'test.echo', requestSchema: { type: 'object', maxProperties: 3 } }, echo))
      pair.provider.deregister('test.echo', [1, 0])
      pair.provider.registerCapability(
        answering({ name: 'test.echo', requestSchema: { type: 'object', maxProperties: 4 } }, echo),
      )
      const outcome = await pair.caller.call('test.echo', undefined, {}, ME)
      expect(outcome).toMatchObject({
        ok: false,
        fault: { code: 'schema_mismatch', details: { schema_hash_expected: expect.stringMatching(/^blake3:/) } },
      })
    })
  })
}

/** Does not answer once it was woken: which end notices the deadline first then makes no difference. */
function sleeper(seen: { started: boolean; aborted: boolean }): (call: Call) => ReturnType<typeof echo> {
  return async (call) => {
    seen.started = true
    await sleep(20_000, undefined, { signal: call.signal }).catch((error: unknown) => {
      seen.aborted = true
      throw error
    })
    return reply(null)
  }
}
