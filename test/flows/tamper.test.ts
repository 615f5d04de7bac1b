/**
 * Somebody with the disk in hand. Each tampering is tried on a copy of a real data directory and shown to the commands
 * that an owner would use.
 */
import { createPrivateKey, createSecretKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deriveTailMacKey } from '../../src/ledger/entry-group.ts'
import { createLogSigner } from '../../src/ledger/note-key.ts'
import { createHome, runCommandSync, startGatewayProcess } from '../gateway-process.ts'
import type { EndedCommand, Home } from '../gateway-process.ts'
import { edited, editTail, rewriteLog } from '../ledger-attack.ts'
import { callTool } from '../modern-request.ts'

let home: Home
/** As it was before the last calls: an old backup. */
let old: string
const copies: string[] = []

beforeAll(async () => {
  home = createHome()
  let gateway = await startGatewayProcess(home)
  await work(gateway.url, 'first')
  await gateway.stop()
  old = copyOf(home.data)
  gateway = await startGatewayProcess(home)
  await work(gateway.url, 'second')
  await gateway.stop()
  cli(home.data, 'token', 'create', 'lamp', '--role', 'observer')
})
afterAll(() => {
  home.remove()
  for (const copy of copies) rmSync(copy, { recursive: true, force: true })
})

async function work(url: string, title: string): Promise<void> {
  const created = await callTool(url, 'task_create', { title })
  const { data } = (created.body.result ?? {})['structuredContent'] as { data: { id: string } }
  await callTool(url, 'audit_session_start', { intent: `see to the ${title}`, task_id: data.id })
  for (const content of ['look', 'decide', 'look back'])
    await callTool(url, 'thought_record', { type: 'analysis', task_id: data.id, agent_id: 'claude', content })
}

function copyOf(data: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'hearthbus-copy-'))
  copies.push(copy)
  cpSync(data, copy, { recursive: true })
  return copy
}

/** Changes a copy behind everybody's back, past the triggers that keep honest programs honest. */
function tampered(change: (sql: DatabaseSync) => void): string {
  const copy = copyOf(home.data)
  const sql = new DatabaseSync(join(copy, 'hearthbus.db'))
  sql.exec('PRAGMA foreign_keys = OFF; PRAGMA writable_schema = OFF')
  const triggers = sql.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").all()
  for (const { name } of triggers) sql.exec(`DROP TRIGGER "${String(name)}"`)
  change(sql)
  for (const trigger of triggers) sql.exec(String(trigger['sql']))
  sql.close()
  return copy
}

function cli(data: string, ...words: readonly string[]): EndedCommand {
  return runCommandSync({ ...home, data }, ...words)
}

/** The secret of the node's own tail: what somebody with the keys has. */
function keyOf(data: string): KeyObject {
  const key = createPrivateKey(readFileSync(join(data, 'keys', 'node.key')))
  return deriveTailMacKey(createLogSigner('whatever', key))
}

async function chainVerdict(data: string): Promise<unknown> {
  const gateway = await startGatewayProcess({ ...home, data })
  const { body } = await callTool(gateway.url, 'audit_verify_chain', {})
  await gateway.kill()
  return body.result?.['structuredContent']
}

