import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Caller } from '../bus/call.ts'
import type { Effect } from '../bus/capability.ts'
import type { LimitVerdict } from './limits.ts'
import type { GuardMode, CallApprovalStatus, PolicyDecision, PolicyInput, OwnerRule } from './policy.ts'
import { evaluatePolicy, resolveEffectiveEffect } from './policy.ts'

const agent: Caller = { kind: 'principal', id: 'claude', role: 'agent' }

function input(effect: Effect, more: Partial<PolicyInput> = {}): PolicyInput {
  return {
    offer: { name: 'test.tool', effect, trustRequired: 'member' },
    assessment: { effect, reasons: [] },
    caller: agent,
    mode: 'full',
    stopped: undefined,
    rehearsal: false,
    ownerRules: [],
    inProfile: true,
    limits: { ok: true },
    approval: { state: 'none' },
    repeat: false,
    ...more,
  }
}

function rules(decision: PolicyDecision): readonly string[] {
  return decision.verdict === 'deny' || decision.verdict === 'approval-required'
    ? decision.reasons.map((reason) => reason.rule)
    : []
}

describe('policy', () => {
  it('allows an agent to read, record and write, and requires an approval for sensitive calls', () => {
    const verdicts = (['reads', 'records', 'writes', 'sensitive', 'admin'] as const).map(
      (effect) => evaluatePolicy(input(effect)).verdict,
    )
    expect(verdicts).toEqual(['allow', 'allow', 'allow', 'approval-required', 'allow'])
  })

  it('refuses a device name that is longer than 512 characters or not valid Unicode', () => {
    const named = (target: string) =>
      rules(evaluatePolicy(input('writes', { assessment: { effect: 'writes', target, reasons: [] } })))
    expect(named('x'.repeat(512))).toEqual([])
    expect(named('x'.repeat(513))).toEqual(['target'])
    expect(named('lamp:\ud800')).toEqual(['target'])
  })

  it('names the declared effect that a call would violate', () => {
    const said = (declared: Effect, assessed: string) => {
      const offer = { name: 'test.tool', effect: declared, trustRequired: 'member' } as const
      const decision = evaluatePolicy(
        input(declared, { offer, assessment: { effect: assessed as Effect, reasons: [] } }),
      )
      return decision.verdict === 'deny' ? decision.reasons.map(({ message }) => message) : []
    }
    expect(said('reads', 'writes')).toEqual(['This tool is declared to read, and this call writes.'])
    expect(said('writes', 'burns')).toEqual(['It is not known what this call would do.'])
    expect(said('reads', 'burns')).toEqual(['It is not known what this call would do.'])
  })

  it('states whether one person or several have to approve', () => {
    const said = (more: Partial<PolicyInput>) => {
      const decision = evaluatePolicy(input('sensitive', more))
      return decision.verdict === 'approval-required' ? decision.reasons[0]?.message : decision.verdict
    }
    expect(said({})).toBe('A person has to approve test.tool first.')
    expect(said({ proposed: true })).toBe('Several have to approve test.tool first.')
    expect(said({ proposed: false })).toBe('A person has to approve test.tool first.')
  })

  it('refuses a dry-run flag that is not a boolean', () => {
    const dry = (dryRun: unknown) => {
      const assessment = { effect: 'writes', reasons: [], dryRun } as unknown as PolicyInput['assessment']
      return evaluatePolicy(input('writes', { assessment }))
    }
    for (const unclear of ['yes', 'true', 1, 0, null, {}]) expect(rules(dry(unclear))).toEqual(['dry-run'])
    expect([dry(true).verdict, dry(false).verdict]).toEqual(['rehearse', 'allow'])
  })

  it('returns all reasons at once', () => {
    const decision = evaluatePolicy(
      input('writes', {
        assessment: {
          effect: 'writes',
          target: 'lamp:2',
          reasons: [
            { rule: 'confirm', message: 'confirm must be true' },
            { rule: 'intent', message: 'intent is missing' },
          ],
        },
        caller: {
          kind: 'principal',
          id: 'screen',
          role: 'observer',
          restrictions: { effects: ['reads'], devices: ['lamp:1'], profiles: ['heating'] },
        },
        inProfile: false,
        mode: 'readonly',
        stopped: 'smoke in the cellar',
        ownerRules: [{ target: 'lamp:*', says: 'forbid' }],
        limits: { ok: false, reasons: [{ rule: 'rate-writes', message: 'slow down' }], retryAfterMs: 5 },
      }),
    )
    expect(rules(decision)).toEqual([
      'role',
      'token-effects',
      'token-profiles',
      'token-devices',
      'mode',
      'emergency-stop',
      'owner',
      'confirm',
      'intent',
      'rate-writes',
    ])
    expect(decision).not.toHaveProperty('retryAfterMs')
  })

  it('returns a retry time only if waiting alone is sufficient', () => {
    const limits: LimitVerdict = {
      ok: false,
      reasons: [{ rule: 'actuator-rest', message: 'rests' }],
      retryAfterMs: 250,
    }
    expect(evaluatePolicy(input('writes', { limits }))).toEqual({
      verdict: 'deny',
      reasons: [{ rule: 'actuator-rest', message: 'rests' }],
      retryAfterMs: 250,
    })
  })

  it('allows a dry run while the device rests', () => {
    const limits: LimitVerdict = { ok: false, reasons: [{ rule: 'actuator-rest', message: 'm' }], retryAfterMs: 250 }
    const dry = { effect: 'writes', dryRun: true, reasons: [] } as const
    expect(evaluatePolicy(input('writes', { limits, assessment: dry })).verdict).toBe('rehearse')
  })

  it('allows a dry run in read-only mode and during an emergency stop, but no change', () => {
    const dry = { effect: 'writes', dryRun: true, reasons: [] } as const
    expect(evaluatePolicy(input('writes', { mode: 'readonly', assessment: dry })).verdict).toBe('rehearse')
    expect(evaluatePolicy(input('writes', { stopped: 'fire', assessment: dry })).verdict).toBe('rehearse')
    expect(rules(evaluatePolicy(input('records', { mode: 'readonly' })))).toEqual(['mode'])
    expect(rules(evaluatePolicy(input('records', { stopped: 'fire' })))).toEqual(['emergency-stop'])
  })

  it('refuses the rehearsal of a tool that does not support dry runs', () => {
    expect(rules(evaluatePolicy(input('writes', { rehearsal: true })))).toEqual(['rehearsal'])
    const claim = { effect: 'reads', reasons: [] } as const
    expect(rules(evaluatePolicy(input('admin', { rehearsal: true, assessment: claim })))).toEqual(['rehearsal'])
    expect(evaluatePolicy(input('reads', { rehearsal: true })).verdict).toBe('allow')
  })

  it('applies the reasons of the family to a dry run', () => {
    const assessment = {
      effect: 'writes',
      dryRun: true,
      reasons: [{ rule: 'allow-list', message: 'not on the list' }],
    } as const
    expect(rules(evaluatePolicy(input('writes', { assessment })))).toEqual(['allow-list'])
  })

  it('allows neither an observer nor an approver to act, not even in a dry run', () => {
    for (const role of ['observer', 'approver'] as const) {
      const caller: Caller = { kind: 'principal', id: 'x', role }
      expect(evaluatePolicy(input('reads', { caller })).verdict).toBe('allow')
      for (const effect of ['records', 'writes', 'sensitive', 'admin'] as const) {
        expect(rules(evaluatePolicy(input(effect, { caller })))).toContain('role')
        const dry = { effect, dryRun: true, reasons: [] }
        expect(rules(evaluatePolicy(input(effect, { caller, assessment: dry })))).toEqual(['role'])
      }
    }
  })

  it('requires of a peer the trust level of the capability, and at least that of its effect', () => {
    const verdict = (level: 'unknown' | 'member' | 'trusted' | 'anchor', effect: Effect, trustRequired = 'member') =>
      evaluatePolicy(
        input(effect, {
          caller: { kind: 'peer', id: 'attic', level },
          offer: { name: 't', effect, trustRequired: trustRequired as 'member' },
        }),
      ).verdict
    expect(verdict('unknown', 'reads')).toBe('deny')
    expect(verdict('member', 'reads')).toBe('allow')
    expect(verdict('member', 'reads', 'trusted')).toBe('deny')
    expect(verdict('member', 'writes')).toBe('deny')
    expect(verdict('trusted', 'writes')).toBe('allow')
    expect(verdict('trusted', 'sensitive')).toBe('approval-required')
    expect(verdict('trusted', 'admin')).toBe('deny')
    expect(verdict('anchor', 'admin')).toBe('allow')
    expect(verdict('anchor', 'reads', 'self')).toBe('deny')
    expect(verdict('anchor', 'reads', 'sovereign')).toBe('deny')
  })

  it('keeps the declared effect of admin tools and of reading tools', () => {
    expect(resolveEffectiveEffect('admin', 'reads')).toBe('admin')
    expect(resolveEffectiveEffect('admin', 'writes')).toBe('admin')
    expect(resolveEffectiveEffect('admin', 'sensitive')).toBe('sensitive')
    expect(resolveEffectiveEffect('reads', 'writes')).toBeUndefined()
    expect(resolveEffectiveEffect('writes', 'reads')).toBe('reads')
    expect(resolveEffectiveEffect('writes', 'sensitive')).toBe('sensitive')
    const assessment = { effect: 'writes', reasons: [] } as const
    const offer = { name: 't', effect: 'reads', trustRequired: 'member' } as const
    expect(rules(evaluatePolicy(input('reads', { offer, assessment })))).toEqual(['effect'])
  })

  it('applies owner rules that trust, ask and forbid', () => {
    const verdict = (effect: Effect, ownerRules: readonly OwnerRule[], target = 'lock:1') =>
      evaluatePolicy(input(effect, { ownerRules, assessment: { effect, target, reasons: [] } })).verdict
    expect(verdict('sensitive', [{ target: 'lock:1', says: 'trust' }])).toBe('allow')
    expect(verdict('sensitive', [{ target: 'lock:2', says: 'trust' }])).toBe('approval-required')
    expect(verdict('sensitive', [{ tool: 'test.*', says: 'trust' }])).toBe('allow')
    expect(verdict('writes', [{ tool: 'test.tool', says: 'ask' }])).toBe('approval-required')
    expect(verdict('records', [{ tool: 'test.tool', says: 'ask' }])).toBe('allow')
    expect(verdict('writes', [{ tool: 'test.tool', says: 'forbid' }])).toBe('deny')
    expect(
      verdict('sensitive', [
        { tool: 'test.tool', says: 'trust' },
        { target: 'lock:1', says: 'ask' },
      ]),
    ).toBe('approval-required')
  })

  it('refuses a denied call with the reason of the denial', () => {
    const approval: CallApprovalStatus = { state: 'denied', id: 'a', why: 'not at night' }
    expect(evaluatePolicy(input('sensitive', { approval }))).toEqual({
      verdict: 'deny',
      reasons: [{ rule: 'approval-denied', message: 'A person said no to this call: not at night' }],
    })
  })

  it('requires neither approval nor budget for a repeated call', () => {
    const limits: LimitVerdict = { ok: false, reasons: [{ rule: 'rate-writes', message: 'x' }], retryAfterMs: 1 }
    expect(evaluatePolicy(input('sensitive', { repeat: true, limits }))).toEqual({
      verdict: 'allow',
      effect: 'sensitive',
      needsApproval: false,
    })
  })
})

