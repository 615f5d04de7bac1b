import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runtimeRig } from '../../../test/runtime-rig.ts'
import type { Rig } from '../../../test/runtime-rig.ts'
import { runtimeSteps } from '../../../test/runtime-steps.ts'
import { isTransitionAllowed, TASK_STATUSES } from './task-machine.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

let rig: Rig
beforeEach(async () => {
  rig = await runtimeRig()
})
afterEach(() => rig.close())

const { create, advance, reflect, finish } = runtimeSteps(() => rig)

describe('task_create', () => {
  it('returns the whole task in state INIT and records it in the ledger', async () => {
    const task = await rig.data('task_create', {
      title: 'Bleed the radiators',
      priority: 'high',
      project_id: 'heating',
    })
    expect(task).toEqual({
      id: expect.stringMatching(UUID),
      project_id: 'heating',
      title: 'Bleed the radiators',
      description: null,
      status: 'INIT',
      priority: 'high',
      assignee: null,
      created_at: '2026-01-01T00:00:00.000Z',
      updated_at: '2026-01-01T00:00:00.000Z',
      deleted_at: null,
      version: 1,
      attempt: 1,
      depends_on: [],
      blocked_by: [],
      follows: null,
      followed_by: [],
      cancel_reason: null,
      log_index: 0,
    })
    expect(rig.entries('task.created')).toMatchObject([
      { task_id: task['id'], status: 'INIT', version: 1, principal: 'tester', seq: 0 },
    ])
    expect(await rig.data('task_get', { id: String(task['id']) })).toEqual(task)
  })

  it('keeps the text of a task in an erasable body, not in the ledger entry', async () => {
    await create({ description: 'Start upstairs.' })
    expect(JSON.stringify(rig.entries('task.created'))).not.toContain('radiators')
    expect(rig.ledger.body(0)).toMatchObject({ kind: 'kept', body: { description: 'Start upstairs.' } })
  })

  it('refuses any initial status except INIT', async () => {
    for (const status of TASK_STATUSES.filter((status) => status !== 'INIT'))
      expect(await rig.error('task_create', { title: 'x', status })).toMatchObject({
        code: 'ERR_INVALID_TRANSITION',
        from: null,
        to: status,
      })
    expect(await create({ status: 'INIT' })).toMatch(UUID)
  })

  it('refuses empty, oversized or malformed text and unknown arguments, and names the issues', async () => {
    const bad = [
      {},
      { title: '' },
      { title: 'x'.repeat(257) },
      { title: 'x', description: 'x'.repeat(8_001) },
      { title: '\ud800' },
      { title: 'a\0b' },
      { title: 'x', colour: 'red' },
      { title: 'x', depends_on: Array.from({ length: 65 }, String) },
    ]
    for (const args of bad) {
      const { structured, isError } = await rig.answer('task_create', args)
      expect(isError).toBe(true)
      expect(structured).toMatchObject({ ok: false, error: { code: 'INVALID_PARAMS', details: { issues: [{}] } } })
    }
    expect(rig.ledger.size()).toBe(0)
  })
})

describe('task_get', () => {
  it('returns ERR_NOT_FOUND as a value for an unknown id', async () => {
    expect(await rig.answer('task_get', { id: 'nobody' })).toEqual({
      structured: {
        ok: true,
        data: { ok: false, error: { code: 'ERR_NOT_FOUND', message: 'There is no task nobody.', id: 'nobody' } },
      },
      isError: false,
    })
  })
})

