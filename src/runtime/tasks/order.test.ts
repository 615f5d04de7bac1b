import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runtimeRig } from '../../../test/runtime-rig.ts'
import type { Rig } from '../../../test/runtime-rig.ts'
import { runtimeSteps } from '../../../test/runtime-steps.ts'

let rig: Rig
beforeEach(async () => {
  rig = await runtimeRig()
})
afterEach(() => rig.close())

const { create, advance, finish } = runtimeSteps(() => rig)

describe('task dependencies', () => {
  it('keep a task out of APPLY until the tasks it depends on are DONE', async () => {
    const pump = await create({ title: 'Mend the pump' })
    const bleed = await create({ depends_on: [pump, pump] })
    expect(await rig.data('task_get', { id: bleed })).toMatchObject({ depends_on: [pump], blocked_by: [pump] })
    await advance(bleed, 'GATHER', 'ANALYZE', 'PLAN')
    expect(await rig.error('task_update', { id: bleed, patch: { status: 'APPLY' } })).toMatchObject({
      code: 'ERR_DEPENDENCY_UNFINISHED',
      blocked_by: [pump],
    })
    const move = { kind: 'task.transition', task_id: bleed, from: 'PLAN', to: 'APPLY', version: 5, fields: [] }
    await expect(rig.ledger.append(move)).rejects.toThrow(`waits for ${pump}`)
    await finish(pump)
    await advance(bleed, 'APPLY')
    expect(await rig.data('task_get', { id: bleed })).toMatchObject({ depends_on: [pump], blocked_by: [] })
  })

  it('are refused when they form a cycle of any length, which the error names', async () => {
    const first = await create()
    const second = await create({ depends_on: [first] })
    const third = await create({ depends_on: [second] })
    expect(await rig.error('task_update', { id: first, patch: { depends_on: [third] } })).toMatchObject({
      code: 'ERR_DEPENDENCY_CYCLE',
      cycle: [first, third, second, first],
    })
    expect(await rig.error('task_update', { id: first, patch: { depends_on: [first] } })).toMatchObject({
      code: 'ERR_DEPENDENCY_CYCLE',
      cycle: [first, first],
    })
    expect(await rig.data('task_get', { id: first })).toMatchObject({ depends_on: [], version: 1 })
  })

  it('are refused when the task does not exist', async () => {
    expect(await rig.error('task_create', { title: 'x', depends_on: ['nobody'] })).toMatchObject({
      code: 'ERR_DEPENDENCY_NOT_FOUND',
      missing: ['nobody'],
    })
    expect(await rig.data('task_list')).toMatchObject({ total: 0 })
  })

  it('can be replaced in the same call as a transition', async () => {
    const pump = await create({ title: 'Mend the pump' })
    const bleed = await create({ depends_on: [pump] })
    await advance(bleed, 'GATHER', 'ANALYZE', 'PLAN')
    expect(await rig.data('task_update', { id: bleed, patch: { status: 'APPLY', depends_on: [] } })).toMatchObject({
      status: 'APPLY',
      depends_on: [],
    })
  })
})

