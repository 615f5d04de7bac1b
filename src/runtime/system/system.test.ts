import { generateKeyPairSync } from 'node:crypto'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runtimeRig } from '../../../test/runtime-rig.ts'
import type { Rig } from '../../../test/runtime-rig.ts'
import { toBase64, fromBase64, toUtf8 } from '../../core/bytes.ts'
import { verifyAndParseCheckpoint } from '../../ledger/checkpoint.ts'
import { signNote, verifyNote } from '../../ledger/signed-note.ts'
import { createCosigner, parseVerifierKey } from '../../ledger/note-key.ts'
import { createLogOnlyPolicy } from '../../ledger/tlog-policy.ts'
import { verifyTlogProof } from '../../ledger/tlog-proof.ts'
import { verifyConsistency } from '../../ledger/tree.ts'
import { checkDisk, findWorstStatus, checkLockQueue } from './health-checks.ts'

let rig: Rig
let waiting = 0
beforeEach(async () => {
  waiting = 0
  rig = await runtimeRig({ waiting: () => waiting })
})
afterEach(() => rig.close())

describe('server_ping', () => {
  it('answers with version, mode, phase and uptime', async () => {
    rig.clock.advance(1_234.5)
    expect(await rig.data('server_ping')).toEqual({
      pong: true,
      version: '9.9.9',
      mode: 'full',
      phase: 'phase2',
      uptime_ms: 1_234,
    })
    await rig.service.stop()
    expect(await rig.data('server_ping')).toMatchObject({ phase: 'phase1' })
    expect(await rig.error('server_ping', { louder: true })).toMatchObject({ code: 'INVALID_PARAMS' })
  })
})

describe('server_health', () => {
  it('has the six fields of the spec and the figures of each check', async () => {
    expect(await rig.data('server_health')).toMatchObject({
      status: 'ok',
      version: '9.9.9',
      uptime_ms: 0,
      db_tables: expect.any(Number),
      phase: 'phase2',
      mode: 'full',
      checks: {
        database: { status: 'ok', figures: { write_ms: 0 } },
        ledger: { status: 'ok', figures: { size: 0, forked: false, signed_size: null, unsigned_entries: 0 } },
        disk: { status: expect.any(String), figures: { free_bytes: expect.any(Number) } },
        queue: { status: 'ok', figures: { waiting: 0, limit: 64 } },
      },
    })
    const tables = rig.database.sql.prepare(
      `SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'`,
    )
    expect(await rig.data('server_health')).toMatchObject({ db_tables: tables.get()?.['n'] })
  })

  it('is failing when the database cannot be written', async () => {
    rig.database.sql.exec(
      `CREATE TRIGGER no BEFORE INSERT ON runtime_probe BEGIN SELECT RAISE(ABORT, 'disk on fire'); END`,
    )
    expect(await rig.data('server_health')).toMatchObject({
      status: 'failing',
      checks: { database: { status: 'failing', message: 'The database cannot be written: disk on fire' } },
    })
  })

  it('is degraded when no checkpoint was signed for five minutes, until one is signed', async () => {
    await rig.data('task_create', { title: 'x' })
    rig.clock.advance(300_001)
    expect(await rig.data('server_health')).toMatchObject({
      status: 'degraded',
      checks: { ledger: { status: 'degraded', figures: { unsigned_entries: 1 } } },
    })
    expect(rig.service.health()).toMatchObject({ status: 'degraded' })
    await rig.data('ledger_checkpoint')
    expect(await rig.data('server_health')).toMatchObject({
      checks: { ledger: { status: 'ok', figures: { signed_size: 1, last_checkpoint_age_ms: 300_001 } } },
    })
  })

  it('reports the age of the newest checkpoint that a witness has cosigned', async () => {
    await rig.data('task_create', { title: 'x' })
    const signed = await rig.ledger.checkpoint()
    if (!signed.ok) throw new Error('not signed')
    expect(await rig.data('server_health')).toMatchObject({
      checks: { ledger: { figures: { last_cosigned_age_ms: null } } },
    })
    const witness = createCosigner('witness.test/w', generateKeyPairSync('ed25519').privateKey, () => 0)
    const cosigned = verifyNote(signNote(signed.value.note.text, [witness]), [witness.key])
    if (!cosigned.ok) throw new Error('not cosigned')
    await rig.ledger.addCosignatures(signed.value, cosigned.value)
    rig.clock.advance(5_000)
    await rig.data('task_create', { title: 'y' })
    await rig.ledger.checkpoint()
    rig.clock.advance(2_000)
    expect(await rig.data('server_health')).toMatchObject({
      checks: { ledger: { figures: { last_checkpoint_age_ms: 2_000, last_cosigned_age_ms: 7_000, cosignatures: 0 } } },
    })
  })

  it('is failing when the database is an older copy of what was signed', async () => {
    await rig.data('task_create', { title: 'x' })
    const copy = rig.database.sql.prepare(`VACUUM INTO ?`)
    copy.run(join(rig.folder, 'copy.db'))
    await rig.data('task_create', { title: 'y' })
    await rig.data('ledger_checkpoint')
    rig.database.close()
    for (const suffix of ['-wal', '-shm']) rmSync(join(rig.folder, `node.db${suffix}`), { force: true })
    copyFileSync(join(rig.folder, 'copy.db'), join(rig.folder, 'node.db'))
    const restored = await runtimeRig({ folder: rig.folder })
    expect(await restored.data('server_health')).toMatchObject({
      status: 'failing',
      checks: {
        ledger: { status: 'failing', message: expect.stringContaining('older copy'), figures: { forked: true } },
      },
    })
    expect(restored.service.health()).toMatchObject({ status: 'failing' })
    expect(await restored.error('task_create', { title: 'z' })).toMatchObject({ code: 'HANDLER_ERROR' })
    expect(await restored.error('ledger_checkpoint')).toMatchObject({ details: { code: 'ERR_LEDGER_UNSOUND' } })
    restored.close()
  })

  it('reports a filling lock queue and a filling disk as degraded or failing', async () => {
    waiting = 32
    expect(await rig.data('server_health')).toMatchObject({ checks: { queue: { status: 'degraded' } } })
    expect(checkLockQueue({ waiting: 31, limit: 64 }).status).toBe('ok')
    expect(checkDisk(64 * 1_048_576 - 1).status).toBe('failing')
    expect(checkDisk(512 * 1_048_576 - 1).status).toBe('degraded')
    expect(checkDisk(512 * 1_048_576).status).toBe('ok')
  })

  it('also tests the write access of the database in read-only mode', async () => {
    const readonly = await runtimeRig({ config: { mode: 'readonly' } })
    expect(await readonly.data('server_health')).toMatchObject({
      mode: 'readonly',
      checks: { database: { status: 'ok' } },
    })
    readonly.close()
  })

  it('has the status of its worst check', () => {
    const check = (status: 'ok' | 'degraded' | 'failing' | 'skipped') => ({ status, figures: {} })
    expect(findWorstStatus([check('skipped')])).toBe('ok')
    expect(findWorstStatus([check('ok'), check('degraded'), check('skipped')])).toBe('degraded')
    expect(findWorstStatus([check('failing'), check('degraded')])).toBe('failing')
  })
})

