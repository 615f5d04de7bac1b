import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runtimeRig } from '../../../test/runtime-rig.ts'
import type { Rig } from '../../../test/runtime-rig.ts'
import { ReputationEvidenceReader } from './evidence.ts'
import { REPUTATION_FORMULA } from './formula.ts'
import { applyReputationChange, computeDecayedScore, createNeutralScore } from './score.ts'

let rig: Rig
beforeEach(async () => {
  rig = await runtimeRig()
})
afterEach(() => rig.close())

describe('reputation tools', () => {
  it('answer in the shape of the original server, with the ledger size, the epoch and the formula hash', async () => {
    await rig.through('task_create', { title: 'x' })
    const asOf = { epoch: 20_454, as_of_size: 3, formula_hash: expect.stringMatching(/^[0-9a-f]{64}$/) }
    // 2026-01-01 is day 20454 since 1970 (date -d 2026-01-01 +%s, by 86400).
    const row = {
      node_id: 'agent:tester',
      domain: 'execution',
      score: 5_020,
      scar_bps: 0,
      ban_until_epoch: 0,
      last_activity_epoch: 20_454,
    }
    expect(await rig.data('reputation_get', { node_id: 'agent:tester' })).toEqual({ rows: [row], ...asOf })
    expect(await rig.data('reputation_get', { node_id: 'agent:tester', domain: 'execution' })).toEqual({ row, ...asOf })
    expect(await rig.data('reputation_get', { node_id: 'agent:nobody', domain: 'social' })).toEqual({
      row: null,
      ...asOf,
    })
    expect(await rig.data('reputation_get', { node_id: 'agent:nobody' })).toEqual({ rows: [], ...asOf })
    const history = { node_id: 'agent:tester', domain: 'execution' }
    expect(await rig.data('reputation_history', history)).toEqual({
      ...history,
      events: [
        {
          id: '2:record-done',
          event: 'record-done',
          log_index: 2,
          epoch: 20_454,
          at: '2026-01-01T00:00:00.000Z',
          delta_bps: 20,
          score: 5_020,
        },
      ],
      total: 1,
      omitted: 0,
      ...asOf,
    })
    expect(await rig.data('reputation_check_gates', { node_id: 'agent:tester' })).toMatchObject({
      gates: {
        max_parallel_tasks: 20,
        rate_limit_bonus: 12,
        stake_discount_bps: 2_510,
        can_arbitrate: false,
        can_govern: true,
      },
      scores: { execution: 5_020, social: 5_000 },
      banned_until_epoch: null,
    })
  })

  it('refuse a current_epoch that differs from the epoch of the ledger', async () => {
    await rig.through('task_create', { title: 'x' })
    for (const [tool, args] of [
      ['reputation_get', { node_id: 'agent:tester' }],
      ['reputation_leaderboard', { domain: 'execution' }],
      ['reputation_check_gates', { node_id: 'agent:tester' }],
    ] as const) {
      await rig.data(tool, { ...args, current_epoch: 20_454 })
      for (const epoch of [0, 20_453, 20_455])
        expect(await rig.answer(tool, { ...args, current_epoch: epoch })).toMatchObject({
          isError: true,
          structured: {
            ok: false,
            error: {
              code: 'HANDLER_ERROR',
              message: expect.stringMatching(/^EPOCH_MISMATCH: /),
              details: { epoch: 20_454 },
            },
          },
        })
    }
  })

  it.each([
    ['reputation_get', {}],
    ['reputation_get', { node_id: 'x', domain: 'cooking' }],
    ['reputation_get', { node_id: 'x', current_epoch: -1 }],
    ['reputation_history', { node_id: 'x' }],
    ['reputation_history', { node_id: 'x', domain: 'social', limit: 501 }],
    ['reputation_history', { node_id: 'x', domain: 'social', offset: -1 }],
    ['reputation_leaderboard', { domain: 'social', limit: 1_001 }],
    ['reputation_check_gates', { node_id: 'x', colour: 'red' }],
  ])('refuse %s with the arguments %o as failure pattern A', async (tool, args) => {
    expect(await rig.answer(tool, args)).toMatchObject({
      isError: true,
      structured: { error: { code: 'INVALID_PARAMS' } },
    })
  })

  it('report the same events after the bodies of the entries were erased', async () => {
    await rig.through('task_create', { title: 'x' })
    const before = await rig.data('reputation_history', { node_id: 'agent:tester', domain: 'execution' })
    for (const seq of [0, 1, 2]) await rig.ledger.eraseBody(seq)
    const after = await rig.data('reputation_history', { node_id: 'agent:tester', domain: 'execution' })
    expect(after['events']).toEqual(before['events'])
  })
})

describe('reputation score', () => {
  it('has a limited gain per epoch and an unlimited loss', () => {
    let score = createNeutralScore(7)
    for (let count = 0; count < 9; count++)
      score = applyReputationChange(score, { rule: 'call-done', domain: 'execution', delta: 100, epoch: 7 }).after
    expect(score.score).toBe(5_500)
    score = applyReputationChange(score, { rule: 'call-refused', domain: 'execution', delta: -100, epoch: 7 }).after
    expect(applyReputationChange(score, { rule: 'call-done', domain: 'execution', delta: 100, epoch: 7 }).counted).toBe(
      0,
    )
    // 400 over neutral, less a twentieth: 380, and then 100 more.
    expect(
      applyReputationChange(score, { rule: 'call-done', domain: 'execution', delta: 100, epoch: 8 }).after.score,
    ).toBe(5_480)
  })

  it('decays to neutral from above and from below', () => {
    for (const score of [0, 10_000]) {
      const old = { ...createNeutralScore(0), score }
      expect(computeDecayedScore(old, 'governance', 100_000)).toBe(REPUTATION_FORMULA.neutral)
      expect(computeDecayedScore(old, 'governance', 0)).toBe(score)
    }
  })

  it('keeps a permanent scar after one fraud, which limits it to half', () => {
    const { after } = applyReputationChange(createNeutralScore(3), {
      rule: 'equivocated',
      domain: 'arbitration',
      delta: -10_000,
      epoch: 3,
    })
    expect(after).toEqual({ score: 0, scarBps: 5_000, banUntilEpoch: 103, lastActivityEpoch: 3, gained: 0 })
    let score = after
    for (let epoch = 4; epoch < 300; epoch++)
      score = applyReputationChange(score, { rule: 'vote-cast', domain: 'arbitration', delta: 200, epoch }).after
    expect(score.score).toBe(5_000)
  })

  it('stays at zero permanently after a second fraud', () => {
    const fraud = { rule: 'equivocated', domain: 'arbitration', delta: -10_000 } as const
    const once = applyReputationChange(createNeutralScore(3), { ...fraud, epoch: 3 }).after
    const twice = applyReputationChange(once, { ...fraud, epoch: 4 }).after
    // Facts 3.1: the ceiling is 10000 less the scar.
    expect([twice.scarBps, computeDecayedScore(twice, 'arbitration', 100_000)]).toEqual([10_000, 0])
    expect(computeDecayedScore(once, 'arbitration', 100_000)).toBe(5_000)
  })

  it('does not rise with an approval that a call gave back unused', () => {
    const reader = new ReputationEvidenceReader()
    const given = {
      v: 1,
      seq: 1,
      at: '2026-01-01T00:00:00.000Z',
      kind: 'approval.approved',
      principal: 'claude',
    } as const
    expect(reader.read({ ...given, by: 'anna' }, 1)).toHaveLength(2)
    expect(reader.read({ ...given, given_back_by: 'trace' }, 1)).toEqual([])
  })
})
