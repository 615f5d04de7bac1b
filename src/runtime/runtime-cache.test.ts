/** Somebody edits the runtime's tables. The tools go on from what the log says, and verifying names every row. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { plantTasks } from '../../test/planted-task.ts'
import { runtimeRig } from '../../test/runtime-rig.ts'
import type { Rig } from '../../test/runtime-rig.ts'
import { runtimeSteps } from '../../test/runtime-steps.ts'

let rig: Rig
beforeEach(async () => {
  rig = await runtimeRig()
})
afterEach(() => rig.close())

const { create, advance, finish, reflect, think, startSession } = runtimeSteps(() => rig)

async function findings(): Promise<readonly string[]> {
  return (await rig.data('ledger_verify', { full: true }))['findings'] as string[]
}

/** One of everything that can happen to a task, and a session that is sealed. */
async function history(): Promise<string> {
  const first = await create()
  const id = await create({ description: 'All of them.', assignee: 'ada', priority: 'high', project_id: 'winter' })
  await finish(first)
  await rig.data('task_update', { id, title: 'Bleed the radiators upstairs', depends_on: [first, first] })
  rig.clock.advance(60_000)
  const session = await startSession(id)
  await advance(id, 'GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY', 'GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY')
  await rig.data('task_update', { id, patch: { description: null, priority: 'P7' } })
  await reflect(id)
  await rig.data('task_update', { id, patch: { status: 'DONE', assignee: 'bob' } })
  const cancelled = await create()
  await rig.data('task_update', { id: cancelled, patch: { status: 'cancelled', reason: 'It is summer.' } })
  await rig.data('merkle_finalize', { session_id: session })
  return id
}

function tables(): string {
  const names = ['tasks', 'task_dependencies', 'thought_records', 'audit_sessions', 'merkle_roots']
  return JSON.stringify(names.map((name) => rig.database.sql.prepare(`SELECT * FROM ${name} ORDER BY 1, 2`).all()))
}