describe('task_update', () => {
  it('moves a task from INIT to DONE and records each transition', async () => {
    const id = await create()
    await finish(id)
    expect(await rig.data('task_get', { id })).toMatchObject({ status: 'DONE', version: 7, attempt: 1 })
    const steps = ['INIT', 'GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY', 'DONE']
    expect(rig.entries('task.transition')).toMatchObject(
      steps.slice(1).map((to, index) => ({ from: steps[index], to, task_id: id, version: index + 2 })),
    )
  })

  it('refuses every transition outside the table, and so does the ledger', async () => {
    const ways: Record<string, string[]> = {
      INIT: [],
      GATHER: ['GATHER'],
      ANALYZE: ['GATHER', 'ANALYZE'],
      PLAN: ['GATHER', 'ANALYZE', 'PLAN'],
      APPLY: ['GATHER', 'ANALYZE', 'PLAN', 'APPLY'],
      VERIFY: ['GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY'],
    }
    for (const [from, way] of Object.entries(ways))
      for (const to of TASK_STATUSES.filter((to) => !isTransitionAllowed(from as 'INIT', to))) {
        const id = await create()
        await advance(id, ...way)
        expect(await rig.error('task_update', { id, patch: { status: to } })).toMatchObject({
          code: 'ERR_INVALID_TRANSITION',
          from,
          to,
        })
        if (from === to) continue
        const version = Number((await rig.data('task_get', { id }))['version']) + 1
        const move = { kind: 'task.transition', task_id: id, from, to, version, fields: [] }
        await expect(rig.ledger.append(move)).rejects.toThrow(/cannot go to|waits for|no reflection|does not change/)
      }
  })

  it('refuses every transition out of DONE and CANCELLED', async () => {
    const done = await create()
    await finish(done)
    const cancelled = await create()
    await rig.data('task_update', { id: cancelled, patch: { status: 'CANCELLED', reason: 'no longer needed' } })
    for (const status of TASK_STATUSES)
      for (const id of [done, cancelled])
        expect(await rig.error('task_update', { id, patch: { status, reason: 'x' } })).toMatchObject({
          code: 'ERR_INVALID_TRANSITION',
        })
  })

  it('requires a reflection recorded after VERIFY before DONE, and so does the ledger', async () => {
    const id = await create()
    await advance(id, 'GATHER', 'ANALYZE', 'PLAN', 'APPLY')
    await reflect(id)
    await advance(id, 'VERIFY')
    await reflect(id, 'decision')
    expect(await rig.answer('task_update', { id, patch: { status: 'DONE' } })).toMatchObject({
      isError: false,
      structured: {
        ok: true,
        data: {
          ok: false,
          error: {
            code: 'ERR_WRITEBACK_REQUIRED',
            message: expect.stringContaining(`Writeback required for task ${id}: missing thought_record`),
            missing_fields: ['thought_record'],
          },
        },
      },
    })
    const version = Number((await rig.data('task_get', { id }))['version']) + 1
    const move = { kind: 'task.transition', task_id: id, from: 'VERIFY', to: 'DONE', version, fields: [] }
    await expect(rig.ledger.append(move)).rejects.toThrow('no reflection from after VERIFY')
    await reflect(id)
    await advance(id, 'DONE')
  })

  it('requires a new reflection for a second attempt, and counts attempts', async () => {
    const id = await create()
    await advance(id, 'GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY')
    await reflect(id)
    await advance(id, 'GATHER')
    expect(await rig.data('task_get', { id })).toMatchObject({ status: 'GATHER', attempt: 2 })
    await advance(id, 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY')
    expect(await rig.error('task_update', { id, patch: { status: 'DONE' } })).toMatchObject({
      code: 'ERR_WRITEBACK_REQUIRED',
    })
    await reflect(id)
    await advance(id, 'DONE')
  })

  it('requires a reason to cancel, and stores it', async () => {
    const id = await create()
    expect(await rig.error('task_update', { id, patch: { status: 'CANCELLED' } })).toMatchObject({
      code: 'ERR_WRITEBACK_REQUIRED',
      missing_fields: ['reason'],
    })
    const task = await rig.data('task_update', { id, patch: { status: 'CANCELLED', reason: 'the boiler is gone' } })
    expect(task).toMatchObject({ status: 'CANCELLED', cancel_reason: 'the boiler is gone' })
  })

  it('refuses a reason without any change of the task', async () => {
    const id = await create()
    await rig.data('task_update', { id, patch: { status: 'CANCELLED', reason: 'It rains.' } })
    for (const words of [{ reason: 'It snows.' }, { patch: { reason: 'It snows.' } }])
      expect(await rig.error('task_update', { id, ...words })).toMatchObject({
        code: 'INVALID_PARAMS',
        details: { issues: [{ path: ['reason'], message: 'goes with a change of the task, and there is none' }] },
      })
    expect(await rig.data('task_get', { id })).toMatchObject({ version: 2, cancel_reason: 'It rains.' })
    const open = await create()
    const shorter = { id: open, title: 'Air', reason: 'Shorter.' }
    expect(await rig.data('task_update', shorter)).toMatchObject({ version: 2 })
  })

  it('accepts the flat form and lower-case status, and reports progress as ignored', async () => {
    const id = await create()
    expect(
      await rig.data('task_update', { id, status: 'gather', title: 'Bleed them all', progress: 20 }),
    ).toMatchObject({
      status: 'GATHER',
      title: 'Bleed them all',
      ignored: ['progress'],
    })
    expect(await rig.error('task_update', { id, title: 'a', patch: { title: 'b' } })).toMatchObject({
      code: 'INVALID_PARAMS',
    })
    expect(await rig.error('task_update', { id })).toMatchObject({ code: 'INVALID_PARAMS' })
    expect(await rig.error('task_update', { id, patch: {} })).toMatchObject({ code: 'INVALID_PARAMS' })
  })

  it('clears a field given as null and keeps fields that are not given', async () => {
    const id = await create({ assignee: 'ada', description: 'Upstairs first.' })
    expect(await rig.data('task_update', { id, patch: { assignee: null } })).toMatchObject({
      assignee: null,
      description: 'Upstairs first.',
      version: 2,
    })
    expect(rig.entries('task.changed')).toMatchObject([{ task_id: id, fields: [], emptied: ['assignee'], version: 2 }])
  })

  it('refuses a change whose expected version is outdated', async () => {
    const id = await create()
    await rig.data('task_update', { id, patch: { title: 'one' }, expected_version: 1 })
    expect(await rig.error('task_update', { id, patch: { title: 'two' }, expected_version: 1 })).toMatchObject({
      code: 'ERR_VERSION_CONFLICT',
      expected_version: 1,
      version: 2,
    })
  })

  it('accepts one of three simultaneous transitions to the same status', async () => {
    const id = await create()
    const answers = await Promise.all(
      ['GATHER', 'GATHER', 'GATHER'].map((status) => rig.answer('task_update', { id, patch: { status } })),
    )
    expect(answers.filter(({ structured }) => structured.data?.['ok'] === undefined)).toHaveLength(1)
    expect(rig.entries('task.transition')).toHaveLength(1)
  })

  it('writes neither the task nor the ledger entry when one of them fails', async () => {
    const id = await create()
    const size = rig.ledger.size()
    rig.database.sql.exec(`CREATE TRIGGER no BEFORE UPDATE ON tasks BEGIN SELECT RAISE(ABORT, 'no'); END`)
    expect(await rig.answer('task_update', { id, patch: { status: 'GATHER' } })).toMatchObject({
      isError: true,
      structured: { ok: false, error: { code: 'HANDLER_ERROR', message: 'no' } },
    })
    expect(rig.ledger.size()).toBe(size)
    expect(await rig.data('task_get', { id })).toMatchObject({ status: 'INIT', version: 1 })
  })

  it('never dates a change earlier than the preceding one', async () => {
    const id = await create()
    rig.clock.advance(-60_000)
    expect(await rig.data('task_update', { id, patch: { title: 'later' } })).toMatchObject({
      updated_at: '2026-01-01T00:00:00.000Z',
    })
  })
})
