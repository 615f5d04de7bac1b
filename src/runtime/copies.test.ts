import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runtimeRig } from '../../test/runtime-rig.ts'
import type { Rig } from '../../test/runtime-rig.ts'
import { runtimeSteps } from '../../test/runtime-steps.ts'

let rig: Rig
beforeEach(async () => {
  rig = await runtimeRig()
})
afterEach(() => rig.close())

const { create, advance, finish, reflect, think, startSession } = runtimeSteps(() => rig)

/** What both of the tools that verify say is wrong; they must agree on whether anything is. */
async function problems(): Promise<readonly string[]> {
  const chain = await rig.data('audit_verify_chain')
  const ledger = await rig.data('ledger_verify', { full: true })
  expect(chain['problems']).toEqual(ledger['findings'])
  const sound = (ledger['findings'] as string[]).length === 0
  expect([chain['valid'], ledger['valid'], ledger['compared']]).toEqual([sound, sound, true])
  return ledger['findings'] as string[]
}

async function isBroken(id: string): Promise<void> {
  expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: false, broken_tasks: [id] })
  // By itself as well, and no other task with it.
  expect(await rig.data('audit_verify_chain', { task_id: id })).toMatchObject({ valid: false, broken_tasks: [id] })
  expect(await rig.data('audit_verify_chain', { task_id: 'another' })).toMatchObject({ valid: true, broken_tasks: [] })
}

/** One of everything that can happen to a task. */
async function history(): Promise<string> {
  const first = await create()
  const id = await create({ description: 'All of them.', assignee: 'ada', priority: 'high', project_id: 'winter' })
  await finish(first)
  await rig.data('task_update', { id, title: 'Bleed the radiators upstairs', depends_on: [first, first] })
  rig.clock.advance(60_000)
  await advance(id, 'GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY', 'GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY')
  await rig.data('task_update', { id, patch: { description: null, priority: 'P7' } })
  await reflect(id)
  await rig.data('task_update', { id, patch: { status: 'DONE', assignee: 'bob' } })
  const cancelled = await create()
  await rig.data('task_update', { id: cancelled, patch: { status: 'cancelled', reason: 'It is summer.' } })
  return id
}

