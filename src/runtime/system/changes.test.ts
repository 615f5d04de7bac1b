import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answering, echo } from '../../../test/bus-village.ts'
import { ADMIN } from '../../../test/guard-house.ts'
import { runtimeRig } from '../../../test/runtime-rig.ts'
import type { Rig } from '../../../test/runtime-rig.ts'
import type { Caller, LateOutcomeRecorder } from '../../bus/call.ts'
import type { CallAssessment } from '../../bus/capability.ts'
import type { TaskOrSessionReference } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail } from '../../core/result.ts'
import type { LedgerEvent } from '../../ledger/entry.ts'

const CLAUDE: Caller = { kind: 'principal', id: 'claude', role: 'agent', client: 'Desktop' }
const KITCHEN: Caller = { kind: 'peer', id: 'ed25519:kitchen', level: 'trusted', actor: 'claude' }
const lamp = (more: Partial<CallAssessment> = {}): CallAssessment => ({
  effect: 'writes',
  target: 'lamp:7',
  label: 'Desk lamp (Study)',
  reasons: [],
  ...more,
})

let rig: Rig
let late: LateOutcomeRecorder | undefined
beforeEach(async () => {
  rig = await runtimeRig()
  const shown = { name: 'light.set', title: 'Set a lamp', effect: 'writes', trustRequired: 'member' } as const
  rig.bus.registerCapability(
    answering(
      {
        ...shown,
        assess: ({ body }) =>
          lamp({
            ...(body['dryRun'] === true ? { dryRun: true } : {}),
            ...(typeof body['key'] === 'string' ? { idempotencyKey: body['key'] } : {}),
          }),
      },
      async ({ body, recordLateOutcome }) => {
        late = recordLateOutcome
        if (body['lost'] === true) return fail({ kind: 'unknown-outcome', message: 'No answer.' })
        if (body['away'] === true) return fail({ kind: 'offline', message: 'The lamp is away.' })
        if (body['broken'] === true) return fail({ kind: 'failed', code: 'BULB', message: 'The bulb is broken.' })
        return { ok: true, value: { data: { before: { on: false }, after: { on: true }, noise: 'much' } } }
      },
    ),
  )
  rig.bus.registerCapability(
    answering({ name: 'light.look', effect: 'writes', assess: () => ({ effect: 'reads', reasons: [] }) }, echo),
  )
  rig.bus.registerCapability(
    answering(
      {
        name: 'door.open',
        title: 'Open a door',
        effect: 'sensitive',
        assess: () => lamp({ effect: 'sensitive', target: 'door:1' }),
      },
      echo,
    ),
  )
  rig.bus.registerCapability(answering({ name: 'light.read' }, echo))
})
afterEach(() => rig.close())

async function changes(args: JsonObject = {}, caller: Caller = CLAUDE): Promise<readonly JsonObject[]> {
  return (await rig.data('ledger_changes', args, { caller }))['changes'] as JsonObject[]
}

function open(door = 1): ReturnType<Rig['through']> {
  return rig.through('door.open', { door }, { caller: CLAUDE })
}

async function approvalId(door?: number): Promise<string> {
  const outcome = await open(door)
  const id = outcome.ok ? undefined : outcome.fault.details?.['approval_id']
  if (typeof id !== 'string') throw new Error('nobody was asked')
  return id
}

