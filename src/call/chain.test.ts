import { setTimeout as rest } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { plainOffer } from '../../test/plain-offer.ts'
import type { Call, Outcome } from '../bus/call.ts'
import type { CallAssessment, Effect, Offer } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { createKeyedLock } from '../core/fair-queue.ts'
import { fail, ok } from '../core/result.ts'
import type { Authorization } from '../guard/call-decision.ts'
import type { CallDecisionSteps } from '../guard/call-reservation.ts'
import type { AuditEvent, AuditLog } from './audit.ts'
import { createCallChain, listCallStages } from './chain.ts'
import type { CallChainDependencies } from './chain.ts'

/** A chain whose every step leaves a word, and a log that can be told to fail. */
function chainWithDiary(options: { readonly logFails?: (kind: string) => boolean; readonly denial?: Fault } = {}): {
  readonly diary: string[]
  readonly parts: CallChainDependencies
  readonly run: (offer: Offer | undefined, body?: JsonObject, handler?: () => Promise<Outcome>) => Promise<Outcome>
} {
  const diary: string[] = []
  let seq = 0
  const parts: CallChainDependencies = {
    lock: createKeyedLock(1),
    validateRequest: (_, body) => {
      diary.push('validate')
      if (body['trap'] === true) throw new Error('tripped')
      return body['bad'] === true ? fail({ kind: 'invalid-arguments', message: 'bad' }) : ok({ ...body, parsed: true })
    },
    audit: {
      log: {
        record: async (make: () => AuditEvent, appended) => {
          const { event } = make()
          if (options.logFails?.(event.kind) === true) throw new Error('disk full')
          diary.push(typeof event['outcome'] === 'string' ? `${event.kind} ${event['outcome']}` : event.kind)
          appended?.(seq++)
          await rest(1)
          diary.push(`${event.kind} durable`)
        },
      },
      redact: ({ call }) => call.body,
      redactResult: (_, data) => data,
    },
    decision: deciding((effect) => {
      diary.push('guard')
      return options.denial === undefined
        ? { kind: 'granted', effect, key: undefined, approvalInUse: undefined }
        : { kind: 'answered', outcome: fail(options.denial) }
    }),
    monotonic: () => 0,
    report: (_, message) => diary.push(`reported: ${message}`),
  }
  const chain = createCallChain(parts)
  const run = (offer: Offer | undefined, body: JsonObject = {}, handler?: () => Promise<Outcome>): Promise<Outcome> =>
    chain(callWith(body), offer, async (call) => {
      diary.push(`handler ${JSON.stringify(call.body)}`)
      return handler === undefined ? ok({ data: 1 }) : handler()
    })
  return { diary, parts, run }
}

/** A guard that has one thing to say. */
function deciding(say: (effect: Effect) => Authorization, given?: CallAssessment): CallDecisionSteps {
  return {
    plan: (call, offer) => {
      const assessment = given ?? { effect: offer.effect, reasons: [] }
      const { effect, target } = assessment
      return ok({ call, offer, assessment, mistake: undefined, effect, act: { caller: 'local', effect, target } })
    },
    authorise: ({ offer }) => say(offer.effect),
    reserve: () => expect.unreachable(),
    settle: (outcome) => Promise.resolve(outcome),
  }
}

function callWith(body: JsonObject): Call {
  return {
    capability: 'test.tool',
    versionReq: [1, 0],
    body,
    caller: { kind: 'principal', id: 'local', role: 'agent' },
    channel: 'api',
    traceId: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
    deadlineMs: 1_000,
    isStream: false,
    signal: new AbortController().signal,
    hopBudget: 0,
    rehearsal: false,
    heldLocks: [],
  }
}

function offerOf(effect: Effect, lock?: string): Offer {
  return plainOffer({ name: 'test.tool', effect, lock })
}