describe('tasks, held against the ledger', () => {
  it('are in order after a long honest history', async () => {
    await history()
    for (let count = 0; count < 450; count++) await create({ title: `Task ${count}` })
    const late = await create()
    rig.clock.advance(-3_600_000)
    await advance(late, 'GATHER', 'ANALYZE')
    expect(await problems()).toEqual([])
  })

  it('show in the health of the node when they are found not to be in order, until they are', async () => {
    const id = await create({ title: 'Bleed the radiators' })
    const rename = (title: string): void => rig.tamper(`UPDATE tasks SET title = '${title}' WHERE id = '${id}'`)
    rename('Unlock the door')
    expect(await rig.data('ledger_verify', { full: true })).toMatchObject({ valid: false, state: 'damaged' })
    expect(await rig.data('server_health')).toMatchObject({
      status: 'failing',
      checks: { ledger: { status: 'failing', message: expect.stringMatching(/^The last verification found 1 thing/) } },
    })
    rename('Bleed the radiators')
    expect(await rig.data('ledger_verify')).toMatchObject({ valid: true, state: 'sound' })
    expect(await rig.data('server_health')).toMatchObject({ checks: { ledger: { status: 'ok' } } })
  })

  it.each([
    ['title', `'Unlock the door'`],
    ['status', `'CANCELLED'`],
    ['description', `'Something else.'`],
    ['priority', `'low', priority_rank = 3`],
    ['priority_rank', '0'],
    ['assignee', 'NULL'],
    ['project_id', `'summer'`],
    ['cancel_reason', `'Because.'`],
    ['created_at', `'2020-01-01T00:00:00.000Z'`],
    ['updated_at', `'2020-01-01T00:00:00.000Z'`],
    ['deleted_at', `'2020-01-01T00:00:00.000Z'`],
    ['version', '99'],
    ['attempt', '1'],
    ['log_index', '0'],
    ['verify_index', '0'],
    ['seq', '0'],
  ])('are found out when %s was edited', async (column, value) => {
    const id = await history()
    rig.tamper(`UPDATE tasks SET ${column} = ${value} WHERE id = '${id}'`)
    expect(await problems()).toEqual([
      expect.stringMatching(`^The task ${id} is not what the ledger says \\(entry \\d+\\): ${column}\\.$`),
    ])
    await isBroken(id)
  })

  it('are found out when one that is open says DONE', async () => {
    const id = await create({ title: 'Lock the door' })
    rig.tamper(`UPDATE tasks SET title = 'Unlock the door', status = 'DONE'`)
    expect(await problems()).toEqual([`The task ${id} is not what the ledger says (entry 0): status, title.`])
    await isBroken(id)
  })

  it('are found out when one was added, wherever it was put', async () => {
    await create()
    for (const [id, seq] of [
      ['intruder', 'NULL'],
      ['hidden', '-5'],
    ]) {
      rig.tamper(`INSERT INTO tasks (seq, id, title, status, priority_rank, created_at, updated_at, version, attempt,
        log_index) SELECT ${seq}, '${id}', title, status, priority_rank, created_at, updated_at, version, attempt,
        log_index FROM tasks LIMIT 1`)
      expect(await problems()).toEqual([`The task ${id} was added; the ledger does not have it.`])
      await isBroken(String(id))
      rig.tamper(`DELETE FROM tasks WHERE id = '${id}'`)
    }
  })

  it('are found out when one was removed', async () => {
    const [id] = [await create(), await create()]
    rig.tamper(`DELETE FROM tasks WHERE id = '${id}'`)
    expect(await problems()).toEqual([`The task ${id} was removed; the ledger has it (entry 0).`])
    await isBroken(id)
  })

  it('are found out when what they wait for was edited', async () => {
    const first = await create()
    const id = await create({ depends_on: [first] })
    rig.tamper('DELETE FROM task_dependencies')
    expect(await problems()).toEqual([`The task ${id} is not what the ledger says (entry 1): depends_on.`])
  })

  it('are found out when the words beside the ledger were edited with them', async () => {
    await create({ title: 'Lock the door' })
    rig.tamper(`UPDATE tasks SET title = 'Open the door'`)
    rig.tamperLog('Lock', 'Open')
    expect(await problems()).toContain('The body of entry 0 is not the one the entry commits to.')
  })

  it('are found out when the words beside the ledger are gone and nobody erased them', async () => {
    await create()
    rig.loseBodies()
    expect(await problems()).toEqual(['The body of entry 0 is gone, and no erasure accounts for it.'])
  })

  it('cannot be compared where the words were erased, and that is not wrong; the rest is compared', async () => {
    const id = await create({ title: 'Lock the door', assignee: 'ada' })
    await rig.data('task_update', { id, patch: { assignee: 'bob' } })
    await rig.ledger.eraseBody(0)
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: true, erased_count: 1, uncompared: [] })
    rig.tamper(`UPDATE tasks SET title = 'Lock the door'`)
    const doubt = `The task ${id} cannot be compared (title): the words of entry 0 were erased.`
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: true, erased_count: 1, uncompared: [doubt] })
    expect(await rig.data('ledger_verify')).toMatchObject({ valid: true, erased_count: 1, uncompared: [doubt] })
    rig.tamper(`UPDATE tasks SET assignee = 'mallory'`)
    expect(await problems()).toEqual([`The task ${id} is not what the ledger says (entry 1): assignee.`])
  })
})

