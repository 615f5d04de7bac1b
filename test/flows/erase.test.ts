/**
 * Somebody asks for their words to be forgotten. The owner erases them at the command line, beside a running gateway or
 * without one; nothing of them is left in the files, and everything still verifies.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHome, runCommandSync, startGatewayProcess } from '../gateway-process.ts'
import type { EndedCommand, GatewayProcess, Home } from '../gateway-process.ts'
import { callTool } from '../modern-request.ts'

let home: Home
let gateway: GatewayProcess
beforeEach(async () => {
  home = createHome()
  gateway = await startGatewayProcess(home)
})
afterEach(async () => {
  await gateway.stop()
  home.remove()
})

function cli(...words: readonly string[]): EndedCommand {
  return runCommandSync(home, ...words)
}

async function data(tool: string, args: object = {}): Promise<Record<string, unknown>> {
  const { body } = await callTool(gateway.url, tool, args)
  return ((body.result ?? {})['structuredContent'] as { data: Record<string, unknown> }).data
}

/** Files of the data directory that have the word. */
function traces(word: string): readonly string[] {
  const files = readdirSync(home.data, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
  return files.filter((file) => readFileSync(join(file.parentPath, file.name)).includes(word)).map(({ name }) => name)
}

const REASON = ['--reason', 'Ada asked for it']

describe('hearthbus ledger erase', () => {
  it('beside a running gateway: texts are erased everywhere, proofs remain, and the erasure is recorded', async () => {
    const task = await data('task_create', { title: 'Quokka has a fever', assignee: 'ada' })
    const session = await data('audit_session_start', { intent: 'Nurse the wombat', task_id: task['id'] })
    await data('thought_record', { type: 'plan', task_id: task['id'], agent_id: 'ada', content: 'Numbat needs rest' })
    const [created, started] = [Number(task['log_index']), Number(session['log_index'])]
    const before = cli('ledger', 'entry', String(created)).text

    const first = cli('ledger', 'erase', String(created), String(started), ...REASON)
    expect(first.status).toBe(0)
    expect(first.text).toContain(`The words of entry ${created} are erased, and in the task ${String(task['id'])}.`)
    expect(first.text).toContain(`The words of entry ${started} are erased, and in the session`)
    // The arguments and the answers of the two calls, and of the third, which says who ada is.
    const also = /still in: (?<seqs>[\d ]+)\./.exec(first.text)?.groups?.['seqs']?.split(' ') ?? []
    expect(also).toHaveLength(6)
    // The agent's name in the thought's entry, and "Ada" in the reason, which both erasures have recorded.
    expect(first.text).toMatch(/The log itself has them, for good, in: 10 12 13\./)
    expect(cli('ledger', 'erase', ...also, ...REASON)).toMatchObject({ status: 0 })
    expect([traces('Quokka'), traces('wombat')]).toEqual([[], []])
    expect(traces('Numbat')).not.toEqual([])

    expect(await data('task_get', { id: task['id'] })).toMatchObject({ title: '[erased]', assignee: '[erased]' })
    expect(await data('audit_session_list')).toMatchObject({ sessions: [{ intent: '[erased]', state: 'open' }] })
    expect(await data('audit_verify_chain')).toMatchObject({
      valid: true,
      erased_count: 2,
      problems: [],
    })
    expect(await data('ledger_verify', { full: true })).toMatchObject({ valid: true, erased_count: 8 })
    expect(cli('ledger', 'verify').text).toMatch(/all in order, the words of 8 erased on request/)
    expect(cli('ledger', 'entry', String(created)).text).toBe(before)
    expect(cli('ledger', 'proof', String(created)).text).toContain('c2sp.org/tlog-proof')
    const erasures = JSON.parse(cli('--json', 'ledger', 'entries', '--limit', '100').text) as { kind: string }[]
    expect(JSON.stringify(erasures.filter(({ kind }) => kind === 'body.erased'))).toMatch(
      new RegExp(`"by":"owner".*"entry":${created}.*"reason":"Ada asked for it"`),
    )
    expect(await data('merkle_finalize', { session_id: session['session_id'] })).toMatchObject({ record_count: 1 })
  })

  it('without a gateway: erases the same', async () => {
    const task = await data('task_create', { title: 'Quokka has a fever' })
    await gateway.stop()
    const erased = cli('--json', 'ledger', 'erase', String(task['log_index']), ...REASON)
    expect(erased.status).toBe(0)
    expect(JSON.parse(erased.text)).toMatchObject({
      ok: true,
      erased: [{ entry: task['log_index'], blanked: [{ what: 'task', id: task['id'] }] }],
    })
    const sql = new DatabaseSync(join(home.data, 'hearthbus.db'), { readOnly: true })
    expect(sql.prepare('SELECT title FROM tasks').all()).toEqual([{ title: '[erased]' }])
    sql.close()
    expect(cli('ledger', 'verify')).toMatchObject({ status: 0, text: expect.stringContaining('1 erased on request') })
    gateway = await startGatewayProcess(home)
    expect(await data('ledger_verify', { full: true })).toMatchObject({ valid: true, erased_count: 1 })
  })

  it('refuses entries that hold nothing to erase, and a missing reason', async () => {
    await data('task_create', { title: 'x y' })
    expect(cli('ledger', 'erase', '1')).toMatchObject({ status: 2, text: expect.stringContaining('--reason') })
    expect(cli('ledger', 'erase', '1', '--reason', ' ')).toMatchObject({ status: 2 })
    expect(cli('ledger', 'erase', 'one', ...REASON)).toMatchObject({ status: 2 })
    expect(cli('ledger', 'erase', '99999', ...REASON)).toMatchObject({
      status: 1,
      text: expect.stringContaining('there is no entry 99999'),
    })
    // The start of the node: it says nothing that could be erased.
    expect(cli('ledger', 'erase', '0', ...REASON)).toMatchObject({
      status: 1,
      text: expect.stringContaining('no words beside it'),
    })
  })

  it('through the API is refused without a token', async () => {
    const response = await fetch(`${gateway.url}/api/ledger/erase`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ entries: [1], reason: 'because' }),
    })
    expect(response.status).toBe(403)
  })
})
