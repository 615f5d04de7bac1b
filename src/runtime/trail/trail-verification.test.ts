import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { plantTasks } from '../../../test/planted-task.ts'
import { runtimeRig } from '../../../test/runtime-rig.ts'
import type { Rig } from '../../../test/runtime-rig.ts'
import { runtimeSteps } from '../../../test/runtime-steps.ts'
import { runGeneratorWithoutYielding } from '../generator-runner.ts'
import { createThoughtReader } from './thought-reader-store.ts'
import { computeThoughtHash } from './thought.ts'
import { verifyThoughtTrail } from './trail-verification.ts'

let rig: Rig
beforeEach(async () => {
  rig = await runtimeRig()
  await plantTasks(rig, 'T-1', 'T-2')
})
afterEach(() => rig.close())

const { think, startSession } = runtimeSteps(() => rig)

describe('audit_verify_chain', () => {
  it('reports an empty trail as valid', async () => {
    expect(await rig.data('audit_verify_chain')).toEqual({
      valid: true,
      broken_count: 0,
      record_count: 0,
      missing_count: 0,
      erased_count: 0,
      by_task: [],
      broken_sessions: [],
      broken_tasks: [],
      problems: [],
      findings: [],
      log_size: 2,
    })
  })

  it('verifies the chain of each task separately', async () => {
    for (const task of ['T-2', 'T-1', 'T-2', 'T-1']) await think(task)
    expect(await rig.data('audit_verify_chain')).toMatchObject({
      valid: true,
      record_count: 4,
      by_task: [
        { task_id: 'T-2', valid: true, broken_count: 0, record_count: 2 },
        { task_id: 'T-1', valid: true, broken_count: 0, record_count: 2 },
      ],
    })
    const one = await rig.data('audit_verify_chain', { task_id: 'T-1' })
    expect(one).toMatchObject({ valid: true, record_count: 2 })
    expect(one).not.toHaveProperty('by_task')
  })

  it('detects a rewritten agent_id, which no hash of the chain covers', async () => {
    const thought = await think('T-1')
    rig.tamper(`UPDATE thought_records SET agent_id = 'mallory'`)
    expect(await rig.data('audit_verify_chain', { task_id: 'T-1' })).toMatchObject({
      valid: false,
      broken_count: 1,
      first_broken_at: thought['id'],
      findings: [{ flaw: 'ledger', log_index: 2 }],
    })
  })

  it.each(['session_id', 'principal', 'timestamp', 'type', 'prev_hash', 'hash', 'leaf_hash', 'id'])(
    'detects a rewritten %s',
    async (column) => {
      const session = await startSession('T-1')
      await think('T-1')
      const value = column === 'session_id' ? 'NULL' : column === 'type' ? `'decision'` : `'changed'`
      rig.tamper(`UPDATE thought_records SET ${column} = ${value} WHERE session_id = '${session}'`)
      expect(await rig.data('audit_verify_chain', { task_id: 'T-1' })).toMatchObject({ valid: false, broken_count: 1 })
    },
  )

  it('detects a record moved to another task, for both tasks', async () => {
    await think('T-1')
    rig.tamper(`UPDATE thought_records SET task_id = 'T-2'`)
    expect(await rig.data('audit_verify_chain', { task_id: 'T-1' })).toMatchObject({ valid: false })
    expect(await rig.data('audit_verify_chain', { task_id: 'T-2' })).toMatchObject({ valid: false })
  })

  it('detects rewritten content', async () => {
    await think('T-1')
    rig.tamperLog('Upstairs', 'Downward')
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: false, findings: [{ flaw: 'content' }] })
  })

  it('detects content that was deleted but not erased on record', async () => {
    await think('T-1')
    rig.loseBodies()
    expect(await rig.data('audit_verify_chain')).toMatchObject({
      valid: false,
      erased_count: 0,
      findings: [{ flaw: 'content' }],
    })
  })

  it('accepts content that was erased on record', async () => {
    const thought = await think('T-1')
    await think('T-1')
    await rig.ledger.eraseBody(Number(thought['log_index']))
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: true, record_count: 2, erased_count: 1 })
  })

  it('accepts content that was erased during the verification', async () => {
    const thought = await think('T-1')
    const { sql } = rig.database
    const trail = {
      leaves: rig.ledger.leaves,
      thoughts: createThoughtReader(sql),
    }
    const walk = verifyThoughtTrail(trail, { from: 0, to: rig.ledger.size() })
    await rig.ledger.eraseBody(Number(thought['log_index']))
    expect(runGeneratorWithoutYielding(walk)).toMatchObject({
      broken_count: 0,
      record_count: 1,
      erased_count: 1,
      findings: [],
    })
  })

  it('detects a deleted chain of a task', async () => {
    const thought = await think('T-1')
    await think('T-1')
    await think('T-2')
    rig.tamper(`DELETE FROM thought_records WHERE task_id = 'T-1'`)
    expect(await rig.data('audit_verify_chain', { task_id: 'T-1' })).toMatchObject({
      valid: false,
      record_count: 0,
      missing_count: 2,
      first_broken_at: thought['id'],
    })
    expect(await rig.data('audit_verify_chain')).toMatchObject({
      valid: false,
      by_task: [
        { task_id: 'T-1', valid: false, missing_count: 2 },
        { task_id: 'T-2', valid: true },
      ],
    })
  })

  it('detects that the newest record was deleted', async () => {
    await think('T-1')
    await think('T-1')
    rig.tamper('DELETE FROM thought_records WHERE log_index = 3')
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: false, missing_count: 1, record_count: 1 })
  })

  it('detects a deleted record in the middle, by its absence and by the broken link', async () => {
    for (let count = 0; count < 3; count++) await think('T-1')
    rig.tamper('DELETE FROM thought_records WHERE log_index = 3')
    expect(await rig.data('audit_verify_chain')).toMatchObject({
      broken_count: 1,
      missing_count: 1,
      findings: [{ flaw: 'missing' }, { flaw: 'link' }],
    })
  })

  it('detects a record that is not in the ledger', async () => {
    await think('T-1')
    rig.tamper(`INSERT INTO thought_records SELECT 6, 'forged', type, 'T-9', agent_id, session_id, timestamp, prev_hash,
      hash, principal, client, public_key, signature, 7, leaf_hash FROM thought_records`)
    expect(await rig.data('audit_verify_chain', { task_id: 'T-9' })).toMatchObject({ valid: false, broken_count: 1 })
  })

  it('detects records whose order was changed', async () => {
    await think('T-1')
    await think('T-2')
    rig.tamper('UPDATE thought_records SET seq = 5 WHERE seq = 3')
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: false, findings: [{ flaw: 'order' }] })
  })

  it('detects a chain that was rebuilt completely with matching hashes', async () => {
    const first = await think('T-1')
    const rebuilt = computeThoughtHash({ ...first, content: 'Downward.' } as never)
    rig.tamper(`UPDATE thought_records SET hash = '${rebuilt}'`)
    rig.tamperLog('Upstairs.', 'Downward.')
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: false, broken_count: 1 })
  })

  it.each([
    ['a session dropped', 'DELETE FROM audit_sessions'],
    ['a session given another task', `UPDATE audit_sessions SET task_id = 'T-2'`],
    ['a seal taken away', 'DELETE FROM merkle_roots'],
    ['a root exchanged', `UPDATE merkle_roots SET root = '${'0'.repeat(64)}'`],
    ['a session opened again', 'UPDATE audit_sessions SET finalized_at = NULL'],
  ])('detects %s', async (_, sql) => {
    const session = await startSession('T-1')
    await think('T-1')
    await rig.data('merkle_finalize', { session_id: session })
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: true, broken_sessions: [] })
    rig.tamper(`PRAGMA foreign_keys = OFF; ${sql}; PRAGMA foreign_keys = ON`)
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: false, broken_sessions: [session] })
  })

  it('verifies a long trail in steps and stops when the caller has cancelled', async () => {
    await rig.database.commit(() => {
      for (let count = 0; count < 2_500; count++) rig.ledger.appendIn({ kind: 'test.noise' })
    })
    await think('T-1')
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: true, record_count: 1, log_size: 2_503 })
    const gone = AbortSignal.abort()
    expect(await rig.error('audit_verify_chain', {}, { signal: gone })).toMatchObject({ code: 'CANCELLED' })
  })
})
