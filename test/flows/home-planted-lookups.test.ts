/**
 * Somebody who can write into the cache of lookups, or over stored answers, hides a change, so that another one is taken
 * back in its place.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { connectHttp, createHome, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'
import { readStoredBody, storedEntries, writeStoredBody } from '../ledger-attack.ts'
import type { LedgerEntry } from '../../src/ledger/entry.ts'

const why = 'a wish of the test'
let home: Home
let gateway: GatewayProcess
let client: Client
beforeAll(async () => {
  home = createHome()
  gateway = await startGatewayProcess(home, ['--demo'])
  client = await connectHttp(gateway.url, 'modern', '/mcp/home')
  await vi.waitUntil(async () => JSON.stringify(await ask('home_overview')).includes('is wanted'), {
    timeout: 120_000,
    interval: 500,
  })
})
afterAll(async () => {
  await client.close()
  await gateway.kill()
  home.remove()
})

async function ask(name: string, args: JsonObject = {}): Promise<JsonObject> {
  const { structuredContent } = await client.callTool({ name, arguments: args })
  return structuredContent as JsonObject
}

describe('undo without an id', () => {
  it('does not undo an older change when the row of the last one was removed', async () => {
    const first = await ask('home_set', { thing: 'hall lamp', to: 20, why })
    const second = await ask('home_set', { thing: 'kitchen lamp', to: 'on', why })
    // Rows are written when somebody asks.
    await ask('undo', { id: 'nothing', why })
    const { id: hidden } = second
    if (typeof hidden !== 'string') throw new Error('the change has no id')
    const file = new DatabaseSync(join(home.data, 'demo', 'ledger', 'lookup.db'))
    file.exec('PRAGMA busy_timeout = 5000')
    const rows = file.prepare('SELECT * FROM lookup WHERE trace_id = ?').all(hidden)
    expect(rows.length).toBeGreaterThan(0)
    file.prepare('DELETE FROM lookup WHERE trace_id = ?').run(hidden)
    const refused = await ask('undo', { why })
    expect(refused).toMatchObject({ say: expect.stringContaining('What was changed last cannot be told') })
    // Whether the older one was overtaken is known from the log.
    expect(await ask('undo', { id: first['id'] ?? '', why })).toMatchObject({ undid: first['id'] })
    const columns = Object.keys(rows[0] ?? {})
    const put = file.prepare(`INSERT INTO lookup (${columns.join()}) VALUES (${columns.map(() => '?').join()})`)
    for (const row of rows) put.run(...Object.values(row))
    file.close()
    expect(await ask('undo', { why })).toMatchObject({ undid: hidden })
  })

  it('does not undo a change once more when what was undone was removed from the stored answers', async () => {
    await ask('home_set', { thing: 'hall lamp', to: 30, why })
    const { id } = await ask('home_set', { thing: 'kitchen lamp', to: 'on', why })
    expect(await ask('undo', { why })).toMatchObject({ undid: id })
    const log = join(home.data, 'demo', 'ledger')
    const entries = storedEntries(log).map(({ bytes }) => JSON.parse(Buffer.from(bytes).toString()) as LedgerEntry)
    const undo = entries.findLast(({ kind, tool }) => kind === 'call.enter' && tool === 'undo')
    const exit = entries.find(({ kind, call }) => kind === 'call.exit' && call === undo?.seq)?.seq ?? -1
    const stored = readStoredBody(log, exit)
    writeStoredBody(log, exit)
    for (const which of ['last', id ?? ''])
      expect(await ask('undo', { id: which, why })).toMatchObject({ say: expect.stringContaining('cannot be told') })
    writeStoredBody(log, exit, stored)
    expect(await ask('undo', { id: id ?? '', why })).toMatchObject({
      say: expect.stringContaining('taken back already'),
    })
  })
})

describe('undo of a change more than 20,000 entries ago', () => {
  it('is refused when the rows of the later changes of the same thing were removed', async () => {
    const set = async (to: number): Promise<string> => {
      const { id } = await ask('home_set', { thing: 'hall lamp', to, why })
      if (typeof id !== 'string') throw new Error('the change has no id')
      return id
    }
    const first = await set(20)
    const later = [await set(60), await set(20)]
    await callOften('server_ping', 10_100)
    await ask('undo', { id: 'nothing', why })
    const file = new DatabaseSync(join(home.data, 'demo', 'ledger', 'lookup.db'))
    file.exec('PRAGMA busy_timeout = 5000')
    const remove = file.prepare('DELETE FROM lookup WHERE trace_id = ?')
    for (const id of later) expect(remove.run(id).changes).toBeGreaterThan(0)
    file.close()
    expect(await ask('undo', { id: first, why })).toMatchObject({
      say: expect.stringContaining('was changed again since. Nothing was done.'),
    })
    expect(await ask('undo', { why })).toMatchObject({ say: expect.stringContaining('cannot be told') })
  })
})

/** Calls of the owner's, of which each leaves two entries. */
async function callOften(tool: string, times: number): Promise<void> {
  const token = readFileSync(join(home.data, 'demo', 'keys', 'owner.token'), 'utf8').trim()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ tool, arguments: {} })
  for (let left = times; left > 0; left -= 50)
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const answer = await fetch(`${gateway.url}/api/call`, { method: 'POST', headers, body })
        if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
        await answer.arrayBuffer()
      }),
    )
}
