/**
 * Every tool of the runtime, called by a real MCP client against the gateway in a process of its own: over stdio and
 * over HTTP, in the revision of 2026 and as a client of 2025 does it. The client checks each answer against the tool's
 * output schema.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toUtf8 } from '../../src/core/bytes.ts'
import { parseVerifierKey } from '../../src/ledger/note-key.ts'
import { createLogOnlyPolicy } from '../../src/ledger/tlog-policy.ts'
import { verifyTlogProof } from '../../src/ledger/tlog-proof.ts'
import { connectHttp, connectStdio, createHome, startGatewayProcess } from '../gateway-process.ts'
import type { Era, GatewayProcess, Home } from '../gateway-process.ts'

type Data = Record<string, unknown>

interface Envelope {
  readonly ok: boolean
  readonly data?: Data
  readonly error?: Data
}

interface Way {
  readonly transport: 'stdio' | 'http'
  readonly era: Era
}

const WAYS: readonly Way[] = [
  { transport: 'stdio', era: 'modern' },
  { transport: 'stdio', era: 'legacy' },
  { transport: 'http', era: 'modern' },
  { transport: 'http', era: 'legacy' },
]

const TOOLS = [
  'audit_export',
  'audit_session_list',
  'audit_session_start',
  'audit_verify_chain',
  'bus_stats',
  'bus_topology',
  'bus_traces',
  'ledger_changes',
  'ledger_checkpoint',
  'ledger_consistency',
  'ledger_proof',
  'ledger_trace',
  'ledger_verify',
  'merkle_finalize',
  'merkle_root',
  'reputation_check_gates',
  'reputation_get',
  'reputation_history',
  'reputation_leaderboard',
  'router_call',
  'router_fallback',
  'router_score',
  'router_stats',
  'server_health',
  'server_ping',
  'skill_get',
  'skill_list',
  'task_create',
  'task_get',
  'task_list',
  'task_next_actions',
  'task_update',
  'thought_record',
  'thought_record_list',
  'vrf_eval',
  'vrf_verify',
]

describe.each(WAYS)('runtime tools over $transport, $era', ({ transport, era }) => {
  let home: Home
  let gateway: GatewayProcess | undefined
  let client: Client
  const called = new Set<string>()

  beforeAll(async () => {
    home = createHome()
    const skills = join(home.data, 'skills')
    mkdirSync(join(skills, 'bleed'), { recursive: true })
    writeFileSync(
      join(skills, 'bleed', 'SKILL.md'),
      '---\nname: bleed-radiators\ndescription: Let the air out\n---\nOpen.\n',
    )
    writeFileSync(home.config, `logLevel: warn\nlisten:\n  port: 0\nskills:\n  roots: ['${skills}']\n`)
    if (transport === 'http') gateway = await startGatewayProcess(home)
    client = gateway === undefined ? await connectStdio(home, era) : await connectHttp(gateway.url, era)
  })
  afterAll(async () => {
    await client.close()
    await gateway?.stop()
    home.remove()
  })

  async function call(name: string, args: Data = {}): Promise<{ envelope: Envelope; isError: boolean; text: unknown }> {
    called.add(name)
    const result = await client.callTool({ name, arguments: args })
    const [content] = result.content
    return {
      envelope: result.structuredContent as Envelope,
      isError: result.isError === true,
      text: content?.type === 'text' ? (JSON.parse(content.text) as unknown) : undefined,
    }
  }

  async function data(name: string, args: Data = {}): Promise<Data> {
    const { envelope, isError, text } = await call(name, args)
    expect({ isError, ok: envelope.ok, inner: envelope.data?.['ok'] }).toEqual({
      isError: false,
      ok: true,
      inner: undefined,
    })
    expect(text).toEqual(envelope)
    return envelope.data ?? {}
  }

  it('are listed with schemas and correct annotations', async () => {
    const { tools } = await client.listTools()
    const own = tools.filter(({ name }) => TOOLS.includes(name))
    expect(own.map(({ name }) => name).toSorted()).toEqual(TOOLS)
    for (const tool of own)
      expect(tool).toMatchObject({ inputSchema: { type: 'object' }, outputSchema: { type: 'object' } })
    const writing = own.filter(({ annotations }) => annotations?.readOnlyHint !== true).map(({ name }) => name)
    expect(writing.toSorted()).toEqual([
      'audit_session_start',
      'merkle_finalize',
      'router_call',
      'router_fallback',
      'task_create',
      'task_update',
      'thought_record',
    ])
  })

  it('take a task from INIT to DONE, and seal its session with a proof', async () => {
    expect(await data('server_ping')).toMatchObject({ pong: true, mode: 'full', phase: 'phase2' })
    expect(await data('skill_list', { search: 'AIR' })).toMatchObject({ skills: [{ name: 'bleed-radiators' }] })

    const first = await data('task_create', { title: 'Mend the pump', priority: 'high' })
    const task = await data('task_create', { title: 'Bleed the radiators', depends_on: [first['id']] })
    const taskId = String(task['id'])
    expect(await data('task_next_actions')).toMatchObject({ tasks: [{ id: first['id'] }], blocked_count: 1 })
    expect(await data('task_list', { limit: 1 })).toMatchObject({ total: 2, tasks: [{ id: first['id'] }] })
    await data('task_update', { id: taskId, patch: { depends_on: [] } })

    const session = await data('audit_session_start', { intent: 'bleed the radiators', task_id: taskId })
    const thought = { task_id: taskId, agent_id: 'ada' }
    expect(await data('thought_record', { ...thought, type: 'plan', content: 'Upstairs first.' })).toMatchObject({
      session_id: session['session_id'],
      prev_hash: '0'.repeat(64),
    })
    for (const status of ['GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY'])
      await data('task_update', { id: taskId, patch: { status } })
    await data('thought_record', { ...thought, type: 'reflection', content: 'It holds pressure.' })
    expect(await data('task_update', { id: taskId, status: 'done' })).toMatchObject({ status: 'DONE' })
    expect(await data('task_get', { id: taskId })).toMatchObject({ status: 'DONE', attempt: 1 })
    expect(await data('thought_record_list', { task_id: taskId })).toMatchObject({
      records: [{ content: 'Upstairs first.' }, { content: 'It holds pressure.' }],
    })
    expect(await data('audit_verify_chain')).toMatchObject({ valid: true, record_count: 2 })

    const sealed = await data('merkle_finalize', { session_id: session['session_id'] })
    expect(sealed).toMatchObject({ record_count: 2, root: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(await data('merkle_root', { session_id: session['session_id'] })).toMatchObject({ root: sealed['root'] })
    expect(await data('audit_session_list', { task_id: taskId })).toMatchObject({
      sessions: [{ session_id: session['session_id'], state: 'sealed', root: sealed['root'] }],
    })

    const proof = await data('ledger_proof', { log_index: sealed['log_index'] })
    const key = parseVerifierKey(String(proof['verifier_key']))
    if (!key.ok) throw new Error('the verifier key cannot be read')
    const policy = createLogOnlyPolicy(key.value)
    expect(verifyTlogProof(String(proof['proof']), toUtf8(String(proof['leaf'])), policy).ok).toBe(true)
    expect(verifyTlogProof(String(sealed['proof']), toUtf8(String(proof['leaf'])), policy).ok).toBe(true)
    const leaf = JSON.parse(String(proof['leaf'])) as Record<string, unknown>
    expect(leaf).toMatchObject({ kind: 'session.final', root: sealed['root'] })
    expect(await data('ledger_trace', { trace_id: leaf['trace_id'] })).toMatchObject({
      entries: [
        { kind: 'call.enter', entry: { tool: 'merkle_finalize' } },
        { kind: 'session.final', log_index: sealed['log_index'] },
        { kind: 'call.exit', entry: { outcome: 'ok' } },
      ],
    })
  })

  it('carry audited maintenance in few calls, with the task named in every call', async () => {
    const created = await data('task_create', {
      title: 'Drain',
      idempotency_key: 'plan',
      more: [{ title: 'Fill', depends_on: ['#0'], priority: 'HIGH' }],
    })
    const [fill] = created['more'] as { id: string; priority: string }[]
    expect(fill?.priority).toBe('high')
    expect(
      await data('task_create', {
        title: 'Drain',
        idempotency_key: 'plan',
        more: [{ title: 'Fill', depends_on: ['#0'], priority: 'HIGH' }],
      }),
    ).toEqual(created)
    const statuses = ['GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY', 'DONE']
    const transitions = statuses.map((status) => ({ status }))
    const reflection = { agent_id: 'ada', content: 'Empty.' }
    const session = await data('audit_session_start', { intent: 'drain', task_id: created['id'] })
    const done = await data('task_update', { id: created['id'], transitions, reflection })
    expect(done).toMatchObject({ status: 'DONE', reflection: { session_id: session['session_id'], client: 'test' } })
    expect(await call('task_update', { id: created['id'], title: 'x' })).toMatchObject({
      isError: false,
      envelope: { ok: true, data: { ok: false, error: { code: 'ERR_TASK_CLOSED' } } },
    })
    const tried = await data('merkle_finalize', { session_id: session['session_id'], dry_run: true })
    const sealed = await data('merkle_finalize', { session_id: session['session_id'] })
    expect(sealed).toMatchObject({ root: tried['root'], left_out: [], record_count: 1 })
    expect(await data('audit_export', { task_id: created['id'] })).toMatchObject({})
    const told = await data('task_get', { id: created['id'], include: ['history', 'thoughts', 'changes'] })
    expect(told['history']).toHaveLength(7)
    expect(told).toMatchObject({ changes: [], thoughts: [{ content: 'Empty.' }] })
  })

  it('explain audited work in a prompt, and serve skills as recorded', async () => {
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toContain('audited_work')
    const prompt = await client.getPrompt({ name: 'audited_work', arguments: { goal: 'Bleed the radiators' } })
    expect(JSON.stringify(prompt.messages)).toContain('Bleed the radiators')
    const guide = await client.readResource({ uri: 'hearthbus://runtime/audited-work' })
    expect(JSON.stringify(guide.contents)).toContain('merkle_finalize')
    expect(await data('skill_get', { name: 'bleed-radiators' })).toMatchObject({ body: 'Open.\n', files: [] })
    const skill = await client.readResource({ uri: 'skill://bleed-radiators' })
    expect(skill.contents).toMatchObject([
      { uri: 'skill://bleed-radiators', mimeType: 'text/markdown', text: 'Open.\n' },
    ])
    await expect(client.readResource({ uri: 'skill://bleed-radiators/..%2F..%2Fconfig' })).rejects.toThrow(
      /ERR_SKILL|no file/,
    )
  })

  it('report reputations, and evaluate and verify a VRF', async () => {
    const board = await data('reputation_leaderboard', { domain: 'execution' })
    const [row] = board['rows'] as { node_id: string; score: number }[]
    expect(row?.score).toBeGreaterThan(5_000)
    const subject = { node_id: row?.node_id ?? '' }
    const epoch = { current_epoch: board['epoch'] }
    expect(await data('reputation_get', { ...subject, ...epoch })).toMatchObject({
      formula_hash: board['formula_hash'],
    })
    const { events } = await data('reputation_history', { ...subject, domain: 'execution' })
    expect(events).toMatchObject([
      { log_index: expect.any(Number), delta_bps: expect.any(Number) },
      ...((events as unknown[]).slice(1) as object[]),
    ])
    expect(await data('reputation_check_gates', subject)).toMatchObject({ gates: { can_arbitrate: false } })
    expect(await call('reputation_get', { ...subject, current_epoch: 1 })).toMatchObject({
      isError: true,
      envelope: { ok: false, error: { code: 'HANDLER_ERROR', message: expect.stringMatching(/^EPOCH_MISMATCH: /) } },
    })
    const drawn = await data('vrf_eval', { alpha_hex: '01ff' })
    const { public_key_hex, proof_hex, output_hex } = drawn
    expect(await data('vrf_verify', { public_key_hex, proof_hex, alpha_hex: '01ff' })).toEqual({
      valid: true,
      output_hex,
    })
    expect(await data('vrf_verify', { public_key_hex, proof_hex, alpha_hex: '02' })).toEqual({ valid: false })
    for (const [name, args] of [
      ['vrf_eval', { alpha_hex: '', key_id: 'mine' }],
      ['vrf_verify', { public_key_hex: '01'.padEnd(64, '0'), proof_hex, alpha_hex: '' }],
    ] as const)
      expect(await call(name, args)).toMatchObject({
        isError: true,
        envelope: { error: { code: 'HANDLER_ERROR', message: expect.stringMatching(/^INVALID_KEY: /) } },
      })
    expect(await call('router_call', { prompt: 'Hello' })).toMatchObject({
      isError: true,
      envelope: {
        error: { message: expect.stringMatching(/^FallbackChainExhaustedError: /), details: { attempts: [] } },
      },
    })
  })

  it('show the ledger, the bus and the router', async () => {
    // Tasks and sessions are records of the agent's own; nothing in the house was changed.
    expect(await data('ledger_changes')).toEqual({ now: expect.any(String), changes: [] })
    const checkpoint = await data('ledger_checkpoint')
    expect(await data('ledger_consistency', { from_size: checkpoint['size'] })).toMatchObject({
      from_root: checkpoint['root'],
    })
    expect(await data('ledger_verify', { full: true })).toMatchObject({ valid: true, findings: [] })
    expect(await data('server_health')).toMatchObject({
      checks: { database: { status: 'ok' }, ledger: { status: 'ok' } },
    })
    expect((await data('bus_topology', { prefix: 'task_' }))['capabilities_local']).toHaveLength(5)
    expect(await data('bus_traces', { limit: 1 })).toMatchObject({
      traces: [{ capability: 'bus_topology', result: 'ok' }],
    })
    expect(Number((await data('bus_stats'))['calls'])).toBeGreaterThan(5)
    expect(await data('router_score', { capability: 'task_list' })).toMatchObject({ winner: { is_local: true } })
    expect(await data('router_call', { capability: 'task_list', arguments: { limit: 1 } })).toMatchObject({
      capability: 'task_list',
      data: { tasks: [{}] },
    })
    expect(await data('router_fallback')).toMatchObject({ reset_count: 0 })
    expect(await data('router_stats')).toMatchObject({ quarantined: 0 })
  })

  it('fail in the pattern that spec 5 gives each tool', async () => {
    expect(await call('task_get', { id: 'nobody' })).toMatchObject({
      isError: false,
      envelope: { ok: true, data: { ok: false, error: { code: 'ERR_NOT_FOUND' } } },
    })
    expect(await call('merkle_root', { session_id: 'nobody' })).toMatchObject({
      isError: false,
      envelope: { ok: true, data: { ok: false, error: { code: 'ERR_SESSION_NOT_FOUND' } } },
    })
    const { id: task } = await data('task_create', { title: 'x' })
    const thought = { type: 'plan', task_id: task, agent_id: 'ada', content: 'x', session_id: 'nobody' }
    expect(await call('thought_record', thought)).toMatchObject({
      isError: true,
      envelope: { ok: false, error: { code: 'HANDLER_ERROR', details: { code: 'ERR_SESSION_NOT_FOUND' } } },
    })
    for (const [name, args] of [
      ['task_create', {}],
      ['task_create', { title: 'x', colour: 'red' }],
      ['merkle_root', { session_id: 7 }],
      ['server_ping', { louder: true }],
    ] as const)
      expect(await call(name, args)).toMatchObject({
        isError: true,
        envelope: { ok: false, error: { code: 'INVALID_PARAMS', details: { issues: [{}] } } },
      })
  })

  it('were all called by these tests', () => {
    expect([...called].toSorted()).toEqual(TOOLS)
  })
})
