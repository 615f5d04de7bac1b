/**
 * A day of audited maintenance as an agent does it that has an MCP client on `/mcp/runtime` and nothing else: eight
 * tasks, each planned, worked through, reflected on and sealed, over both transports and in both eras. And what such an
 * agent hears when it is wrong: the failure pattern and the code that spec 5 § 6.3 gives to each family.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '@modelcontextprotocol/client'
import { connectHttp, connectStdio, createHome, startGatewayProcess } from '../gateway-process.ts'
import type { Era, GatewayProcess, Home } from '../gateway-process.ts'

const TASKS = 8
const STEPS = ['GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY', 'DONE']
/** Pattern, then code, then what stands before the colon of the message where a code is hidden there. */
const FAILURES: readonly (readonly [tool: string, args: Record<string, unknown>, expected: string])[] = [
  ['consensus_vote', { round_id: 'x', digest: '0'.repeat(64), vote: 'yes' }, 'A HANDLER_ERROR ROUND_NOT_FOUND'],
  ['consensus_finality', { round_id: 'x' }, 'A HANDLER_ERROR ROUND_NOT_FOUND'],
  ['consensus_propose', { tool: 'nope', arguments: {} }, 'A INVALID_PARAMS tool'],
  ['consensus_gossip', { since: -1 }, 'A INVALID_PARAMS The arguments do not fit consensus_gossip'],
  ['vrf_eval', { alpha_hex: '', key_id: 'x' }, 'A HANDLER_ERROR INVALID_KEY'],
  ['vrf_eval', { alpha_hex: 'xyz' }, 'A INVALID_PARAMS The arguments do not fit vrf_eval'],
  // The identity, a point of small order (RFC 9381 § 5.4.5).
  [
    'vrf_verify',
    { public_key_hex: `01${'00'.repeat(31)}`, alpha_hex: '', proof_hex: '00'.repeat(80) },
    'A HANDLER_ERROR INVALID_KEY',
  ],
  ['reputation_get', { node_id: 'x', current_epoch: 1 }, 'A HANDLER_ERROR EPOCH_MISMATCH'],
  [
    'reputation_history',
    { node_id: 'x', domain: 'nope' },
    'A INVALID_PARAMS The arguments do not fit reputation_history',
  ],
  ['reputation_leaderboard', { domain: 'governance', current_epoch: 1 }, 'A HANDLER_ERROR EPOCH_MISMATCH'],
  ['reputation_check_gates', { node_id: 'x', current_epoch: 1 }, 'A HANDLER_ERROR EPOCH_MISMATCH'],
  ['router_score', { prompt: 7 }, 'A INVALID_PARAMS The arguments do not fit router_score'],
  ['router_fallback', { unknown: 1 }, 'A INVALID_PARAMS The arguments do not fit router_fallback'],
  ['router_stats', { limit: -1 }, 'A INVALID_PARAMS The arguments do not fit router_stats'],
  ['skill_get', { name: 'nope' }, 'A HANDLER_ERROR ERR_SKILL_NOT_FOUND'],
  ['audit_verify_chain', { task_id: 'nope' }, 'A HANDLER_ERROR ERR_NOT_FOUND'],
  ['router_call', { prompt: 'hello' }, 'A HANDLER_ERROR FallbackChainExhaustedError'],
  ['task_get', { id: 'nope' }, 'B ERR_NOT_FOUND'],
  ['task_update', { id: 'nope', status: 'DONE' }, 'B ERR_NOT_FOUND'],
  ['merkle_root', { session_id: 'nope' }, 'B ERR_SESSION_NOT_FOUND'],
  ['merkle_finalize', { session_id: 'nope' }, 'B ERR_SESSION_NOT_FOUND'],
]

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

interface RuntimeAnswer {
  readonly ok: boolean
  readonly data?: Record<string, unknown>
  readonly error?: { readonly code: string; readonly message: string }
}

function connect(way: string, era: Era): Promise<Client> {
  return way === 'HTTP'
    ? connectHttp(gateway.url, era, '/mcp/runtime')
    : connectStdio(home, era, ['--profile', 'runtime'])
}

function describeFailure({ isError, structuredContent }: Awaited<ReturnType<Client['callTool']>>): string {
  const { ok, data, error } = structuredContent as RuntimeAnswer
  const [first = ''] = error?.message.split(':') ?? []
  if (!ok) return `A ${error?.code} ${first}${isError === true ? '' : ', and is no error'}`
  const inner = data?.['error'] as RuntimeAnswer['error']
  return data?.['ok'] === false ? `B ${inner?.code}` : 'a success'
}

describe.each(['modern', 'legacy'] as const)('an MCP agent of the %s era', (era) => {
  it.each(['HTTP', 'stdio'])('completes eight audited tasks over %s in 34 calls without a failure', async (way) => {
    const client = await connect(way, era)
    let calls = 0
    const call = async (name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> => {
      calls++
      const { structuredContent } = await client.callTool({ name, arguments: args })
      const { data, ...rest } = structuredContent as RuntimeAnswer
      if (data === undefined || data['ok'] === false) throw new Error(`${name}: ${JSON.stringify({ data, ...rest })}`)
      return data
    }
    const titles = Array.from({ length: TASKS }, (_, number) => ({ title: `maintenance ${number}` }))
    const created = await call('task_create', { ...titles[0], more: titles.slice(1) })
    const ids = [created, ...(created['more'] as Record<string, unknown>[])].map(({ id }) => id)
    expect(ids).toHaveLength(TASKS)
    for (const id of ids) {
      const { session_id } = await call('audit_session_start', { intent: 'maintain', task_id: id })
      // Without naming the session: a thought joins the open one of its task.
      await call('thought_record', { type: 'plan', task_id: id, agent_id: 'claude', content: 'look, change, check' })
      const reflection = { agent_id: 'claude', content: 'it is as it should be' }
      const transitions = STEPS.map((status) => ({ status }))
      expect(await call('task_update', { id, transitions, reflection })).toMatchObject({ status: 'DONE' })
      expect(await call('merkle_finalize', { session_id })).toMatchObject({ record_count: 2 })
    }
    expect(await call('audit_verify_chain', {})).toMatchObject({ valid: true, broken_count: 0 })
    const { structuredContent } = await client.callTool({
      name: 'task_list',
      arguments: { status: 'DONE', limit: 200 },
    })
    const { data = {} } = structuredContent as RuntimeAnswer
    const done = new Set((data['tasks'] as { id: string }[]).map(({ id }) => id))
    expect(ids.every((id) => done.has(id as string))).toBe(true)
    // One to create, four for each task, one to verify.
    expect(calls).toBe(1 + 4 * TASKS + 1)
    await client.close()
  })

  it.each(['HTTP', 'stdio'])(
    'receives failures in the pattern and with the code of each family over %s',
    async (way) => {
      const client = await connect(way, era)
      const heard: (readonly [string, string])[] = []
      for (const [name, args] of FAILURES)
        heard.push([name, describeFailure(await client.callTool({ name, arguments: args }))])
      expect(heard).toEqual(FAILURES.map(([name, , expected]) => [name, expected]))
      await client.close()
    },
  )
})
