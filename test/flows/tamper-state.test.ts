/**
 * Somebody with write access to the data directory, and no key, tries to get power: with the gateway stopped and with it
 * running, by editing, adding, removing, planting, and by putting back what was used. Every try ends in a refusal to
 * start, or has no effect and is a finding.
 */
import { createHash, randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHome, runCommandSync, startGatewayProcess } from '../gateway-process.ts'
import type { EndedCommand, GatewayProcess, Home } from '../gateway-process.ts'
import { callTool } from '../modern-request.ts'

let home: Home
let taskId: string
const copies: string[] = []

beforeAll(async () => {
  home = createHome()
  const gateway = await startGatewayProcess(home)
  taskId = String((await tool(gateway, 'task_create', { title: 'Bleed the radiators' }))['id'])
  await tool(gateway, 'audit_session_start', { intent: 'see to it', task_id: taskId })
  await tool(gateway, 'thought_record', { type: 'plan', task_id: taskId, agent_id: 'ada', content: 'upstairs first' })
  cli(home.data, 'token', 'create', 'lamp', '--role', 'observer')
  await gateway.stop()
})
afterAll(() => {
  home.remove()
  for (const copy of copies) rmSync(copy, { recursive: true, force: true })
})

function cli(data: string, ...words: readonly string[]): EndedCommand {
  return runCommandSync({ ...home, data }, ...words)
}

async function tool(gateway: GatewayProcess, name: string, args: object): Promise<Record<string, unknown>> {
  const { body } = await callTool(gateway.url, name, args)
  return ((body.result ?? {})['structuredContent'] as { data: Record<string, unknown> }).data
}

function copyOf(data: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'hearthbus-attacked-'))
  copies.push(copy)
  cpSync(data, copy, { recursive: true })
  return copy
}

function edit(data: string, sql: string, name = 'hearthbus.db'): void {
  const file = new DatabaseSync(join(data, name))
  file.exec('PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = OFF')
  file.exec(sql)
  file.close()
}

const forged = `hb_${randomBytes(32).toString('base64url')}`
const forgedHash = createHash('sha256').update(forged).digest('hex')

/** What only an admin may see. */
async function tokensWith(gateway: GatewayProcess, token: string): Promise<number> {
  const response = await fetch(`${gateway.url}/api/tokens`, { headers: { authorization: `Bearer ${token}` } })
  return response.status
}

/** A table that would have held the rights, as it was before they were taken from the log. */
const TOKENS_AGAIN = `CREATE TABLE guard_token (hash BLOB PRIMARY KEY, name TEXT, role TEXT);
  INSERT INTO guard_token VALUES (x'${forgedHash}', 'mallory', 'admin')`

const LOOKUPS = 'ledger/lookup.db'

