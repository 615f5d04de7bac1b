import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { plantTasks } from '../../../test/planted-task.ts'
import { runtimeRig } from '../../../test/runtime-rig.ts'
import type { Rig } from '../../../test/runtime-rig.ts'
import { createLogOnlyPolicy } from '../../ledger/tlog-policy.ts'
import { verifyTlogProof } from '../../ledger/tlog-proof.ts'
import { computeAuditSessionRoot } from './session-tree.ts'

let rig: Rig
beforeEach(async () => {
  rig = await runtimeRig()
  await plantTasks(rig, 'T-1', 'T-2')
})
afterEach(() => rig.close())

async function startSession(): Promise<string> {
  return String((await rig.data('audit_session_start', { intent: 'bleed the radiators' }))['session_id'])
}

async function think(session: string, content = 'Upstairs.'): Promise<string> {
  const thought = { type: 'plan', task_id: 'T-1', agent_id: 'ada', content, session_id: session }
  return String((await rig.data('thought_record', thought))['hash'])
}

function sha256(...parts: readonly (string | Buffer)[]): Buffer {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

describe('audit_session_start', () => {
  it('creates the session id and records the start in the ledger', async () => {
    const session = await rig.data('audit_session_start', { intent: 'bleed the radiators', task_id: 'T-1' })
    expect(session).toEqual({
      session_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      intent: 'bleed the radiators',
      task_id: 'T-1',
      started_at: '2026-01-01T00:00:00.000Z',
      log_index: 2,
    })
    expect(rig.entries('session.start')).toMatchObject([{ session_id: session['session_id'], task_id: 'T-1' }])
  })

  it('refuses a session id given by the caller, whether it is in use or not', async () => {
    const taken = await startSession()
    expect(await rig.answer('audit_session_start', { intent: 'x', session_id: taken })).toMatchObject({
      isError: false,
      structured: { ok: true, data: { ok: false, error: { code: 'ERR_SESSION_EXISTS', session_id: taken } } },
    })
    expect(await rig.error('audit_session_start', { intent: 'x', session_id: 'mine' })).toMatchObject({
      code: 'ERR_SESSION_ID_REFUSED',
    })
    expect(rig.entries('session.start')).toHaveLength(1)
  })
})

describe('merkle_finalize', () => {
  it('seals a session recorded through the tools: root, range, checkpoint and proof', async () => {
    const session = await startSession()
    const hashes = [await think(session), await think(session, 'Downstairs.'), await think(session, 'Done.')]
    const sealed = await rig.data('merkle_finalize', { session_id: session })
    const leaves = hashes.map((hash) => sha256(Buffer.of(0), Buffer.from(hash, 'hex')))
    const [a, b, c] = leaves as [Buffer, Buffer, Buffer]
    const root = sha256(Buffer.of(1), sha256(Buffer.of(1), a, b), c).toString('hex')
    expect(sealed).toMatchObject({
      session_id: session,
      root,
      record_count: 3,
      timestamp: '2026-01-01T00:00:00.000Z',
      first_index: 3,
      last_index: 5,
      log_index: 6,
      checkpoint: expect.stringMatching(/^hearthbus\.test\/runtime\n7\n/),
      proof: expect.stringMatching(/^c2sp\.org\/tlog-proof@v1\nindex 6\n/),
    })
    const entry = rig.ledger.entry(6)
    const verified = verifyTlogProof(
      String(sealed['proof']),
      entry?.bytes ?? Buffer.of(),
      createLogOnlyPolicy(rig.ledger.verifierKey),
    )
    expect(verified.ok).toBe(true)
    expect(entry?.entry).toMatchObject({ kind: 'session.final', root, record_count: 3, first_index: 3, last_index: 5 })
  })

  it('returns an error for an unknown session, an empty session and a finalized session', async () => {
    expect(await rig.error('merkle_finalize', { session_id: 'mine' })).toMatchObject({ code: 'ERR_SESSION_NOT_FOUND' })
    const session = await startSession()
    expect(await rig.error('merkle_finalize', { session_id: session })).toMatchObject({ code: 'ERR_NO_RECORDS' })
    await think(session)
    await rig.data('merkle_finalize', { session_id: session })
    expect(await rig.answer('merkle_finalize', { session_id: session })).toMatchObject({
      isError: false,
      structured: { ok: true, data: { ok: false, error: { code: 'ERR_ALREADY_FINALIZED' } } },
    })
    expect(rig.entries('session.final')).toHaveLength(1)
  })

  it('seals a session once when it is called three times at the same moment', async () => {
    const session = await startSession()
    await think(session)
    const answers = await Promise.all([1, 2, 3].map(() => rig.answer('merkle_finalize', { session_id: session })))
    expect(answers.filter(({ structured }) => structured.data?.['root'] !== undefined)).toHaveLength(1)
    expect(rig.entries('session.final')).toHaveLength(1)
  })

  it.each([
    ['a record was changed', `UPDATE thought_records SET agent_id = 'mallory'`],
    ['a record was deleted', 'DELETE FROM thought_records WHERE log_index = 4'],
    ['every record was deleted', 'DELETE FROM thought_records'],
    ['a record was moved out of the session', 'UPDATE thought_records SET session_id = NULL WHERE log_index = 4'],
  ])('verifies the records first and seals nothing when %s', async (_, sql) => {
    const session = await startSession()
    await think(session)
    await think(session)
    rig.tamper(sql)
    expect(await rig.error('merkle_finalize', { session_id: session })).toMatchObject({ code: 'ERR_CHAIN_BROKEN' })
    expect(await rig.error('merkle_root', { session_id: session })).toMatchObject({ code: 'ERR_NOT_FINALIZED' })
  })

  it('verifies only the records of its own session', async () => {
    const other = await startSession()
    await think(other)
    rig.tamper(`UPDATE thought_records SET agent_id = 'mallory'`)
    const session = await startSession()
    await think(session)
    expect(await rig.data('merkle_finalize', { session_id: session })).toMatchObject({ record_count: 1 })
  })

  it('stores the root so that merkle_root returns it after a restart', async () => {
    const session = await startSession()
    await think(session)
    const {
      checkpoint: _c,
      proof: _p,
      left_out: _l,
      left_out_count: _n,
      ...sealed
    } = await rig.data('merkle_finalize', { session_id: session })
    rig.database.close()
    const again = await runtimeRig({ folder: rig.folder })
    expect(await again.data('merkle_root', { session_id: session })).toEqual(sealed)
    again.close()
  })
})

describe('merkle_root', () => {
  it('returns an error for a session that is open or unknown', async () => {
    const session = await startSession()
    expect(await rig.error('merkle_root', { session_id: session })).toMatchObject({ code: 'ERR_NOT_FINALIZED' })
    expect(await rig.error('merkle_root', { session_id: 'mine' })).toMatchObject({ code: 'ERR_SESSION_NOT_FOUND' })
  })
})

describe('a sealed root', () => {
  it('is not returned after it was altered in the table', async () => {
    const session = await startSession()
    await think(session)
    await rig.data('merkle_finalize', { session_id: session })
    rig.tamper(`UPDATE merkle_roots SET root = '${'0'.repeat(64)}'`)
    expect(await rig.error('merkle_root', { session_id: session })).toMatchObject({ code: 'ERR_CHAIN_BROKEN' })
  })
})

describe('session root', () => {
  const hash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'))

  it('commits to the order of the records', () => {
    fc.assert(
      fc.property(fc.uniqueArray(hash, { minLength: 2, maxLength: 20 }), (hashes) => {
        expect(computeAuditSessionRoot(hashes.toReversed())).not.toBe(computeAuditSessionRoot(hashes))
      }),
    )
  })

  it('differs from the root over interior nodes used as records', () => {
    const records = ['11', '22', '33', '44'].map((byte) => byte.repeat(32))
    const pairs = [records.slice(0, 2), records.slice(2)].map(computeAuditSessionRoot)
    expect(computeAuditSessionRoot(pairs)).not.toBe(computeAuditSessionRoot(records))
  })
})

describe('audit_session_list', () => {
  it('lists open and sealed sessions, newest first, with roots checked against the ledger', async () => {
    const sealed = await startSession()
    await think(sealed)
    const { root } = await rig.data('merkle_finalize', { session_id: sealed })
    const open = await startSession()
    expect(await rig.data('audit_session_list')).toEqual({
      sessions: [
        expect.objectContaining({ session_id: open, state: 'open', record_count: 0, root: null, seal_index: null }),
        expect.objectContaining({
          session_id: sealed,
          intent: 'bleed the radiators',
          started_by: 'tester',
          state: 'sealed',
          record_count: 1,
          root,
          log_index: 2,
          seal_index: 4,
        }),
      ],
    })
  })

  it('filters by task, for sessions started for the task or holding a record about it', async () => {
    await startSession()
    const about = await startSession()
    await think(about)
    const begun = String((await rig.data('audit_session_start', { intent: 'x', task_id: 'T-1' }))['session_id'])
    const listed = await rig.data('audit_session_list', { task_id: 'T-1' })
    expect((listed['sessions'] as { session_id: string }[]).map(({ session_id: id }) => id)).toEqual([begun, about])
  })

  it('continues at the cursor where the last page ended', async () => {
    const ids = [await startSession(), await startSession(), await startSession()]
    const first = await rig.data('audit_session_list', { limit: 2 })
    const rest = await rig.data('audit_session_list', { limit: 2, cursor: String(first['next_cursor']) })
    const seen = [first, rest].flatMap((part) => part['sessions'] as { session_id: string }[])
    expect(seen.map(({ session_id: id }) => id)).toEqual(ids.toReversed())
    expect(rest['next_cursor']).toBeUndefined()
  })

  it.each([
    ['its root was exchanged', `UPDATE merkle_roots SET root = 'ff'`],
    ['its seal was taken away', 'DELETE FROM merkle_roots'],
    ['it was given another task', `UPDATE audit_sessions SET task_id = 'T-2'`],
  ])('calls a session broken when %s', async (_, sql) => {
    const session = await startSession()
    await think(session)
    await rig.data('merkle_finalize', { session_id: session })
    rig.tamper(sql)
    expect(await rig.data('audit_session_list')).toMatchObject({ sessions: [{ state: 'broken' }] })
  })
})