describe('ledger_changes', () => {
  it('reports a late outcome of a call in addition to its recorded end', async () => {
    await rig.through('light.set', { broken: true }, { caller: CLAUDE })
    expect(await changes()).toMatchObject([{ result: 'failed', code: 'BULB' }])
    expect(await late?.({ outcome: 'reached', source: 'push', observed: { on: true }, message: 'It glows.' })).toBe(
      true,
    )
    const [change] = await changes()
    expect(change).toMatchObject({
      result: 'done',
      code: 'BULB',
      later: { outcome: 'reached', source: 'push', observed: { on: true }, message: 'It glows.' },
    })
    // The newest counts: it went out again.
    expect(await late?.({ outcome: 'not-reached', source: 'read' })).toBe(true)
    expect(await changes()).toMatchObject([{ result: 'failed', later: { outcome: 'not-reached', source: 'read' } }])
    // The rig lets nobody in; of the outcomes nothing is found.
    expect((await rig.ledger.verify()).findings.filter(({ kind }) => kind !== 'entry-unlawful')).toEqual([])
  })

  it('filters by task and by session', async () => {
    const setLight = (work: TaskOrSessionReference) => rig.through('light.set', {}, { caller: CLAUDE, work })
    await setLight({ taskId: 'a', sessionId: 's' })
    await setLight({ taskId: 'b', sessionId: 's' })
    await rig.through('light.set', {}, { caller: CLAUDE })
    expect(await changes({ task_id: 'a' })).toMatchObject([{ task_id: 'a', session_id: 's' }])
    expect(await changes({ session_id: 's' })).toMatchObject([{ task_id: 'b' }, { task_id: 'a' }])
    expect(await changes({ session_id: 's', task_id: 'b' })).toHaveLength(1)
    expect(await changes({ task_id: 's' })).toEqual([])
    expect(await changes()).toHaveLength(3)
  })

  it('refuses an outcome entry for a call that has not ended or does not exist', async () => {
    const record = (event: LedgerEvent): Promise<unknown> => rig.ledger.append(event)
    await expect(record({ kind: 'call.outcome', call: 0, outcome: 'reached' })).rejects.toThrow(
      'no call that has ended',
    )
    await expect(record({ kind: 'call.outcome', outcome: 'reached' })).rejects.toThrow('no call that has ended')
    const { seq } = (await record({ kind: 'call.enter', tool: 'x', principal: 'claude' })) as { readonly seq: number }
    await expect(record({ kind: 'call.outcome', call: seq, outcome: 'reached' })).rejects.toThrow('has ended')
    await record({ kind: 'call.exit', call: seq, outcome: 'ok' })
    await record({ kind: 'call.outcome', call: seq, outcome: 'reached' })
    await expect(record({ kind: 'call.outcome', call: 1e9, outcome: 'reached' })).rejects.toThrow('has ended')
  })

  it('lists time, caller, tool, target, values before and after, result and ledger index', async () => {
    rig.clock.advance(1_000)
    await rig.through(
      'light.set',
      { lamp: 7, password: 'hunter2' },
      { caller: CLAUDE, traceId: '01K9Z3N8QK6R3M0V6V5A8B4C2E' },
    )
    expect(await rig.data('ledger_changes')).toEqual({
      now: '2026-01-01T00:00:01.000Z',
      changes: [
        {
          log_index: 0,
          // Between them is the entry that counts the use of the lamp.
          end_log_index: 2,
          at: '2026-01-01T00:00:01.000Z',
          caller: 'claude',
          client: 'Desktop',
          channel: 'api',
          capability: 'light.set',
          title: 'Set a lamp',
          family: 'bus',
          effect: 'writes',
          target: 'lamp:7',
          label: 'Desk lamp (Study)',
          arguments: { lamp: 7, password: '[redacted]' },
          result: 'done',
          before: { on: false },
          after: { on: true },
          trace_id: '01K9Z3N8QK6R3M0V6V5A8B4C2E',
        },
      ],
    })
  })

  it('includes a short answer without before and after values, but not a long one', async () => {
    const answers = [true, 'x'.repeat(1_500)]
    rig.bus.registerCapability(
      answering({ name: 'light.blink', effect: 'writes' }, async () => ({
        ok: true,
        value: { data: answers.shift() ?? null },
      })),
    )
    for (const _ of [1, 2]) await rig.through('light.blink')
    const [long, short] = await changes()
    expect(long).not.toHaveProperty('answer')
    expect(short).toMatchObject({ answer: true })
  })

  it('leaves out calls that only read, wrote a record or were not offered', async () => {
    for (const tool of ['light.read', 'light.look', 'light.nowhere']) await rig.through(tool)
    await rig.through('task_create', { title: 'x' })
    expect(await changes()).toEqual([])
  })

  it.each([
    [{ dryRun: true }, { result: 'planned' }],
    [{ lost: true }, { result: 'unknown', code: 'unknown-outcome' }],
    [{ away: true }, { result: 'refused', code: 'offline' }],
    [{ broken: true }, { result: 'failed', code: 'BULB' }],
  ])('lists a call with %j with its result', async (args, expected) => {
    await rig.through('light.set', args)
    expect(await changes()).toMatchObject([expected])
  })

  it('marks the replay of an earlier answer as repeated, not as done', async () => {
    for (const _ of [1, 2]) await rig.through('light.set', { key: 'once' })
    for (const _ of [1, 2]) await rig.through('light.set', { key: 'not at all', broken: true })
    expect((await changes()).map(({ result }) => result)).toEqual(['repeated', 'failed', 'repeated', 'done'])
  })

  it('tells a running call from one that a crash aborted', async () => {
    await rig.ledger.append({ kind: 'call.enter', tool: 'light.set', principal: 'claude', effect: 'writes' })
    expect(await changes()).toMatchObject([{ result: 'running', log_index: 0 }])
    await rig.ledger.abortOpenCalls()
    expect(await changes()).toMatchObject([{ result: 'unknown', end_log_index: 1 }])
  })

  it('lists a refused call with its rules and their reasons', async () => {
    await rig.through('light.set', {}, { caller: { kind: 'principal', id: 'screen', role: 'observer' } })
    expect(await changes()).toMatchObject([
      {
        caller: 'screen',
        result: 'refused',
        rules: ['role'],
        reasons: ['The role observer does not cover the effect writes.'],
      },
    ])
  })

  it('lists a requested approval, the decision, and who approved the call that used it', async () => {
    const id = await approvalId()
    expect(await changes()).toMatchObject([{ result: 'asked', approval: { id, state: 'requested' }, target: 'door:1' }])
    await rig.guard.approvals.approve(id, ADMIN)
    await open()
    const used = { id, state: 'used', by: 'owner' }
    expect(await changes()).toMatchObject([
      { result: 'done', caller: 'claude', approval: used },
      {
        result: 'done',
        caller: 'owner',
        capability: 'approval.approved',
        family: 'node',
        arguments: { tool: 'door.open' },
      },
      { result: 'asked', caller: 'claude', approval: used },
    ])
  })

  it('lists a denial with its reason, and the giver of a grant with each call that used it', async () => {
    await rig.guard.approvals.deny(await approvalId(), ADMIN, 'Not at night.')
    expect(await changes()).toMatchObject([
      { caller: 'owner', title: 'A person said no', target: 'door:1', arguments: { reason: 'Not at night.' } },
      { result: 'asked', approval: { state: 'denied', by: 'owner' } },
    ])
    const id = await approvalId(2)
    const grant = { durationMs: 60_000, maxUses: 2, bounds: {}, free: [], target: 'same' } as const
    expect(await rig.guard.approvals.approve(id, ADMIN, { grant })).toMatchObject({ ok: true })
    for (const _ of [1, 2]) await open(2)
    expect(await changes({ limit: 1 })).toMatchObject([{ result: 'done', grant: { by: 'owner' } }])
  })

  it('lists a revoked grant with the person who revoked it, but not a used-up grant', async () => {
    const grant = { durationMs: 60_000, maxUses: 1, bounds: {}, free: [], target: 'same' } as const
    await rig.guard.approvals.approve(await approvalId(1), ADMIN, { grant })
    for (const _ of [1, 2]) await open(1)
    await rig.guard.sweep()
    await rig.guard.approvals.approve(await approvalId(2), ADMIN, { grant: { ...grant, maxUses: 2 } })
    const [second] = rig.guard.grants.list()
    expect(await rig.guard.grants.end(second?.id ?? '', ADMIN)).toMatchObject({ ok: true })
    expect(rig.entries('grant.ended').map(({ because }) => because)).toEqual(['used up', 'ended by owner'])
    expect(await changes({ text: 'grant.ended' })).toMatchObject([
      {
        title: 'A person took back a yes to calls to come',
        caller: 'owner',
        target: 'door:1',
        arguments: { grant: second?.id, tool: 'door.open', principal: 'claude', because: 'ended by owner' },
      },
    ])
  })

  it('lists administrative changes such as tokens and the emergency stop, without secrets', async () => {
    await rig.guard.tokens.create(ADMIN, { name: 'tablet', role: 'observer' })
    await rig.guard.stop.engage(ADMIN, 'Smoke.')
    const listed = await changes({ family: 'node' })
    expect(listed).toMatchObject([
      { caller: 'owner', title: 'Everything was stopped', arguments: { reason: 'Smoke.' } },
      { caller: 'owner', title: 'A token was made', target: 'tablet', arguments: { name: 'tablet', role: 'observer' } },
    ])
    expect(JSON.stringify(listed)).not.toMatch(/hash/)
  })

  it('hides recorded bodies from another node, in its answers and in its filters', async () => {
    await rig.through('light.set', { lamp: 7, note: 'Anna sleeps' }, { caller: CLAUDE })
    const [change] = await changes({}, KITCHEN)
    expect(change).toMatchObject({ capability: 'light.set', caller: 'claude', target: 'lamp:7', result: 'done' })
    for (const word of ['arguments', 'label', 'before', 'after']) expect(change).not.toHaveProperty(word)
    expect(await changes({ text: 'sleeps' }, KITCHEN)).toEqual([])
    expect(await changes({ text: 'sleeps' })).toHaveLength(1)
  })

  it('names the calling node and the actor that it calls for', async () => {
    await rig.through('light.set', {}, { caller: KITCHEN, channel: 'mesh' })
    expect(await changes()).toMatchObject([
      { caller: 'peer:ed25519:kitchen/claude', actor: 'claude', channel: 'mesh', result: 'done' },
    ])
    for (const caller of ['peer:ed25519:kitchen', 'peer:ed25519:kitchen/claude', 'claude'])
      expect(await changes({ caller })).toHaveLength(1)
    expect(await changes({ caller: 'peer:ed25519:attic' })).toEqual([])
  })

  it('derives the family of a removed tool from the remaining names with the same prefix', async () => {
    await rig.through('light.set', {})
    rig.bus.deregister('light.set', [1, 0])
    expect(await changes({ family: 'bus' })).toMatchObject([{ title: 'light.set' }])
    for (const name of ['light.look', 'light.read']) rig.bus.deregister(name, [1, 0])
    expect(await changes()).toMatchObject([{ family: null }])
  })

  it('leaves out erased arguments and keeps the rest', async () => {
    await rig.through('light.set', { note: 'Anna sleeps' })
    for (const seq of [0, 2]) await rig.ledger.eraseBody(seq)
    const [change] = await changes({ family: 'bus' })
    expect(change).toMatchObject({ capability: 'light.set', target: 'lamp:7', result: 'done' })
    expect(change).not.toHaveProperty('arguments')
  })
})

