/** Reputation as the guard uses it: a low score asks a person more often, and never less. */
import { describe, expect, it } from 'vitest'
import type { Caller } from '../src/bus/call.ts'
import type { LedgerEntry, StoredEntry } from '../src/ledger/entry.ts'
import { isApprovalNeeded, evaluatePolicy } from '../src/guard/policy.ts'
import type { PolicyInput } from '../src/guard/policy.ts'
import { createLowReputationPredicate } from '../src/main/low-reputation-predicate.ts'

const AGENT: Caller = { kind: 'principal', id: 'claude', role: 'agent' }

function ledgerOf(entries: LedgerEntry[]) {
  return {
    size: () => entries.length,
    entries: (from: number, limit: number) =>
      entries.slice(from, from + limit).map((entry) => ({ entry }) as unknown as StoredEntry),
  }
}

function denial(seq: number, principal: string): LedgerEntry {
  return {
    v: 1,
    seq,
    at: '2026-01-01T00:00:00.000Z',
    kind: 'approval.denied',
    approval: `${seq}`,
    principal,
    by: 'owner',
  }
}

describe('low reputation', () => {
  it('applies to a caller after a person denied it a request, and never to admins and services', () => {
    const entries: LedgerEntry[] = []
    const distrusts = createLowReputationPredicate(ledgerOf(entries), 4_000)
    expect(distrusts(AGENT)).toBe(false)
    entries.push(denial(0, 'claude'), denial(1, 'owner'), denial(2, 'peer:ed25519:aa/bob'))
    // 5000 − 1500.
    expect(distrusts(AGENT)).toBe(true)
    expect(distrusts({ ...AGENT, id: 'codex' })).toBe(false)
    expect(distrusts({ kind: 'principal', id: 'owner', role: 'admin' })).toBe(false)
    expect(distrusts({ kind: 'service', id: 'x' })).toBe(false)
    // A node answers for everybody it speaks for.
    expect(distrusts({ kind: 'peer', id: 'ed25519:aa', level: 'trusted', actor: 'eva' })).toBe(true)
  })

  it('applies to new callers when the threshold is above neutral', () => {
    expect(createLowReputationPredicate(ledgerOf([]), 5_001)(AGENT)).toBe(true)
    expect(createLowReputationPredicate(ledgerOf([]), 5_000)(AGENT)).toBe(false)
  })

  it('only adds approval requests, and never removes one', () => {
    for (const effect of ['reads', 'records', 'writes', 'sensitive', 'admin'] as const)
      for (const word of [undefined, 'ask', 'trust', 'forbid'] as const)
        expect(isApprovalNeeded(effect, word, true) || !isApprovalNeeded(effect, word, false)).toBe(true)
    const input: PolicyInput = {
      offer: { name: 'x', effect: 'writes', trustRequired: 'trusted' },
      assessment: { effect: 'writes', reasons: [] },
      caller: AGENT,
      mode: 'full',
      stopped: undefined,
      rehearsal: false,
      ownerRules: [],
      inProfile: true,
      limits: { ok: true },
      approval: { state: 'none' },
      repeat: false,
    }
    expect(evaluatePolicy(input)).toMatchObject({ verdict: 'allow', needsApproval: false })
    expect(evaluatePolicy({ ...input, isDistrusted: true })).toMatchObject({ verdict: 'approval-required' })
    const approved = { state: 'approved', id: 'a' } as const
    expect(evaluatePolicy({ ...input, isDistrusted: true, approval: approved })).toMatchObject({ verdict: 'allow' })
    expect(evaluatePolicy({ ...input, isDistrusted: true, mode: 'readonly' })).toMatchObject({ verdict: 'deny' })
    const reads = { offer: { ...input.offer, effect: 'reads' }, assessment: { effect: 'reads', reasons: [] } } as const
    expect(evaluatePolicy({ ...input, ...reads, isDistrusted: true })).toMatchObject({ verdict: 'allow' })
  })
})
