/** Rows of the guard that somebody wrote who is not the guard: found when the ledger is verified. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { actuator, ADMIN, APPROVER, assessedOffer, callOf, GUARD_CONFIG, around } from '../../test/guard-house.ts'
import { openGuardLedger } from '../../test/guard-ledger.ts'
import type { GuardLedger } from '../../test/guard-ledger.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail } from '../core/result.ts'
import type { LedgerEvent } from '../ledger/entry.ts'
import { findingSentence } from '../ledger/finding.ts'
import type { GrantRequest } from './grant.ts'
import { createGuard } from './guard.ts'

const GRANT: GrantRequest = {
  target: 'same',
  bounds: { celsius: { min: 18, max: 22 } },
  free: ['mode'],
  maxUses: 5,
  durationMs: 3_600_000,
}
const heat = {
  ...assessedOffer('sensitive', (body) => ({
    target: `zone:${Number(body['zone'])}`,
    label: 'Living room',
    preview: { before: 18, after: body['celsius'] ?? null },
  })),
  name: 'test.heat',
}
/** What entries have said only since rows were held against them. */
const NEWER: Readonly<Record<string, readonly string[]>> = {
  'approval.requested': ['promise_hash', 'leaves_hash'],
  'approval.approved': ['expires_at'],
  'grant.created': ['definition_hash', 'policy_version', 'frame_hash'],
  'token.created': ['token_hash'],
}
const BODY = { zone: 1, celsius: 20, mode: 'day' }

const CONFIG = { ...GUARD_CONFIG, approvals: { ...GUARD_CONFIG.approvals, maxKept: 2 } }

let clock: GuardLedger['clock']
let database: GuardLedger['database']
let ledger: GuardLedger['ledger']
let guard: GuardLedger['guard']
let close: GuardLedger['close']
beforeEach(async () => {
  ;({ clock, database, ledger, guard, close } = await openGuardLedger(CONFIG))
})
afterEach(() => close())

async function tries(changes: JsonObject = {}): Promise<string> {
  const outcome = await around(guard, callOf(heat, { ...BODY, ...changes }), heat, actuator().proceed)
  if (outcome.ok) return 'acts'
  const id = outcome.fault.details?.['approval_id']
  return typeof id === 'string' ? id : outcome.fault.kind
}

async function approve(id: string, grant?: GrantRequest): Promise<void> {
  const approved = await guard.approvals.approve(id, APPROVER, grant === undefined ? {} : { grant })
  if (!approved.ok) throw new Error(approved.fault.message)
}

async function problems(): Promise<readonly string[]> {
  const { findings, compared } = await ledger.verify()
  expect(compared).toBe(true)
  return findings.map(findingSentence)
}

const tamper = (change: string): void => database.sql.exec(change)

/** A question that is open, and the yes with a grant that came before it. */
async function history(): Promise<{ readonly open: string; readonly granted: string }> {
  const granted = await tries()
  await approve(granted, GRANT)
  expect([await tries(), await tries({ celsius: 19 })]).toEqual(['acts', 'acts'])
  return { granted, open: await tries({ zone: 2 }) }
}