describe('a ledger that was edited', () => {
  it('verifies as long as nothing was changed', () => {
    expect(cli(home.data, 'ledger', 'verify')).toMatchObject({
      status: 0,
      text: expect.stringContaining('all in order'),
    })
  })

  it('is detected by one changed byte', () => {
    const copy = copyOf(home.data)
    editTail(join(copy, 'ledger'), '"kind":"thought"', '"kind":"thougat"')
    expect(cli(copy, 'ledger', 'verify').status).toBe(5)
    expect(cli(copy, 'up').status).toBe(5)
  })

  it('is detected when its tail was cut off', async () => {
    const copy = copyOf(home.data)
    await rewriteLog(join(copy, 'ledger'), keyOf(copy), (entries) => entries.slice(0, -3))
    const { status, text } = cli(copy, 'ledger', 'verify')
    expect([status, text.includes('missing') || text.includes('signed')]).toEqual([5, true])
    expect(cli(copy, 'up').status).toBe(5)
  })

  it('is detected when an agent_id was rewritten together with all hashes', async () => {
    const copy = copyOf(home.data)
    await rewriteLog(join(copy, 'ledger'), keyOf(copy), (entries) =>
      entries.map((entry) => edited(entry, '"claude"', '"nobody"')),
    )
    expect(cli(copy, 'ledger', 'verify').status).toBe(5)
  })

  it('prevents the start with an approval appended while the gateway was stopped', async () => {
    const forged = (seq: number): string =>
      `{"at":"2026-01-01T00:00:00.000Z","by":"owner","kind":"approval.approved","seq":${seq},"v":1}`
    for (const key of [createSecretKey(new Uint8Array(32)), keyOf(home.data)]) {
      const copy = copyOf(home.data)
      await rewriteLog(join(copy, 'ledger'), key, (entries) => [
        ...entries,
        { bytes: Buffer.from(forged(entries.length)) },
      ])
      expect(cli(copy, 'up').status).toBe(5)
      expect(cli(copy, 'ledger', 'verify').status).toBe(5)
    }
  })

  it('prevents the start with a planted trigger', () => {
    const copy = copyOf(home.data)
    const sql = new DatabaseSync(join(copy, 'hearthbus.db'))
    sql.exec(`CREATE TRIGGER helpful AFTER INSERT ON tasks BEGIN
      UPDATE tasks SET status = 'DONE'; END`)
    sql.close()
    expect(cli(copy, 'up')).toMatchObject({ status: 5, text: expect.stringContaining('helpful') })
    expect(cli(copy, 'ledger', 'verify').text).toContain('trigger helpful is not the one this program made')
  })

  it('is detected by a record whose agent_id was rewritten in the database', async () => {
    const copy = tampered((sql) => sql.exec("UPDATE thought_records SET agent_id = 'nobody'"))
    expect(await chainVerdict(copy)).toMatchObject({ ok: true, data: { valid: false } })
  })

  it('is detected when the whole thought chain of a task was deleted', async () => {
    const copy = tampered((sql) =>
      sql.exec('DELETE FROM thought_records WHERE task_id = (SELECT task_id FROM thought_records LIMIT 1)'),
    )
    expect(await chainVerdict(copy)).toMatchObject({ ok: true, data: { valid: false } })
  })

  it.each([
    ['a task that says DONE', "UPDATE tasks SET status = 'DONE' WHERE title = 'first'", 'task', 'status'],
    ['the title of a task', "UPDATE tasks SET title = 'third' WHERE title = 'first'", 'task', 'title'],
    ['a task that was deleted', "DELETE FROM tasks WHERE title = 'first'", 'task', 'was removed'],
    [
      'a task that was added',
      `INSERT INTO tasks (seq, id, title, status, priority_rank, created_at, updated_at, version, attempt, log_index, set_by)
       SELECT -9223372036854775807, 'T-9', 'third', status, priority_rank, created_at, updated_at, version, attempt,
         log_index, set_by FROM tasks WHERE title = 'first'`,
      'task T-9',
      'was added',
    ],
    ['the intent of a session', "UPDATE audit_sessions SET intent = 'see to nothing'", 'session', 'intent'],
    ['a thought', "UPDATE thought_records SET agent_id = 'nobody'", 'thought', 'agent_id'],
  ])('is detected by %s, by the command and by the tools', async (_, change, what, why) => {
    const copy = tampered((sql) => sql.exec(change))
    const { status, text } = cli(copy, 'ledger', 'verify')
    expect(status).toBe(5)
    expect(text).toMatch(new RegExp(`^The ${what} .*${why}`, 'm'))
    expect(cli(copy, 'doctor').text).toMatch(new RegExp(`The ${what} .*${why}`))
    expect(await chainVerdict(copy)).toMatchObject({ ok: true, data: { valid: false } })
  })

  it('prevents the start with an old copy of the database, and the message says what to do', () => {
    const restored = copyOf(home.data)
    cpSync(join(old, 'hearthbus.db'), join(restored, 'hearthbus.db'))
    for (const rest of ['-wal', '-shm']) rmSync(join(restored, `hearthbus.db${rest}`), { force: true })
    const { status, text } = cli(restored, 'up')
    expect(status).toBe(5)
    expect(text).toContain('an older copy of the database was restored')
    expect(cli(restored, 'ledger', 'checkpoint').status).toBe(5)
    expect(cli(restored, 'doctor').status).toBe(5)
  })

  it('verifies as an export without a database, and not when a tile was removed', () => {
    const exported = mkdtempSync(join(tmpdir(), 'hearthbus-tiles-'))
    copies.push(exported)
    const { text } = cli(home.data, 'ledger', 'export', exported)
    const vkey = /--vkey (\S+)/.exec(text)?.[1] ?? ''
    expect(cli('/nonexistent', 'ledger', 'verify', '--export', exported, '--vkey', vkey).status).toBe(0)
    rmSync(join(exported, 'tile', '0'), { recursive: true })
    expect(cli('/nonexistent', 'ledger', 'verify', '--export', exported, '--vkey', vkey).status).toBe(5)
  })
})