/** Anything that a careless room, a newer peer or an attacker might put there. */
const garbage: fc.Arbitrary<string> = fc.constantFrom('', 'Allow', 'full ', 'root', '__proto__', 'toString')

/** Mostly what is known; otherwise a lawful observer would never get past the first reason. */
function mostly<Value>(known: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return fc.oneof(
    { weight: 12, arbitrary: known },
    { weight: 1, arbitrary: garbage as fc.Arbitrary<unknown> as fc.Arbitrary<Value> },
  )
}
const effects = fc.constantFrom<Effect>('reads', 'records', 'writes', 'sensitive', 'admin')
const anyEffect = mostly(effects)
const names = fc.constantFrom('lamp:1', 'lamp:2', 'lock:1')
const patterns = fc.constantFrom('lamp:1', 'lamp:*', 'lock:1', 'test.tool', 'test.*', 'other')

const callers: fc.Arbitrary<Caller> = fc.oneof(
  fc.record(
    {
      kind: fc.constant('principal' as const),
      id: fc.constant('x'),
      role: mostly(fc.constantFrom('observer', 'agent', 'approver', 'admin')),
      restrictions: fc.record(
        { effects: fc.array(effects), devices: fc.array(patterns), profiles: fc.array(fc.constant('p')) },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ['kind', 'id', 'role'] },
  ),
  fc.record({
    kind: fc.constant('peer' as const),
    id: fc.constant('x'),
    level: mostly(fc.constantFrom('unknown', 'member', 'trusted', 'anchor')),
  }),
  fc.constant<Caller>({ kind: 'service', id: 'x' }),
  garbage.map((kind) => ({ kind, id: 'x' }) as unknown as Caller),
)

const arbitraryInput: fc.Arbitrary<PolicyInput> = fc.record({
  offer: fc.record({
    name: fc.constant('test.tool'),
    effect: anyEffect,
    trustRequired: fc.constantFrom('member', 'trusted', 'anchor', 'self'),
  }),
  assessment: fc.record(
    {
      effect: anyEffect,
      target: names,
      dryRun: mostly(fc.boolean()),
      reasons: fc.array(fc.constant({ rule: 'family', message: 'no' }), { maxLength: 1 }),
    },
    { requiredKeys: ['effect', 'reasons'] },
  ),
  caller: callers,
  mode: mostly(fc.constantFrom<GuardMode>('full', 'full', 'readonly')),
  stopped: fc.constantFrom(undefined, undefined, undefined, 'stop'),
  rehearsal: fc.constantFrom(false, false, true),
  ownerRules: fc.array(
    fc.record(
      {
        tool: patterns,
        target: patterns,
        says: mostly(fc.constantFrom('trust', 'ask', 'forbid')),
      },
      { requiredKeys: ['says'] },
    ),
    { maxLength: 3 },
  ),
  inProfile: fc.constantFrom(true, true, false),
  limits: fc.oneof(
    fc.constant<LimitVerdict>({ ok: true }),
    fc.constant<LimitVerdict>({ ok: false, reasons: [{ rule: 'rate', message: 'x' }], retryAfterMs: 1 }),
  ),
  approval: fc.oneof(
    fc.constantFrom<CallApprovalStatus>(
      { state: 'none' },
      { state: 'requested', id: 'a' },
      { state: 'approved', id: 'a' },
      { state: 'granted', id: 'a' },
      { state: 'denied', id: 'a', why: 'no' },
    ),
    garbage.map((state) => ({ state }) as unknown as CallApprovalStatus),
  ),
  repeat: fc.boolean(),
})

/** A lawful call with up to six strange facts: with all of them strange, hardly any would get past the first reason. */
const inputs: fc.Arbitrary<PolicyInput> = fc
  .tuple(effects, arbitraryInput, fc.subarray(Object.keys(input('reads')) as (keyof PolicyInput)[], { maxLength: 6 }))
  .map(([effect, facts, taken]) => ({
    ...input(effect),
    ...Object.fromEntries(taken.map((fact) => [fact, facts[fact]])),
  }))

const RUNS = { numRuns: 3_000 }

/** An input for which the claim about its decision is wrong. */
function counterexample(holds: (given: PolicyInput, decision: PolicyDecision) => boolean): unknown {
  const found = fc.check(
    fc.property(inputs, (given) => holds(given, evaluatePolicy(given))),
    RUNS,
  )
  return found.failed ? found.counterexample : undefined
}

function allowedWrongly(holds: (given: PolicyInput, effect: Effect) => boolean): unknown {
  return counterexample((given, decision) => decision.verdict !== 'allow' || holds(given, decision.effect))
}

describe('policy for arbitrary input', () => {
  it('is tested with inputs that reach every verdict often', () => {
    const verdicts = fc.sample(inputs, { ...RUNS, seed: 1 }).map((given) => evaluatePolicy(given).verdict)
    const count = (wanted: string) => verdicts.filter((verdict) => verdict === wanted).length
    for (const verdict of ['allow', 'rehearse', 'deny', 'approval-required']) expect(count(verdict)).toBeGreaterThan(50)
  })

  it('never allows a change in read-only mode, in an unknown mode, or during an emergency stop', () => {
    expect(
      allowedWrongly(({ mode, stopped }, effect) => effect === 'reads' || (mode === 'full' && stopped === undefined)),
    ).toBeUndefined()
  })

  it('never allows or rehearses what the family refuses', () => {
    expect(
      counterexample(
        ({ assessment }, { verdict }) =>
          assessment.reasons.length === 0 || (verdict !== 'allow' && verdict !== 'rehearse'),
      ),
    ).toBeUndefined()
  })

  it('never allows a sensitive call without an approval, unless the owner trusts it', () => {
    expect(
      allowedWrongly(
        ({ approval, ownerRules, repeat }, effect) =>
          effect !== 'sensitive' ||
          repeat ||
          approval.state === 'approved' ||
          approval.state === 'granted' ||
          ownerRules.some((rule) => rule.says === 'trust'),
      ),
    ).toBeUndefined()
  })

  it('never allows an act by an observer, an approver, or an unknown role, level or kind', () => {
    expect(
      allowedWrongly(({ caller }, effect) => {
        if (caller.kind === 'principal')
          return caller.role === 'agent' || caller.role === 'admin' || (effect === 'reads' && isKnownRole(caller.role))
        if (caller.kind === 'peer') return ['member', 'trusted', 'anchor'].includes(caller.level)
        return caller.kind === 'service'
      }),
    ).toBeUndefined()
  })

  it('never allows what is outside the restrictions of a credential', () => {
    expect(
      allowedWrongly(({ caller, assessment, inProfile }, effect) => {
        const { effects, devices, profiles } = (caller.kind === 'principal' ? caller.restrictions : undefined) ?? {}
        if (effects !== undefined && !effects.includes(effect)) return false
        if (profiles !== undefined && !inProfile) return false
        if (devices === undefined || effect === 'reads' || effect === 'records') return true
        return assessment.target !== undefined && devices.length > 0
      }),
    ).toBeUndefined()
  })

  it('never acts in a dry run or a rehearsal, and rehearses only when a dry run was requested', () => {
    expect(
      counterexample((given, decision) => {
        if (decision.verdict === 'rehearse') return given.assessment.dryRun === true
        if (decision.verdict !== 'allow') return true
        return given.assessment.dryRun !== true && (!given.rehearsal || decision.effect === 'reads')
      }),
    ).toBeUndefined()
  })

  it('never allows a forbidden tool, an unknown effect, or more than the limits', () => {
    const known = new Set<string>(['reads', 'records', 'writes', 'sensitive', 'admin'])
    expect(
      allowedWrongly(({ ownerRules, assessment, offer, limits, repeat }) => {
        const says = ownerRules
          .filter(({ tool, target }) => tool === 'test.tool' && (target === undefined || target === assessment.target))
          .map((rule) => rule.says)
        if (!says.every((word) => word === 'trust' || word === 'ask')) return false
        return known.has(offer.effect) && known.has(assessment.effect) && (limits.ok || repeat)
      }),
    ).toBeUndefined()
  })

  it('always gives a reason for a refusal', () => {
    expect(counterexample((_, decision) => !('reasons' in decision) || decision.reasons.length > 0)).toBeUndefined()
  })
})

function isKnownRole(role: string): boolean {
  return ['observer', 'agent', 'approver', 'admin'].includes(role)
}