describe('task_list', () => {
  it('pages in order of creation, and includes tasks created between pages', async () => {
    const ids = [await create(), await create(), await create(), await create()]
    const first = await rig.data('task_list', { limit: 2 })
    expect(first).toMatchObject({ tasks: [{ id: ids[0] }, { id: ids[1] }], total: 4 })
    const late = await create()
    const second = await rig.data('task_list', { limit: 2, cursor: String(first['next_cursor']) })
    expect(second).toMatchObject({ tasks: [{ id: ids[2] }, { id: ids[3] }], total: 5 })
    const third = await rig.data('task_list', { limit: 2, cursor: String(second['next_cursor']) })
    expect(third).toMatchObject({ tasks: [{ id: late }] })
    expect(third).not.toHaveProperty('next_cursor')
  })

  it('applies limit and offset', async () => {
    const ids = [await create(), await create(), await create()]
    expect(await rig.data('task_list', { limit: 1, offset: 1 })).toMatchObject({ tasks: [{ id: ids[1] }], total: 3 })
  })

  it('filters by status, project and assignee', async () => {
    const wanted = await create({ project_id: 'heating', assignee: 'ada' })
    await create({ project_id: 'garden' })
    await advance(wanted, 'GATHER')
    for (const filter of [{ status: 'gather' }, { project_id: 'heating' }, { assignee: 'ada' }])
      expect(await rig.data('task_list', filter)).toMatchObject({ tasks: [{ id: wanted }], total: 1 })
  })

  it('hides a row marked as deleted unless asked, and ledger_verify reports the mark', async () => {
    const id = await create()
    rig.database.sql.exec(`UPDATE tasks SET deleted_at = '2026-01-02'`)
    expect(await rig.data('task_list')).toMatchObject({ total: 0 })
    expect(await rig.data('task_list', { include_deleted: true })).toMatchObject({ tasks: [{ id }] })
    expect(await rig.data('task_get', { id })).toMatchObject({ deleted_at: null })
    expect(await rig.data('ledger_verify', { full: true })).toMatchObject({
      findings: [`The task ${id} is not what the ledger says (entry 0): deleted_at.`],
    })
  })

  it('refuses a cursor of another list and a limit out of range', async () => {
    await create()
    await create()
    const { next_cursor: cursor } = await rig.data('task_list', { limit: 1 })
    for (const args of [
      { cursor: 'nonsense' },
      { cursor: String(cursor), status: 'INIT' },
      { cursor: Buffer.from('{}').toString('base64url') },
      { limit: 0 },
      { limit: 201 },
    ])
      expect(await rig.answer('task_list', args)).toMatchObject({
        isError: true,
        structured: { ok: false, error: { code: 'INVALID_PARAMS', details: { issues: [{}] } } },
      })
  })
})

describe('task_next_actions', () => {
  it('lists unblocked tasks by priority, then by age', async () => {
    const plain = await create({ title: 'plain' })
    const low = await create({ title: 'low', priority: 'low' })
    const urgent = await create({ title: 'urgent', priority: 'P0' })
    const word = await create({ title: 'word', priority: ' Medium ' })
    const waiting = await create({ title: 'waiting', priority: 'critical', depends_on: [low] })
    const next = await rig.data('task_next_actions')
    expect(next).toMatchObject({
      tasks: [urgent, plain, word, low].map((id) => ({ id, next_statuses: ['GATHER', 'CANCELLED'] })),
      blocked_count: 1,
      stalled: [],
    })
    await finish(low)
    expect(await rig.data('task_next_actions')).toMatchObject({
      tasks: [{ id: urgent }, { id: waiting }, { id: plain }, { id: word }],
      blocked_count: 0,
    })
  })

  it('pages across priorities without repeating a task', async () => {
    const ids = [await create({ priority: 'low' }), await create({ priority: 'high' }), await create()]
    const seen: unknown[] = []
    for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
      const found: Record<string, unknown> = await rig.data('task_next_actions', {
        limit: 1,
        ...(cursor === undefined ? {} : { cursor }),
      })
      seen.push(...(found['tasks'] as { id: string }[]).map(({ id }) => id))
      cursor = found['next_cursor'] as string | undefined
    }
    expect(seen).toEqual([ids[1], ids[2], ids[0]])
  })

  it('lists tasks that depend on a cancelled task as stalled', async () => {
    const pump = await create()
    const bleed = await create({ depends_on: [pump] })
    await rig.data('task_update', { id: pump, patch: { status: 'CANCELLED', reason: 'sold' } })
    expect(await rig.data('task_next_actions')).toMatchObject({
      tasks: [],
      blocked_count: 1,
      stalled: [{ id: bleed, cancelled_dependencies: [pump] }],
    })
  })
})