describe('call chain', () => {
  it('has the five stages of spec 5, in that order', () => {
    expect(listCallStages(chainWithDiary().parts).map(({ name }) => name)).toEqual([
      'lock',
      'validate',
      'audit enter',
      'dispatch',
      'audit exit',
    ])
  })

  it('stores the enter entry of a change before its handler runs, and answers after the exit entry is stored', async () => {
    const { diary, run } = chainWithDiary()
    expect(await run(offerOf('writes'), { a: 1 })).toMatchObject(
      ok({ data: 1, record: { logIndex: 0, endLogIndex: 1 } }),
    )
    expect(diary).toEqual([
      'validate',
      'call.enter',
      'call.enter durable',
      'guard',
      'handler {"a":1,"parsed":true}',
      'call.exit ok',
      'call.exit durable',
    ])
  })

  it('does not delay a read until its enter entry is stored', async () => {
    const { diary, run } = chainWithDiary()
    await run(offerOf('reads'))
    expect(diary.indexOf('guard')).toBeLessThan(diary.indexOf('call.enter durable'))
    expect(diary.at(-1)).toBe('call.exit durable')
  })

  it('audits invalid arguments, without calling guard or handler', async () => {
    const { diary, run } = chainWithDiary()
    expect(await run(offerOf('writes'), { bad: true })).toMatchObject({
      ok: false,
      fault: { kind: 'invalid-arguments' },
    })
    expect(diary).toEqual(['validate', 'call.enter', 'call.enter durable', 'call.exit error', 'call.exit durable'])
  })

  describe('for a call in which only claims are missing', () => {
    const issues = [{ path: ['why'], message: 'is missing', code: 'required' }]
    const claims = {
      accept: (body: JsonObject) => (body['why'] === undefined ? fail(issues) : ok(body)),
      completeClaims: (body: JsonObject): JsonObject => (body['why'] === undefined ? { why: 'because' } : {}),
    }
    const validateRequest: CallChainDependencies['validateRequest'] = () =>
      fail({ kind: 'invalid-arguments', message: 'why is missing', details: { issues } })
    const refused = async (facts: Partial<Offer>, denial?: Fault): Promise<Fault> => {
      const { parts } = chainWithDiary(denial === undefined ? {} : { denial })
      const chain = createCallChain({ ...parts, validateRequest })
      const outcome = await chain(callWith({ ref: 1 }), { ...offerOf('writes'), ...facts }, () => expect.unreachable())
      return outcome.ok ? expect.unreachable() : outcome.fault
    }

    it('returns the completed call, unless anything else is missing', async () => {
      const fault = await refused(claims)
      expect(fault).toMatchObject({ kind: 'invalid-arguments', message: 'why is missing' })
      expect(fault.details).toEqual({ issues, next: { tool: 'test.tool', arguments: { ref: 1, why: 'because' } } })
      expect((await refused({ ...claims, accept: () => fail(issues) })).details).toEqual({ issues })
      expect((await refused({})).details).toEqual({ issues })
    })

    it('returns the refusal together with the issues if the policy would refuse the call anyway', async () => {
      const denial: Fault = { kind: 'not-permitted', message: 'Not you.', details: { rule: 'role' } }
      expect(await refused(claims, denial)).toMatchObject({
        kind: 'not-permitted',
        message: 'Not you. why is missing',
        details: { rule: 'role', issues },
      })
      expect((await refused({}, denial)).kind).toBe('invalid-arguments')
    })
  })

  it('audits a call that was refused in advance, without running its handler', async () => {
    const { diary, parts } = chainWithDiary()
    const refusal: Fault = { kind: 'not-permitted', code: 'invalid_signature', message: 'Sign it.' }
    const outcome = await createCallChain(parts)(
      { ...callWith({ bad: true }), refusal },
      offerOf('writes', 'key'),
      () => {
        throw new Error('it was tried')
      },
    )
    expect(outcome).toMatchObject(fail({ ...refusal, record: { logIndex: 0, endLogIndex: 1 } }))
    expect(diary).toEqual(['call.enter', 'call.enter durable', 'call.exit denied', 'call.exit durable'])
  })

  it('audits arguments on which a lock or a schema throws, and reports the error to the log only', async () => {
    const lock = (): never => {
      throw new Error('tripped')
    }
    for (const [offer, body] of [
      [{ ...offerOf('writes'), lock }, {}],
      [offerOf('writes'), { trap: true }],
    ] as const) {
      const { diary, run } = chainWithDiary()
      const outcome = await run(offer, body)
      expect(outcome).toMatchObject({ ok: false, fault: { kind: 'internal' } })
      expect(outcome.ok ? '' : outcome.fault.message).not.toContain('tripped')
      expect(diary.filter((word) => word !== 'validate')).toEqual([
        expect.stringMatching(/^reported: the (?:lock|arguments) of test\.tool could not be/),
        'call.enter',
        'call.enter durable',
        'call.exit error',
        'call.exit durable',
      ])
    }
  })

  it('records very long names of a client and a tool, cut to the size of an entry', async () => {
    const events: AuditEvent[] = []
    const { parts } = chainWithDiary()
    const log = { record: async (make: () => AuditEvent): Promise<void> => void events.push(make()) }
    const chain = createCallChain({ ...parts, audit: { ...parts.audit, log } })
    const caller = { kind: 'principal', id: 'local', role: 'agent', client: 'n'.repeat(70_000) } as const
    await chain({ ...callWith({}), capability: 'half \ud800', caller }, undefined, async () => ok({ data: 1 }))
    expect(events[0]?.event).toMatchObject({ tool: 'half \ufffd', client: 'n'.repeat(256) })
  })

  it('records a refusal by the guard as denied', async () => {
    const { diary, run } = chainWithDiary({ denial: { kind: 'not-permitted', message: 'no' } })
    expect((await run(offerOf('writes'))).ok).toBe(false)
    expect(diary).toContain('call.exit denied')
  })

  it('records the rules of a refusal in the entry, and their messages in its body', async () => {
    const events: AuditEvent[] = []
    const reasons = [{ rule: 'role', message: 'The role observer does not cover the effect writes.' }]
    const { parts } = chainWithDiary({ denial: { kind: 'not-permitted', message: 'no', reasons } })
    const log: AuditLog = {
      record: async (make, appended) => {
        const seq = events.push(make())
        appended?.(seq)
      },
    }
    const chain = createCallChain({ ...parts, audit: { ...parts.audit, log } })
    await chain(callWith({}), offerOf('writes'), async () => ok({ data: 1 }))
    expect(events[1]).toEqual({
      event: expect.objectContaining({ kind: 'call.exit', outcome: 'denied', reasons: ['role'] }),
      body: { message: expect.any(String), reasons: ['The role observer does not cover the effect writes.'] },
    })
  })

  it('records how the guard classified a call in the exit entry, and the label of its target in the body', async () => {
    const events: AuditEvent[] = []
    const { parts } = chainWithDiary()
    const log: AuditLog = {
      record: async (make, appended) => {
        const seq = events.push(make())
        appended?.(seq)
      },
    }
    const assessment: CallAssessment = {
      effect: 'sensitive',
      target: 'lock:1',
      label: 'Front door',
      touches: ['siren:1'],
      mayTouch: Array.from({ length: 9 }, (_, index) => `lamp:${index}`),
      dryRun: true,
      reasons: [],
    }
    const yes = { state: 'approved', id: '01K' } as const
    const decision = deciding(
      () => ({ kind: 'granted', effect: 'sensitive', key: undefined, approvalInUse: yes }),
      assessment,
    )
    const chain = createCallChain({ ...parts, decision, audit: { ...parts.audit, log } })
    for (const effect of ['writes', 'sensitive', 'reads'] as const)
      await chain(callWith({}), offerOf(effect), async () => ok({ data: 1 }))
    const weight = {
      target: 'lock:1',
      touches: ['siren:1'],
      may_touch: ['lamp:0', 'lamp:1', 'lamp:2', 'lamp:3', 'lamp:4', 'lamp:5', 'lamp:6', 'lamp:7'],
      may_touch_count: 9,
      dry_run: true,
      approval: '01K',
    }
    const [said, same, read] = events.filter(({ event }) => event.kind === 'call.exit')
    expect(said).toMatchObject({ event: { effect: 'sensitive', ...weight }, body: { result: 1, label: 'Front door' } })
    // The enter has said so already, and what only reads is not classified.
    expect(same?.event).toMatchObject(weight)
    expect([same?.event['effect'], read?.event['target'], read?.body]).toEqual([undefined, undefined, undefined])
  })

  it('audits a call of an unknown capability', async () => {
    const { diary, run } = chainWithDiary()
    await run(undefined, {}, async () => fail({ kind: 'not-found', message: 'nobody' }))
    expect(diary.filter((word) => word.startsWith('call.') && !word.endsWith('durable'))).toEqual([
      'call.enter',
      'call.exit error',
    ])
  })

  it('runs no handler when the enter entry cannot be recorded', async () => {
    const { diary, run } = chainWithDiary({ logFails: (kind) => kind === 'call.enter' })
    expect(await run(offerOf('writes'))).toMatchObject({ ok: false, fault: { code: 'LEDGER_UNAVAILABLE' } })
    expect(diary).toEqual(['validate'])
  })

  it('returns an error for a completed change whose exit entry cannot be recorded', async () => {
    const { run } = chainWithDiary({ logFails: (kind) => kind === 'call.exit' })
    const outcome = await run(offerOf('writes'))
    expect(outcome).toMatchObject({ ok: false, fault: { code: 'LEDGER_UNAVAILABLE' } })
    expect(outcome.ok ? '' : outcome.fault.message).toContain('was carried out')
  })

  it.each<[string, Fault, string]>([
    ['was refused', { kind: 'not-permitted', message: 'no' }, 'Nothing was done.'],
    ['waits for a person', { kind: 'approval-required', message: 'ask' }, 'Nothing was done.'],
    ['never reached its device', { kind: 'offline', message: 'away' }, 'Nothing was done.'],
    ['was begun', { kind: 'unknown-outcome', message: 'lost' }, 'The outcome of test.tool could not be recorded'],
  ])('never reports a change that %s as carried out if its end cannot be recorded', async (_, denial, sentence) => {
    const { run } = chainWithDiary({ logFails: (kind) => kind === 'call.exit', denial })
    const outcome = await run(offerOf('writes'))
    expect(outcome).toMatchObject({ ok: false, fault: { code: 'LEDGER_UNAVAILABLE' } })
    expect(outcome.ok ? '' : outcome.fault.message).toContain(sentence)
    expect(outcome.ok ? '' : outcome.fault.message).not.toContain('was carried out')
  })

  it('records an exit entry for an answer that is not valid JSON and for an excessively long error code', async () => {
    const loop: Record<string, unknown> = {}
    loop['again'] = loop
    let deep: Json = null
    for (let level = 0; level < 50_000; level++) deep = [deep]
    for (const data of ['\ud800', { degrees: NaN }, undefined, loop, { big: 5n }, deep]) {
      const { diary, run } = chainWithDiary()
      const outcome = await run(offerOf('writes'), {}, async () => ok({ data: data as Json }))
      expect(outcome).toMatchObject({ ok: false, fault: { kind: 'failed', code: 'internal_error' } })
      expect(diary.at(-1)).toBe('call.exit durable')
    }
    const { parts } = chainWithDiary()
    const events: AuditEvent[] = []
    const record: CallChainDependencies['audit']['log']['record'] = async (make, appended) => {
      const place = events.push(make())
      appended?.(place)
    }
    const chain = createCallChain({ ...parts, audit: { ...parts.audit, log: { record } } })
    const fault: Fault = { kind: 'failed', code: 'c'.repeat(70_000), message: 'no' }
    expect(await chain(callWith({}), offerOf('writes'), async () => fail(fault))).toMatchObject(fail(fault))
    expect(events[1]?.event).toMatchObject({ outcome: 'error', error_code: 'c'.repeat(256) })
  })

  it("returns exactly the recorded answer, even if the handler's value is not plain data", async () => {
    const { run } = chainWithDiary()
    const answer = async (data: unknown): Promise<Outcome> =>
      run(offerOf('writes'), {}, async () => ok({ data: data as Json }))
    // What JSON.stringify makes of a date is in ECMA-262 § 21.4.4.37.
    expect(await answer({ at: new Date(0) })).toMatchObject(ok({ data: { at: '1970-01-01T00:00:00.000Z' } }))
    let spellings = 0
    const outcome = await answer({ toJSON: () => `spelling ${++spellings}` })
    expect(JSON.stringify(outcome)).toBe(JSON.stringify(outcome))
  })

  it('returns an error for a read whose enter entry cannot be recorded', async () => {
    const { run } = chainWithDiary({ logFails: (kind) => kind === 'call.enter' })
    expect(await run(offerOf('reads'))).toMatchObject({ ok: false, fault: { code: 'LEDGER_UNAVAILABLE' } })
  })

  it('never runs two handlers with the same lock at once, and audits calls refused because of the lock', async () => {
    const { diary, run } = chainWithDiary()
    let inside = 0
    let most = 0
    const handler = async (): Promise<Outcome> => {
      most = Math.max(most, ++inside)
      await rest(2)
      inside--
      return ok({ data: null })
    }
    const outcomes = await Promise.all([1, 2, 3].map(() => run(offerOf('writes', 'house'), {}, handler)))
    expect(most).toBe(1)
    expect(outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.fault.kind)).toSorted()).toEqual(['busy', 'ok', 'ok'])
    expect(diary.filter((word) => word === 'call.exit error')).toHaveLength(1)
  })

  it('gives another caller its turn at a lock that one caller requests continuously', async () => {
    const { parts } = chainWithDiary()
    const chain = createCallChain({ ...parts, lock: createKeyedLock(3) })
    const ask = async (id: string): Promise<string> => {
      const call: Call = { ...callWith({}), caller: { kind: 'principal', id, role: 'agent' } }
      const outcome = await chain(call, offerOf('writes', 'house'), () => Promise.resolve(ok({ data: null })))
      return `${id} ${outcome.ok ? 'ok' : outcome.fault.kind}`
    }
    expect(await Promise.all(['loop', 'loop', 'loop', 'loop', 'loop', 'owner'].map(ask))).toEqual([
      'loop ok',
      'loop ok',
      'loop ok',
      'loop busy',
      'loop busy',
      'owner ok',
    ])
  })

  it('releases the lock when a handler throws', async () => {
    const { run } = chainWithDiary()
    await expect(run(offerOf('reads', 'house'), {}, () => Promise.reject(new Error('bug')))).rejects.toThrow('bug')
    expect((await run(offerOf('writes', 'house'))).ok).toBe(true)
  })
})