describe('filters of ledger_changes', () => {
  it('select by time, caller, result, family and text', async () => {
    await rig.through('light.set', { lamp: 7, room: 'Study' })
    rig.clock.advance(3_600_000)
    await rig.through('light.set', { lamp: 8, broken: true }, { caller: CLAUDE })
    const at = async (args: JsonObject): Promise<unknown[]> => (await changes(args)).map(({ log_index }) => log_index)
    expect(await at({})).toEqual([3, 0])
    expect(await at({ since: '2026-01-01T02:00:00+01:00' })).toEqual([3])
    expect(await at({ until: '2026-01-01T01:00:00Z' })).toEqual([0])
    expect(await at({ caller: 'Desktop' })).toEqual([3])
    expect(await at({ result: 'failed' })).toEqual([3])
    expect(await at({ text: 'study' })).toEqual([3, 0])
    expect(await at({ text: '"room"' })).toEqual([0])
    expect(await at({ family: 'homeseer' })).toEqual([])
    expect(await rig.error('ledger_changes', { since: 'yesterday' })).toMatchObject({ code: 'INVALID_PARAMS' })
  })

  it('return every change exactly once across pages, even if more are recorded meanwhile', async () => {
    for (let lampNumber = 0; lampNumber < 5; lampNumber++) await rig.through('light.set', { lampNumber })
    const seen: unknown[] = []
    let cursor: string | undefined
    do {
      const answered = await rig.data('ledger_changes', { limit: 2, ...(cursor === undefined ? {} : { cursor }) })
      seen.push(...(answered['changes'] as JsonObject[]).map(({ log_index }) => log_index))
      cursor = answered['next_cursor'] as string | undefined
      await rig.through('light.read')
    } while (cursor !== undefined)
    expect(seen).toEqual([12, 9, 6, 3, 0])
    const first = await rig.data('ledger_changes', { limit: 2 })
    expect(
      await rig.error('ledger_changes', { limit: 2, result: 'done', cursor: String(first['next_cursor']) }),
    ).toMatchObject({ code: 'INVALID_PARAMS' })
  })

  it('scan at most 2,000 entries per call and return a cursor for the rest', async () => {
    await rig.through('light.set', { lamp: 7 })
    await rig.database.commit(() => {
      for (let count = 0; count < 2_000; count++)
        rig.ledger.appendIn({ kind: 'call.enter', tool: 'x', principal: 'claude', effect: 'writes' })
    })
    const first = await rig.data('ledger_changes', { caller: 'tester' })
    expect(first['changes']).toEqual([])
    const next = await rig.data('ledger_changes', { caller: 'tester', cursor: String(first['next_cursor']) })
    expect(next).toMatchObject({ changes: [{ log_index: 0 }] })
    expect(next).not.toHaveProperty('next_cursor')
  })

  it('end a page early when the entries are long', async () => {
    const note = 'n'.repeat(2_000)
    const long = Object.fromEntries(Array.from({ length: 3 }, (_, index) => [`note${index}`, note]))
    await rig.database.commit(() => {
      for (let count = 0; count < 60; count++)
        rig.ledger.appendIn({ kind: 'call.enter', tool: 'x', principal: 'claude', effect: 'writes' }, { args: long })
    })
    const { changes: page, next_cursor: cursor } = await rig.data('ledger_changes')
    expect((page as unknown[]).length).toBeLessThan(20)
    expect(cursor).toEqual(expect.any(String))
  })
})