describe('erasing', () => {
  const note = { reason: 'asked for', by: 'owner' }

  it('blanks what a task has from that entry and nothing that a later one set, and all verifies', async () => {
    const first = await create()
    const id = await create({ description: 'At Ada’s.', assignee: 'ada', priority: 'high', depends_on: [first] })
    await rig.data('task_update', { id, patch: { assignee: 'bob' } })
    const before = await rig.data('task_get', { id })
    expect(await rig.ledger.eraseBody(1, note)).toMatchObject({
      ok: true,
      value: { seq: 3, blanked: [{ what: 'task', id }], also: [0] },
    })
    expect(await rig.data('task_get', { id })).toEqual({
      ...before,
      title: '[erased]',
      description: '[erased]',
      priority: '[erased]',
    })
    expect(rig.entries('body.erased')).toMatchObject([{ entry: 1, ...note }])
    expect(await problems()).toEqual([])
    // The ids of other tasks stay where they are, and cannot be shown to be right any more.
    const uncompared = [`The task ${id} cannot be compared (depends_on): the words of entry 1 were erased.`]
    expect(await rig.data('ledger_verify', { full: true })).toMatchObject({ erased_count: 1, uncompared })
    // Life goes on.
    await rig.data('task_update', { id, patch: { title: 'Something else', status: 'GATHER' } })
    expect(await rig.data('task_get', { id })).toMatchObject({ title: 'Something else', description: '[erased]' })
    expect(await problems()).toEqual([])
  })

  it('blanks the reason of a cancellation, and the intent of a session that is sealed', async () => {
    const id = await create()
    await rig.data('task_update', { id, patch: { status: 'CANCELLED', reason: 'Ada is ill.' } })
    const session = await startSession('T-1')
    await think('T-1')
    await rig.data('merkle_finalize', { session_id: session })
    for (const entry of [1, 2]) expect(await rig.ledger.eraseBody(entry, note)).toMatchObject({ ok: true })
    expect(await rig.data('task_get', { id })).toMatchObject({ cancel_reason: '[erased]', status: 'CANCELLED' })
    expect(await rig.data('audit_session_list')).toMatchObject({ sessions: [{ intent: '[erased]', state: 'sealed' }] })
    expect(await problems()).toEqual([])
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: true, erased_count: 2, uncompared: [] })
    expect(await rig.data('ledger_proof', { log_index: 1 })).toMatchObject({ body: 'erased' })
  })

  it('leaves no trace of the words in the files', async () => {
    const filler = { description: 'x'.repeat(400), project_id: 'winter' }
    const id = await create({ ...filler, title: 'Quokka and wombat', assignee: 'Numbat' })
    for (let count = 0; count < 50; count++) await create(filler)
    await rig.data('task_update', { id, patch: { priority: 'high' } })
    expect(traces('Quokka')).not.toEqual([])
    await rig.ledger.eraseBody(0, note)
    expect([traces('Quokka'), traces('Numbat')]).toEqual([[], []])
  })

  it('does not let a task be blanked or a session be changed in any other way', async () => {
    await create()
    await startSession()
    for (const change of [
      `UPDATE tasks SET title = '[erased]', status = 'GATHER'`,
      `UPDATE tasks SET title = 'another'`,
      `UPDATE tasks SET priority_rank = 0`,
      `UPDATE tasks SET assignee = 'bob'`,
      `UPDATE audit_sessions SET intent = 'another'`,
      `UPDATE audit_sessions SET intent = '[erased]', principal = 'bob'`,
    ])
      expect(() => rig.database.sql.exec(change)).toThrow(/raises its version|changes once/)
  })

  it('says what there is not', async () => {
    await create()
    await rig.ledger.eraseBody(0, note)
    expect(await rig.ledger.eraseBody(0, note)).toMatchObject({ fault: { kind: 'nothing-to-erase', erased: true } })
    expect(await rig.ledger.eraseBody(1, note)).toMatchObject({ fault: { kind: 'nothing-to-erase', erased: false } })
    expect(await rig.ledger.eraseBody(9, note)).toMatchObject({ fault: { kind: 'no-such-entry', size: 2 } })
  })

  /** Files that have the word. */
  function traces(word: string): readonly string[] {
    return readdirSync(rig.folder, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile() && readFileSync(join(file.parentPath, file.name)).includes(word))
      .map(({ name }) => name)
  }
})