describe('rows of the guard, held against the ledger', () => {
  it('are in order after a long honest history', async () => {
    await history()
    const [denied, lapsed] = [await tries({ zone: 3 }), await tries({ zone: 4 })]
    await guard.approvals.deny(denied, APPROVER, 'Nobody is there')
    await approve(lapsed)
    // Used, and given back: another node asks its own people first.
    const askedOn = fail({ kind: 'approval-required', message: 'A person has to approve this there.' } as const)
    await around(guard, callOf(heat, { ...BODY, zone: 4 }), heat, async () => askedOn)
    expect(guard.approvals.get(lapsed)).toMatchObject({ state: 'approved' })
    await around(guard, callOf(heat, { ...BODY, celsius: 18 }), heat, async () => askedOn)
    expect(guard.grants.list()).toMatchObject([{ uses: 1 }])
    const [regretted, granted] = [await tries({ zone: 10 }), await tries({ zone: 11 })]
    await approve(regretted)
    await approve(granted, GRANT)
    for (const id of [regretted, granted]) await guard.approvals.deny(id, APPROVER, 'A mistake')
    expect(await problems()).toEqual([])
    clock.advance(700_000)
    await guard.sweep()
    // More than are kept: the oldest that are over go.
    for (const zone of [5, 6, 7, 8]) await guard.approvals.deny(await tries({ zone }), APPROVER, 'No')
    clock.advance(700_000)
    await tries({ zone: 9 })
    expect(guard.approvals.list({ state: 'denied' }).length).toBeLessThan(5)
    const [grant] = guard.grants.list()
    await guard.grants.end(grant?.id ?? '', ADMIN)
    await guard.tokens.create(ADMIN, {
      name: 'lamp',
      role: 'agent',
      ttlMs: 1_000,
      restrictions: { devices: ['lamp:a'] },
    })
    clock.advance(2_000)
    await guard.tokens.create(ADMIN, { name: 'lamp', role: 'observer' })
    await guard.tokens.create(ADMIN, { name: 'gone', role: 'agent' })
    await guard.tokens.revoke(ADMIN, 'gone')
    await guard.stop.engage(ADMIN, 'Smoke')
    expect(await problems()).toEqual([])
    await guard.stop.release(ADMIN)
    expect(await problems()).toEqual([])
  })

  it('are in order where a use was given back after the grant was used up, or was ended by somebody', async () => {
    await approve(await tries(), { ...GRANT, maxUses: 1 })
    const askedOn = fail({ kind: 'approval-required', message: 'A person has to approve this there.' } as const)
    const slowly = (meanwhile: () => Promise<unknown>) => async (): Promise<typeof askedOn> => {
      await meanwhile()
      return askedOn
    }
    const asks = callOf(heat, { ...BODY, celsius: 18 })
    await around(guard, asks, heat, slowly(guard.sweep))
    const [grant] = guard.grants.list()
    expect(grant).toMatchObject({ uses: 0, endedAtMs: undefined })
    expect(await problems()).toEqual([])
    await around(
      guard,
      asks,
      heat,
      slowly(() => guard.grants.end(grant?.id ?? '', ADMIN)),
    )
    expect(guard.grants.list('all')).toMatchObject([{ uses: 0, endedBecause: 'ended by owner' }])
    expect(await problems()).toEqual([])
  })

  it('contradict no entry of old, which says less', async () => {
    const appendIn = (event: LedgerEvent, body?: Json): { readonly seq: number } => {
      const fields = Object.entries(event).filter(([field]) => NEWER[event.kind]?.includes(field) !== true)
      return ledger.appendIn({ kind: event.kind, ...Object.fromEntries(fields) }, body)
    }
    guard = createGuard({ database, log: { appendIn }, clock, config: GUARD_CONFIG })
    const { open } = await history()
    await approve(open)
    await guard.tokens.create(ADMIN, { name: 'lamp', role: 'agent' })
    expect(await problems()).toEqual([])
    tamper(`UPDATE guard_grant SET max_uses = 1000`)
    expect(await problems()).toEqual([expect.stringMatching(/^The grant .*: max_uses\.$/)])
  })

  it('cannot be compared where the words were erased, and that is not wrong', async () => {
    const id = await tries()
    await guard.approvals.deny(id, APPROVER, 'Nobody is there')
    for (const seq of [0, 1]) expect(await ledger.eraseBody(seq)).toMatchObject({ ok: true })
    expect(await ledger.verify()).toMatchObject({ findings: [], uncompared: [] })
    tamper(`UPDATE guard_approval SET shown = json_set(shown, '$.label', 'Bathroom'), reason = 'Because.'`)
    expect(await ledger.verify()).toMatchObject({
      findings: [],
      uncompared: [
        `The approval ${id} cannot be compared (shown): the words of entry 0 were erased.`,
        `The approval ${id} cannot be compared (reason): the words of entry 1 were erased.`,
      ],
    })
  })

  it('are found out when a question says that somebody said yes', async () => {
    const { open } = await history()
    tamper(`UPDATE guard_approval SET state = 'approved', decided_by = 'anna', decided_at = 1 WHERE id = '${open}'`)
    expect(await tries({ zone: 2 })).toBe('acts')
    tamper(`UPDATE guard_approval SET reason = 'nothing happened here' WHERE id = '${open}'`)
    const [problem] = await problems()
    expect(problem).toMatch(`The approval ${open} is not what the ledger says`)
    expect(problem).toContain('decided_by')
  })

  it.each([
    ['state', `'approved'`],
    ['principal', `'another'`],
    ['tool', `'test.unlock'`],
    ['args_hash', `'00'`],
    ['binding', `json_set(binding, '$.target', 'zone:7')`],
    ['binding', `json_set(binding, '$.promiseHash', '00')`],
    ['binding', `'no JSON'`],
    ['leaves', `'{}'`],
    ['shown', `json_set(shown, '$.label', 'Bathroom')`],
    ['shown', `json_set(shown, '$.preview.after', 19)`],
    ['shown', `'no JSON'`],
    ['expires_at', 'expires_at + 1'],
    ['decided_by', `'anna'`],
    ['grant_id', `'01K'`],
    ['used_trace', `'01K'`],
    ['reason', `'Because.'`],
  ])('are found out when %s of a question was edited', async (column, value) => {
    const { open } = await history()
    tamper(`UPDATE guard_approval SET ${column} = ${value} WHERE id = '${open}'`)
    expect(await problems()).toEqual([
      expect.stringMatching(`^The approval ${open} is not what the ledger says \\(entry \\d+\\): ${column}\\.$`),
    ])
  })

  it('are found out when a yes was made to hold for longer', async () => {
    const { open } = await history()
    await approve(open)
    tamper(`UPDATE guard_approval SET expires_at = expires_at + 86400000 WHERE id = '${open}'`)
    expect(await problems()).toEqual([expect.stringContaining(`${open} is not what the ledger says`)])
  })

  it('are found out when a yes that was taken back is one again, or gone while the no holds', async () => {
    const { open } = await history()
    await approve(open)
    clock.advance(100_000)
    await guard.approvals.deny(open, APPROVER, 'A mistake')
    tamper(`UPDATE guard_approval SET state = 'approved', expires_at = expires_at + 1 WHERE id = '${open}'`)
    expect(await problems()).toEqual([expect.stringMatching(/: state, expires_at\.$/)])
    tamper(`DELETE FROM guard_approval WHERE id = '${open}'`)
    expect(await problems()).toEqual([expect.stringContaining(`The approval ${open} was removed`)])
  })

  it('are found out when a question, a yes or a no that still holds was removed', async () => {
    const { open } = await history()
    const denied = await tries({ zone: 3 })
    await guard.approvals.deny(denied, APPROVER, 'Nobody is there')
    tamper(`DELETE FROM guard_approval WHERE id IN ('${open}', '${denied}')`)
    expect(await problems()).toEqual([
      expect.stringMatching(`^The approval ${open} was removed; the ledger has it \\(entry \\d+\\)\\.$`),
      expect.stringMatching(`^The approval ${denied} was removed;`),
    ])
    clock.advance(700_000)
    expect(await problems()).toHaveLength(1)
  })

  it.each([
    ['principal', `'another'`],
    ['tool', `'test.unlock'`],
    ['target', 'NULL'],
    ['definition_hash', `'00'`],
    ['policy_version', `'00'`],
    ['frame', `'{}'`],
    ['bounds', `'{"/celsius":{"min":5,"max":90}}'`],
    ['free', `'["/mode","/zone"]'`],
    ['approval_id', `'01K'`],
    ['granted_by', `'owner'`],
    ['expires_at', 'expires_at + 1'],
    ['max_uses', '1000'],
    ['uses', '0'],
    ['ended_because', `'used up'`],
  ])('are found out when %s of a grant was edited', async (column, value) => {
    await history()
    const [grant] = guard.grants.list()
    tamper(`UPDATE guard_grant SET ${column} = ${value}`)
    expect(await problems()).toEqual([
      expect.stringMatching(`^The grant ${grant?.id} is not what the ledger says \\(entry \\d+\\): ${column}\\.$`),
    ])
  })

  it('are found out when a grant was added, or came back after its end', async () => {
    await history()
    const [{ id } = { id: '' }] = guard.grants.list()
    const columns = 'principal, tool, target, definition_hash, policy_version, frame, bounds, free, approval_id'
    const more = 'granted_by, granted_at, expires_at, max_uses, uses'
    tamper(`INSERT INTO guard_grant (id, ${columns}, ${more}) SELECT 'intruder', ${columns}, ${more} FROM guard_grant`)
    expect(await problems()).toEqual(['The grant intruder was added; the ledger does not have it.'])
    tamper(`DELETE FROM guard_grant WHERE id = 'intruder'`)
    await guard.grants.end(id, ADMIN)
    tamper('UPDATE guard_grant SET ended_at = NULL, ended_because = NULL')
    expect(await problems()).toEqual([expect.stringMatching(`^The grant ${id} is not.*: ended_at, ended_because\\.$`)])
  })

  it.each([
    ['hash', 'randomblob(32)'],
    ['role', `'admin'`],
    ['restrictions', 'NULL'],
    ['created_by', `'nobody'`],
    ['expires_at', 'NULL'],
  ])('are found out when %s of a token was edited', async (column, value) => {
    const restrictions = { effects: ['reads'] } as const
    await guard.tokens.create(ADMIN, { name: 'lamp', role: 'agent', ttlMs: 60_000, restrictions })
    tamper(`UPDATE guard_token SET ${column} = ${value}`)
    expect(await problems()).toEqual([`The token lamp is not what the ledger says (entry 0): ${column}.`])
  })

  it('are found out when a token was added, made good again, or removed', async () => {
    for (const name of ['lamp', 'cut']) await guard.tokens.create(ADMIN, { name, role: 'agent' })
    await guard.tokens.revoke(ADMIN, 'lamp')
    tamper(`UPDATE guard_token SET revoked_at = NULL WHERE name = 'lamp'`)
    tamper(
      `INSERT INTO guard_token (hash, name, role, created_at, created_by) VALUES (x'00', 'eve', 'admin', 1, 'owner')`,
    )
    tamper(`DELETE FROM guard_token WHERE name = 'cut'`)
    expect(await problems()).toEqual([
      'The token lamp is not what the ledger says (entry 2): revoked_at.',
      'The token eve was added; the ledger does not have it.',
      'The token cut was removed; the ledger has it (entry 1).',
    ])
  })

  it('are found out when the emergency stop was released by nobody', async () => {
    await guard.stop.engage(ADMIN, 'Smoke')
    tamper(`UPDATE guard_stop SET reason = 'A test'`)
    expect(await problems()).toEqual(['The emergency stop is not what the ledger says (entry 0): reason.'])
    tamper('DELETE FROM guard_stop')
    expect(await problems()).toEqual(['The emergency stop was removed; the ledger has it (entry 0).'])
  })
})
