/**
 * What the console can do, done at the command line against the same gateway.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CLI, createHome, readCommandSync, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'

let home: Home
let gateway: GatewayProcess

beforeAll(async () => {
  home = createHome()
  gateway = await startGatewayProcess(home)
})
afterAll(async () => {
  await gateway.stop()
  home.remove()
})

describe('the CLI beside a running gateway', () => {
  it('lists ledger entries newest first, and continues with older ones', () => {
    run('call', 'task_create', '{"title":"Sweep the chimney"}')
    const newest = run('ledger', 'entries', '--limit', '3') as readonly { seq: number; kind: string }[]
    expect(newest.map(({ kind }) => kind)).toEqual(['call.exit', 'task.created', 'call.enter'])
    const older = run('ledger', 'entries', '--limit', '1', '--before', String(newest.at(-1)?.seq)) as unknown[]
    expect(older).toHaveLength(1)
    expect(text('ledger', 'entries', '--limit', '3')).toMatch(/call\.enter +task_create, local/)
  })

  it('lists profiles with their number of tools', () => {
    const profiles = run('profiles') as readonly { name: string; tools: number }[]
    expect(profiles.find(({ name }) => name === 'runtime')?.tools).toBeGreaterThan(10)
    expect(text('profiles')).toMatch(/all +\d+ +built in/)
  })

  it('lists audit sessions, and finds a call in the ledger by its trace id', () => {
    run('call', 'audit_session_start', '{"intent":"Look after the chimney"}')
    expect(run('call', 'audit_session_list')).toMatchObject({
      structured: { data: { sessions: [{ intent: 'Look after the chimney', state: 'open' }] } },
    })
    const { traceId } = run('call', 'task_create', '{"title":"x"}') as { traceId: string }
    expect(run('trace', traceId)).toMatchObject({ traceId, calls: [{ arguments: { title: 'x' }, reasons: [] }] })
    expect(run('call', 'ledger_trace', JSON.stringify({ trace_id: traceId }))).toMatchObject({
      structured: { data: { entries: [{ kind: 'call.enter' }, { kind: 'task.created' }, { kind: 'call.exit' }] } },
    })
  })

  it('watch prints events as JSON lines', async () => {
    const child = spawn(process.execPath, [CLI, '--data', home.data, '--config', home.config, 'watch', '--json'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const next = async (): Promise<{ readonly event: string; readonly data: unknown }> => {
      const line = await lines.next()
      return JSON.parse(String(line.value)) as { readonly event: string; readonly data: unknown }
    }
    expect(await next()).toMatchObject({ event: 'hello', data: { resumed: false } })
    run('call', 'server_ping')
    for (;;) {
      const { event, data } = await next()
      if (event !== 'calls' || !JSON.stringify(data).includes('server_ping')) continue
      expect(data).toMatchObject({ skipped: 0 })
      break
    }
    child.kill('SIGTERM')
  })
})

function run(...words: readonly string[]): unknown {
  return JSON.parse(text('--json', ...words)) as unknown
}

function text(...words: readonly string[]): string {
  return readCommandSync(home, ...words)
}
