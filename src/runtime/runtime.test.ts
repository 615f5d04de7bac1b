import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { recordedActions } from '../../test/recorded-calls.ts'
import { plantTasks } from '../../test/planted-task.ts'
import { runtimeRig } from '../../test/runtime-rig.ts'
import type { Rig } from '../../test/runtime-rig.ts'
import type { Caller } from '../bus/call.ts'

const FOURTEEN = [
  'audit_session_start',
  'audit_verify_chain',
  'merkle_finalize',
  'merkle_root',
  'server_health',
  'server_ping',
  'skill_list',
  'task_create',
  'task_get',
  'task_list',
  'task_next_actions',
  'task_update',
  'thought_record',
  'thought_record_list',
]
const BEYOND = [
  'audit_export',
  'audited_work',
  'hearthbus://runtime/audited-work',
  'agent_key_list',
  'agent_key_set',
  'audit_session_list',
  'bus_stats',
  'bus_topology',
  'bus_traces',
  'consensus_finality',
  'consensus_gossip',
  'consensus_propose',
  'consensus_vote',
  'ledger_changes',
  'ledger_checkpoint',
  'ledger_consistency',
  'ledger_proof',
  'ledger_trace',
  'ledger_verify',
  'reputation_check_gates',
  'reputation_get',
  'reputation_history',
  'reputation_leaderboard',
  'router_call',
  'router_fallback',
  'router_score',
  'router_stats',
  'skill://name',
  'skill://name/file',
  'skill_get',
  'vrf_eval',
  'vrf_verify',
]
const RECORDS = [
  'audit_session_start',
  'consensus_gossip',
  'consensus_propose',
  'consensus_vote',
  'merkle_finalize',
  'router_fallback',
  'task_create',
  'task_update',
  'thought_record',
]

let rig: Rig
beforeEach(async () => {
  rig = await runtimeRig()
})
afterEach(() => rig.close())

function offers() {
  return rig.service.capabilities().map(({ offer }) => offer)
}

describe('runtime service', () => {
  it('offers the fourteen tools of spec 5 and the additional ones', () => {
    expect(
      offers()
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual([...FOURTEEN, ...BEYOND].toSorted())
  })

  it('declares the effect records for exactly the tools that write records', () => {
    const records = offers().filter(({ effect }) => effect === 'records')
    expect(records.map(({ name }) => name).toSorted()).toEqual(RECORDS)
    const others = offers().filter(({ effect, name }) => effect !== 'reads' && !RECORDS.includes(name))
    expect(others.map(({ name, effect }) => [name, effect])).toEqual([
      ['agent_key_set', 'admin'],
      ['router_call', 'writes'],
    ])
  })

  it('gives all handlers one lock, except router_call and ledger_verify', () => {
    expect(
      offers()
        .filter(({ lock }) => lock !== 'runtime')
        .map(({ name, lock }) => [name, lock]),
    ).toEqual([
      ['ledger_verify', 'runtime:verify'],
      ['router_call', undefined],
    ])
  })

  it('has a title, a description and closed schemas for every tool', () => {
    for (const { title, description, requestSchema } of offers()) {
      expect(title).not.toBe('')
      expect(description.length).toBeGreaterThan(30)
      expect(requestSchema).toMatchObject({ type: 'object', additionalProperties: false })
    }
  })
})

describe('a runtime call through the call chain', () => {
  it('records an enter entry, its own event and an exit entry', async () => {
    await rig.through('task_create', { title: 'x' })
    await rig.through('task_get', { id: 'nobody' })
    await rig.through('task_get', { id: 7 })
    expect(recordedActions(rig.folder)).toEqual(
      [
        { tool: 'task_create', principal: 'tester', outcome: 'ok', error_code: null },
        { tool: 'task_get', principal: 'tester', outcome: 'error', error_code: 'ERR_NOT_FOUND' },
        { tool: 'task_get', principal: 'tester', outcome: 'error', error_code: 'schema_mismatch' },
      ].map((row) => expect.objectContaining(row)),
    )
    expect(rig.ledger.entries(0, 3).map(({ entry }) => entry.kind)).toEqual(['call.enter', 'task.created', 'call.exit'])
  })

  it('does not overlap with another one, and concurrent calls keep their entries together', async () => {
    await plantTasks(rig, 'T')
    const calls = Array.from({ length: 40 }, (_, index) =>
      index % 2 === 0
        ? rig.through('task_create', { title: `${index}` })
        : rig.through('thought_record', { type: 'plan', task_id: 'T', agent_id: 'ada', content: `${index}` }),
    )
    expect((await Promise.all(calls)).every(({ ok }) => ok)).toBe(true)
    const kinds = rig.ledger.entries(0, rig.ledger.size()).map(({ entry }) => entry.kind)
    expect(kinds).toHaveLength(121)
    for (let at = 1; at < kinds.length; at += 3) {
      expect(kinds[at]).toBe('call.enter')
      expect(kinds[at + 2]).toBe('call.exit')
    }
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: true, record_count: 20 })
  })

  it('records the content of a thought once, and redacts it in the arguments of the call', async () => {
    const content = 'The key is under the mat.'
    await plantTasks(rig, 'T')
    await rig.through('thought_record', { type: 'plan', task_id: 'T', agent_id: 'ada', content })
    expect(rig.ledger.body(1)).toMatchObject({ kind: 'kept', body: { args: { content: '[redacted]' } } })
    expect(rig.ledger.body(2)).toEqual({ kind: 'kept', body: { content } })
  })

  it('changes nothing except the audit entries in read-only mode', async () => {
    const readonly = await runtimeRig({ config: { mode: 'readonly' } })
    const args: Record<string, Record<string, string>> = {
      task_create: { title: 'x' },
      task_update: { id: 'x', title: 'y' },
      thought_record: { type: 'plan', task_id: 'T', agent_id: 'ada', content: 'x' },
      audit_session_start: { intent: 'x' },
      merkle_finalize: { session_id: 'x' },
    }
    for (const [name, body] of Object.entries(args))
      expect(await readonly.through(name, body)).toMatchObject({
        ok: false,
        fault: { kind: 'not-permitted', reasons: [{ rule: 'mode' }] },
      })
    for (const table of ['tasks', 'thought_records', 'audit_sessions', 'merkle_roots'])
      expect(readonly.database.sql.prepare(`SELECT * FROM ${table}`).all()).toEqual([])
    const kinds = new Set(readonly.ledger.entries(0, readonly.ledger.size()).map(({ entry }) => entry.kind))
    expect(kinds).toEqual(new Set(['call.enter', 'call.exit']))
    expect(await readonly.through('task_list')).toMatchObject({ ok: true })
    readonly.close()
  })

  it('lets an observer read, but not write records', async () => {
    const caller: Caller = { kind: 'principal', id: 'screen', role: 'observer' }
    expect(await rig.through('task_list', {}, { caller })).toMatchObject({ ok: true })
    expect(await rig.through('task_create', { title: 'x' }, { caller })).toMatchObject({
      ok: false,
      fault: { kind: 'not-permitted' },
    })
  })

  it('answers within the published output schema', async () => {
    const { id } = await rig.data('task_create', { title: 'x' })
    for (const [name, args] of [
      ['task_get', { id: String(id) }],
      ['task_get', { id: 'nobody' }],
      ['server_health', {}],
      ['bus_topology', {}],
      ['ledger_verify', { full: true }],
      ['router_stats', {}],
    ] as const)
      // The rig checks every answer against the output schema and throws if it does not fit.
      expect((await rig.answer(name, args)).structured.ok).toBe(true)
  })
})