describe('sessions, held against the ledger', () => {
  async function sealed(): Promise<string> {
    const session = await startSession('T-1')
    await think('T-1')
    await rig.data('merkle_finalize', { session_id: session })
    return session
  }

  it.each([
    ['intent', `'SOMETHING ELSE'`],
    ['task_id', `'T-2'`],
    ['principal', `'mallory'`],
    ['started_at', `'2020-01-01T00:00:00.000Z'`],
  ])('are found out when %s was edited', async (column, value) => {
    const session = await sealed()
    rig.tamper(`UPDATE audit_sessions SET ${column} = ${value}`)
    expect(await problems()).toEqual([`The session ${session} is not what the ledger says (entry 0): ${column}.`])
    for (const filter of [{}, { task_id: 'T-1' }])
      expect(await rig.data('audit_verify_chain', filter)).toMatchObject({ valid: false, broken_sessions: [session] })
    expect(await rig.data('audit_session_list')).toMatchObject({ sessions: [{ state: 'broken' }] })
  })

  it('are not sealed with an intent that was edited', async () => {
    const session = await startSession('T-1')
    await think('T-1')
    rig.tamper(`UPDATE audit_sessions SET intent = 'SOMETHING ELSE'`)
    expect(await rig.error('merkle_finalize', { session_id: session })).toMatchObject({ code: 'ERR_CHAIN_BROKEN' })
  })

  it('are found out when one was added or removed', async () => {
    const session = await sealed()
    rig.tamper(`INSERT INTO audit_sessions VALUES ('S-9', 'x', NULL, '2020-01-01T00:00:00.000Z', 'ada', -4, NULL)`)
    expect(await problems()).toEqual(['The session S-9 was added; the ledger does not have it.'])
    rig.tamper(`PRAGMA foreign_keys = OFF; DELETE FROM audit_sessions`)
    expect(await problems()).toContain(`The session ${session} was removed; the ledger has it (entry 0).`)
  })

  it('are found out when a seal was added, removed or edited', async () => {
    const [open, session] = [await startSession('T-2'), await sealed()]
    rig.tamper(`UPDATE audit_sessions SET finalized_at = 'now' WHERE session_id = '${open}'`)
    expect(await problems()).toEqual([`The session ${open} is not what the ledger says (entry 0): finalized_at.`])
    rig.tamper(`INSERT INTO merkle_roots SELECT '${open}', root, 1, 0, 0, 'now', -1, leaf_hash FROM merkle_roots`)
    expect(await problems()).toEqual([`The seal ${open} was added; the ledger does not have it.`])
    rig.tamper(`DELETE FROM merkle_roots WHERE session_id = '${open}';
      UPDATE audit_sessions SET finalized_at = NULL WHERE session_id = '${open}'; UPDATE merkle_roots SET root = 'ab'`)
    expect(await problems()).toEqual([`The seal ${session} is not what the ledger says (entry 3): root.`])
    rig.tamper('DELETE FROM merkle_roots')
    expect(await problems()).toEqual([`The seal ${session} was removed; the ledger has it (entry 3).`])
  })

  it('cannot be compared where the intent was erased, and that is not wrong', async () => {
    const session = await sealed()
    await rig.ledger.eraseBody(0)
    rig.tamper(`UPDATE audit_sessions SET intent = 'bleed the radiators'`)
    const uncompared = [`The session ${session} cannot be compared (intent): the words of entry 0 were erased.`]
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: true, erased_count: 1, uncompared })
    expect(await rig.data('ledger_verify')).toMatchObject({ valid: true, erased_count: 1, uncompared })
    expect(await rig.data('audit_session_list')).toMatchObject({ sessions: [{ state: 'sealed' }] })
  })
})

describe('thoughts, held against the ledger by ledger_verify', () => {
  const findings = async (): Promise<unknown> => (await rig.data('ledger_verify', { full: true }))['findings']

  it('are found out when one was edited, removed, moved or added', async () => {
    const [first, second] = [await think('T-1'), await think('T-1')]
    expect(await findings()).toEqual([])
    rig.tamper(`UPDATE thought_records SET agent_id = 'mallory' WHERE log_index = 0`)
    const edited = `The thought ${String(first['id'])} is not what the ledger says (entry 0): agent_id.`
    expect(await findings()).toEqual([edited])
    rig.tamper(`UPDATE thought_records SET seq = -1 WHERE log_index = 1`)
    const moved = `The thought ${String(second['id'])} is not what the ledger says (entry 1): seq.`
    expect(await findings()).toEqual([edited, moved])
    rig.tamper(`UPDATE thought_records SET log_index = -1 WHERE log_index = 1`)
    expect(await findings()).toEqual([
      edited,
      `The thought ${String(second['id'])} was removed; the ledger has it (entry 1).`,
      `The thought ${String(second['id'])} was added; the ledger does not have it.`,
    ])
  })
})

describe('a verification beside a house that works', () => {
  it('takes what changes meanwhile as it is told', async () => {
    const ids = await Promise.all(Array.from({ length: 300 }, (_, count) => create({ title: `Task ${count}` })))
    const working = { on: true }
    const work = (async () => {
      for (let turn = 0; working.on; turn++) {
        const id = ids[turn % ids.length] ?? ''
        await rig.data('task_update', { id, patch: { title: `Turn ${turn}` } })
        await create()
        await think(id)
        await startSession()
        if (turn < 50) await rig.ledger.eraseBody(turn)
      }
    })()
    for (let count = 0; count < 2; count++) {
      expect(await rig.data('ledger_verify', { full: true })).toMatchObject({ valid: true, findings: [] })
      expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: true, problems: [] })
    }
    working.on = false
    await work
  })
})