describe('ledger tools', () => {
  it('sign a checkpoint that can be verified with the public key alone', async () => {
    await rig.data('task_create', { title: 'x' })
    const signed = await rig.data('ledger_checkpoint')
    expect(signed).toMatchObject({ origin: 'hearthbus.test/runtime', size: 1, cosignatures: 0 })
    const key = parseVerifierKey(String(signed['verifier_key']))
    expect(key.ok && verifyAndParseCheckpoint(String(signed['checkpoint']), key.value)).toMatchObject({
      ok: true,
      value: { checkpoint: { size: 1 } },
    })
  })

  it('prove an entry with an answer that can be verified on its own', async () => {
    const { log_index } = await rig.data('task_create', { title: 'x' })
    const proof = await rig.data('ledger_proof', { log_index: Number(log_index) })
    expect(proof).toMatchObject({ log_index: 0, body: 'kept', leaf_hash: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(JSON.parse(String(proof['leaf']))).toMatchObject({ kind: 'task.created', seq: 0 })
    const key = parseVerifierKey(String(proof['verifier_key']))
    if (!key.ok) throw new Error('no key')
    const [text, leaf] = [String(proof['proof']), String(proof['leaf'])]
    expect(verifyTlogProof(text, toUtf8(leaf), createLogOnlyPolicy(key.value))).toMatchObject({ ok: true })
    expect(verifyTlogProof(text, toUtf8(leaf.replace('INIT', 'DONE')), createLogOnlyPolicy(key.value))).toMatchObject({
      ok: false,
    })
  })

  it('prove that the log is an extension of an earlier size', async () => {
    for (const title of ['a', 'b', 'c', 'd', 'e']) await rig.data('task_create', { title })
    const proof = await rig.data('ledger_consistency', { from_size: 3 })
    const bytes = (text: unknown): Uint8Array => fromBase64(String(text)) ?? new Uint8Array()
    const claim = {
      from: 3,
      to: 5,
      fromRoot: bytes(proof['from_root']),
      toRoot: bytes(proof['to_root']),
      path: (proof['proof'] as string[]).map(bytes),
    }
    expect(proof['to_root']).toBe(toBase64(rig.ledger.root()))
    expect(verifyConsistency(claim)).toBe(true)
  })

  it('return ERR_OUT_OF_RANGE for an index or a size beyond the log', async () => {
    for (const [name, args] of [
      ['ledger_proof', { log_index: 0 }],
      ['ledger_consistency', { from_size: 1 }],
      ['ledger_consistency', { from_size: 0, to_size: 9 }],
    ] as const)
      expect(await rig.error(name, args)).toMatchObject({
        code: 'HANDLER_ERROR',
        details: { code: 'ERR_OUT_OF_RANGE' },
      })
    expect(await rig.error('ledger_proof', { log_index: -1 })).toMatchObject({ code: 'INVALID_PARAMS' })
  })

  it('verify the whole log and then only new entries, and find a changed byte', async () => {
    await rig.data('task_create', { title: 'a' })
    await rig.data('ledger_checkpoint')
    expect(await rig.data('ledger_verify')).toMatchObject({
      valid: true,
      from: 0,
      size: 1,
      findings: [],
      state: 'sound',
    })
    await rig.data('task_create', { title: 'b' })
    expect(await rig.data('ledger_verify')).toMatchObject({ valid: true, size: 2 })
    rig.tamperLog('tester', 'tosser')
    const report = await rig.data('ledger_verify', { full: true })
    expect(report).toMatchObject({ valid: false, from: 0 })
    expect(report['findings']).not.toEqual([])
  })

  it('stop verifying when the caller has cancelled', async () => {
    await rig.database.commit(() => {
      for (let count = 0; count < 600; count++) rig.ledger.appendIn({ kind: 'test.noise' })
    })
    expect(await rig.error('ledger_verify', { full: true }, { signal: AbortSignal.abort() })).toMatchObject({
      code: 'CANCELLED',
    })
  })
})