describe('runtime tables', () => {
  it('agree with the ledger after a long history, even if the clock was set back', async () => {
    await history()
    for (let count = 0; count < 450; count++) await create({ title: `Task ${count}` })
    const late = await create()
    rig.clock.advance(-3_600_000)
    await advance(late, 'GATHER', 'ANALYZE')
    expect(await findings()).toEqual([])
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: true, problems: [] })
  })

  it.each<[string, string, RegExp]>([
    ['a status', `UPDATE tasks SET status = 'VERIFY'`, /^The task \S+ is not what the ledger says .*: status\.$/],
    ['a title', `UPDATE tasks SET title = 'Break them'`, /^The task .*: title\.$/],
    ['a version', `UPDATE tasks SET version = 9`, /^The task .*: version\.$/],
    ['a time', `UPDATE tasks SET updated_at = '2020-01-01T00:00:00.000Z'`, /^The task .*: updated_at\.$/],
    ['a rank', `UPDATE tasks SET priority_rank = 0`, /^The task .*: priority_rank\.$/],
    ['a place', `UPDATE tasks SET seq = seq + 1000`, /^The task .*: seq\.$/],
    ['a dependency removed', `DELETE FROM task_dependencies`, /^The task .* was removed/],
    ['a dependency added', `INSERT INTO task_dependencies VALUES ('x', 'y', 0, 0)`, /^The task x was added/],
    ['a task removed', `DELETE FROM tasks WHERE status = 'DONE'`, /^The task .* was removed/],
    [
      'a task added far below all numbers',
      `INSERT INTO tasks SELECT -9223372036854775807, 'T-9', project_id, title, description, status, priority,
         priority_rank, assignee, cancel_reason, created_at, updated_at, deleted_at, version, attempt, log_index,
         verify_index, set_by FROM tasks LIMIT 1`,
      /^The task T-9 was added/,
    ],
    ['an author', `UPDATE thought_records SET agent_id = 'mallory'`, /^The thought .*: agent_id\.$/],
    ['a thought removed', `DELETE FROM thought_records`, /^The thought .* was removed/],
    ['an intent', `UPDATE audit_sessions SET intent = 'nothing'`, /^The session .*: intent\.$/],
    ['a session opened again', `UPDATE audit_sessions SET finalized_at = NULL`, /^The session .*: finalized_at\.$/],
    ['a session removed', `DELETE FROM audit_sessions`, /^The session .* was removed/],
    ['a root', `UPDATE merkle_roots SET root = '00'`, /^The seal .*: root\.$/],
    ['a seal removed', `DELETE FROM merkle_roots`, /^The seal .* was removed/],
  ])('that were altered (%s) are reported by ledger_verify and repaired by a rebuild', async (_, sql, sentence) => {
    await history()
    const before = tables()
    rig.tamper(sql)
    const found = await findings()
    expect(found.length).toBeGreaterThan(0)
    for (const each of found) expect(each).toMatch(sentence)
    await rig.ledger.rebuild()
    expect(tables()).toBe(before)
    expect(await findings()).toEqual([])
  })

  it('are ignored after tampering: a task continues from its state in the ledger', async () => {
    const id = await create()
    rig.tamper(`UPDATE tasks SET status = 'VERIFY', version = 6, verify_index = 0`)
    expect(await rig.data('task_get', { id })).toMatchObject({ status: 'INIT', version: 1 })
    await reflect(id)
    expect(await rig.error('task_update', { id, patch: { status: 'DONE' } })).toMatchObject({
      code: 'ERR_INVALID_TRANSITION',
      from: 'INIT',
    })
    await advance(id, 'GATHER')
    expect(await findings()).toHaveLength(1)
  })

  it('are ignored after tampering: an added task does not exist and a sealed session stays sealed', async () => {
    const session = await startSession()
    await plantTasks(rig, 'T-1')
    await think('T-1', { session_id: session })
    await rig.data('merkle_finalize', { session_id: session })
    rig.tamper(`UPDATE audit_sessions SET finalized_at = NULL; DELETE FROM merkle_roots;
      INSERT INTO tasks (seq, id, title, status, priority_rank, created_at, updated_at, version, attempt, log_index, set_by)
        VALUES (9, 'T-9', 'forged', 'VERIFY', 2, '', '', 6, 1, 0, '{}')`)
    const late = { type: 'plan', task_id: 'T-1', agent_id: 'ada', content: 'late', session_id: session }
    expect(await rig.error('thought_record', late)).toMatchObject({ details: { code: 'ERR_SESSION_CLOSED' } })
    expect(await rig.error('task_update', { id: 'T-9', patch: { status: 'DONE' } })).toMatchObject({
      code: 'ERR_NOT_FOUND',
    })
    expect(await rig.data('task_list')).toMatchObject({ tasks: [{ id: 'T-1' }] })
  })

  it('are equal whether bodies were erased before or after a rebuild', async () => {
    const id = await history()
    const created = rig.entries('task.created').find(({ task_id: task }) => task === id)
    expect(await rig.ledger.eraseBody(Number(created?.['seq']))).toMatchObject({
      value: { blanked: [{ what: 'task', id }] },
    })
    const start = Number(rig.entries('session.start')[0]?.['seq'])
    await rig.ledger.eraseBody(start)
    // What a later entry set stays.
    expect(await rig.data('task_get', { id })).toMatchObject({
      title: 'Bleed the radiators upstairs',
      project_id: '[erased]',
      description: null,
      assignee: 'bob',
    })
    expect(await rig.data('audit_session_list')).toMatchObject({ sessions: [{ intent: '[erased]' }] })
    const before = tables()
    await rig.ledger.rebuild()
    expect(tables()).toBe(before)
    expect(await findings()).toEqual([])
    rig.tamper(`UPDATE tasks SET project_id = 'winter' WHERE id = '${id}'`)
    expect(await findings()).toHaveLength(1)
  })

  it('leave no erased text in the files', async () => {
    const id = await create({ title: 'Quokka has a fever' })
    await rig.data('task_update', { id, patch: { status: 'cancelled', reason: 'The wombat has recovered' } })
    for (const kind of ['task.created', 'task.transition'])
      await rig.ledger.eraseBody(Number(rig.entries(kind)[0]?.['seq']))
    const bytes = readdirSync(rig.folder, { recursive: true, withFileTypes: true })
      .filter((found) => found.isFile())
      .map((file) => readFileSync(join(file.parentPath, file.name), 'latin1'))
    expect(bytes.filter((text) => /Quokka|wombat/.test(text))).toEqual([])
    expect(await rig.data('task_get', { id })).toMatchObject({ title: '[erased]', cancel_reason: '[erased]' })
  })
})