describe('a database edited while the gateway is stopped', () => {
  it.each<[string, string, RegExp]>([
    [
      'a trigger that acts inside our transactions',
      `CREATE TRIGGER planted AFTER INSERT ON tasks BEGIN UPDATE tasks SET status = 'DONE'; END`,
      /planted/,
    ],
    [
      'a table of checkpoints that is another',
      'ALTER TABLE ledger_checkpoint ADD COLUMN root TEXT',
      /ledger_checkpoint/,
    ],
    ['a table of tokens', TOKENS_AGAIN, /guard_token/],
    [
      'a view in the place of a table',
      'ALTER TABLE tasks RENAME TO away; CREATE VIEW tasks AS SELECT * FROM away',
      /tasks/,
    ],
    ['an index', 'CREATE INDEX planted ON tasks (title)', /planted/],
    ['a column', 'ALTER TABLE tasks ADD COLUMN approved TEXT', /tasks/],
    ['a table removed', 'DROP TABLE device_pin', /device_pin/],
    ['another secret of the guard', `UPDATE guard_secret SET hash_key = randomblob(32)`, /secret/],
  ])('prevents the start over %s, and verify names it', (_, sql, named) => {
    const copy = copyOf(home.data)
    edit(copy, sql)
    const start = cli(copy, 'up')
    expect([start.status, named.test(start.text)]).toEqual([5, true])
    expect(cli(copy, 'ledger', 'verify')).toMatchObject({ status: 5, text: expect.stringMatching(named) })
  })

  it.each<[string, string, RegExp]>([
    [
      'a task that would be finished',
      `UPDATE tasks SET status = 'VERIFY', version = 6`,
      /^The task .*: status, version\.$/m,
    ],
    [
      'a task with the smallest number there is',
      `UPDATE tasks SET seq = -9223372036854775808`,
      /^The task .*: seq\.$/m,
    ],
    ['a thought of somebody else', `UPDATE thought_records SET agent_id = 'mallory'`, /^The thought .*: agent_id\.$/m],
    ['a session that is gone', 'DELETE FROM audit_sessions', /^The session .* was removed/m],
  ])('is overruled by the log over %s, which verify names until a rebuild', async (_, sql, named) => {
    const copy = copyOf(home.data)
    edit(copy, sql)
    expect(cli(copy, 'ledger', 'verify')).toMatchObject({ status: 5, text: expect.stringMatching(named) })
    const gateway = await startGatewayProcess({ ...home, data: copy })
    expect(await tool(gateway, 'task_get', { id: taskId })).toMatchObject({ status: 'INIT', version: 1 })
    const done = await callTool(gateway.url, 'task_update', { id: taskId, patch: { status: 'DONE' } })
    expect(JSON.stringify(done.body)).toContain('ERR_INVALID_TRANSITION')
    expect(await tool(gateway, 'ledger_verify', { full: true })).toMatchObject({ valid: false })
    await gateway.stop()
    expect(cli(copy, 'ledger', 'rebuild').status).toBe(0)
    expect(cli(copy, 'ledger', 'verify')).toMatchObject({ status: 0 })
  })

  it('does not make a forged token use valid', async () => {
    const copy = copyOf(home.data)
    edit(copy, `INSERT INTO guard_token_use VALUES ('${forgedHash}', 1)`)
    const gateway = await startGatewayProcess({ ...home, data: copy })
    expect(await tokensWith(gateway, forged)).toBe(403)
    await gateway.stop()
  })
})

describe('a database edited while the gateway runs', () => {
  it.each<[string, string, string, string?]>([
    ['a change hidden and shown again', 'UPDATE lookup SET listed = 2', 'UPDATE lookup SET listed = 1', LOOKUPS],
    ['a task edited and put back', `UPDATE tasks SET status = 'VERIFY'`, `UPDATE tasks SET status = 'INIT'`],
    [
      'a trigger planted and removed',
      `CREATE TRIGGER planted AFTER INSERT ON tasks BEGIN UPDATE tasks SET status = 'DONE'; END`,
      'DROP TRIGGER planted',
    ],
    ['a table of tokens made and dropped', TOKENS_AGAIN, 'DROP TABLE guard_token'],
  ])('has no effect for %s, and stays a finding', async (_, sql, putBack, file) => {
    const copy = copyOf(home.data)
    const gateway = await startGatewayProcess({ ...home, data: copy })
    edit(copy, sql, file)
    expect(await tokensWith(gateway, forged)).toBe(403)
    const done = await callTool(gateway.url, 'task_update', { id: taskId, patch: { status: 'DONE' } })
    expect(JSON.stringify(done.body)).toContain('ERR_INVALID_TRANSITION')
    await expect
      .poll(async () => JSON.stringify(await tool(gateway, 'ledger_verify', { full: true })))
      .toContain('another program wrote to the database while the node ran')
    edit(copy, putBack, file)
    await gateway.stop()
    const after = cli(copy, 'ledger', 'verify')
    expect([after.status, after.text.includes('another program wrote to the database')]).toEqual([5, true])
  })

  it('records refused attempts to create tokens or links', async () => {
    const copy = copyOf(home.data)
    const gateway = await startGatewayProcess({ ...home, data: copy })
    const headers = { 'content-type': 'application/json' }
    for (const path of ['/api/tokens', '/api/ledger/erase', '/api/console/link'])
      expect(
        (await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: '{}' })).status,
      ).toBeGreaterThanOrEqual(400)
    const bad = { ...headers, authorization: `Bearer ${forged}` }
    await fetch(`${gateway.url}/api/tokens`, { method: 'POST', headers: bad, body: '{}' })
    const entries = JSON.parse(cli(copy, '--json', 'ledger', 'entries', '--limit', '50').text) as { kind: string }[]
    const refused = JSON.stringify(entries.filter(({ kind }) => kind === 'access.refused'))
    for (const word of ['/api/ledger/erase', '/api/console/link', '"by":"local"', '"by":"unauthenticated"'])
      expect(refused).toContain(word)
    await gateway.stop()
  })
})
