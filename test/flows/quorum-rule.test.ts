/**
 * `guard.rules[].says: quorum` in a configuration file, through the program as it is run, against a HomeSeer that is
 * simulated at the wire: whether the bolt of the front door moved is read there. Three people with tokens of their own,
 * an agent with one, and everything that an agent could try to do without the people.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../src/core/json.ts'
import { connectHttp, connectStdio, runCommand, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'
import { CLAIMS, homeseerHome, openWorld } from '../homeseer-rig.ts'
import type { World } from '../homeseer-rig.ts'
import { openInbox } from '../notice-inbox.ts'
import type { Inbox } from '../notice-inbox.ts'

const LOCK = 141
const [LOCKED, UNLOCKED] = [255, 0]
const PEOPLE = ['anna', 'ben', 'cara']
const UNLOCK = { ref: LOCK, label: 'Unlock', ...CLAIMS }
const GUARD = {
  actuatorIntervalMs: 0,
  writesPerMinute: 10_000,
  callsPerMinute: 100_000,
  rules: [
    { target: `homeseer:ref:${LOCK}`, arguments: { label: 'Unlock' }, says: 'quorum', voters: PEOPLE, need: 2 },
    {
      tool: 'hs4.devices.set',
      target: `homeseer:ref:${LOCK}`,
      arguments: { value: 0 },
      says: 'quorum',
      voters: PEOPLE,
      need: 2,
    },
    {
      target: 'homeseer:ref:12*',
      arguments: { reason: 'veto*' },
      says: 'quorum',
      voters: ['anna', 'ben'],
      need: 1,
      veto: true,
    },
  ],
}

let world: World
let home: Home
let gateway: GatewayProcess
let inbox: Inbox
const tokens = new Map<string, string>()
const clients: Client[] = []

interface Answer {
  readonly result?: unknown
  readonly ok?: boolean
  readonly data?: Record<string, unknown>
  readonly error?: { readonly message: string; readonly code: string; readonly details?: Record<string, unknown> }
}

beforeAll(async () => {
  world = await openWorld()
  inbox = await openInbox()
  const notify = [{ url: inbox.url }]
  home = homeseerHome(world, {}, { guard: GUARD, notify })
  gateway = await startGatewayProcess(home)
  for (const name of PEOPLE) tokens.set(name, await makeToken(name, 'approver'))
  tokens.set('claude', await makeToken('claude', 'agent'))
})
afterAll(async () => {
  for (const client of clients) await client.close()
  await gateway.stop()
  await inbox.close()
  home.remove()
  await world.close()
})

async function makeToken(name: string, role: string): Promise<string> {
  const { said } = await runCommand(home, ['--json', 'token', 'create', name, '--role', role])
  return (JSON.parse(said) as { token: string }).token
}

function bolt(): number | undefined {
  return world.simulator.house.hardware(LOCK)?.value
}

async function post(
  path: string,
  body: object,
  token?: string,
): Promise<{ status: number; json: Record<string, unknown> }> {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, json: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) }
}

async function tool(name: string, args: object, who?: string): Promise<Answer> {
  const token = who === undefined ? undefined : (tokens.get(who) ?? who)
  const { json } = await post('/api/call', { tool: name, arguments: args }, token)
  return json['structured'] ?? {}
}

function unlock(more: object = {}, who = 'claude'): Promise<Answer> {
  return tool('hs4.devices.set', { ...UNLOCK, ...more }, who)
}

/** Locks the door again, which no rule keeps from anybody but a person has to approve. */
async function lockAgain(): Promise<void> {
  world.simulator.move(LOCK, LOCKED)
  await expect.poll(bolt).toBe(LOCKED)
}

interface Asked {
  readonly id: string
  readonly round_id: string
  readonly digest: string
}

async function ask(more: object = {}): Promise<Asked> {
  const answer = await unlock(more)
  const { details = {} } = answer.error ?? {}
  const id = (details['approval_id'] ?? details['approvalId'] ?? '') as string
  const round = id === '' ? (await waiting())[0] : { id }
  if (round === undefined) throw new Error(JSON.stringify(answer))
  const proposed = await tool('consensus_finality', { round_id: round.id })
  const { digest } = (proposed.data?.['evidence'] ?? {}) as { digest: string }
  return { id: round.id, round_id: round.id, digest }
}

async function waiting(): Promise<
  readonly { readonly id: string; readonly round?: { readonly votes: readonly unknown[] } }[]
> {
  const owner = readFileSync(join(home.data, 'keys', 'owner.token'), 'utf8').trim()
  const response = await fetch(`${gateway.url}/api/approvals?state=requested`, {
    headers: { authorization: `Bearer ${owner}` },
  })
  return (await response.json()) as never
}

async function vote({ round_id, digest }: Asked, who: string, said = 'yes'): Promise<string> {
  const { data, error } = await tool('consensus_vote', { round_id, digest, vote: said }, who)
  return error === undefined ? String(data?.['level']) : (error.message.split(':')[0] ?? '')
}

describe('a quorum rule', () => {
  it('waits for two of three voters, shows the votes everywhere, and lets the call through once', async () => {
    const asked = await ask()
    expect(bolt()).toBe(LOCKED)
    await expect.poll(() => inbox.letters.length).toBeGreaterThan(0)
    expect(inbox.letters.at(-1)?.body).toContain('0 of 2 yeses')
    expect(await vote(asked, 'anna')).toBe('SOFT')
    const listed = await runCommand(home, ['approvals'])
    expect(listed.said).toMatch(/anna yes, ben –, cara –; 2 yeses needed/)
    expect((await waiting())[0]?.round).toMatchObject({ need: 2, votes: [{ voter: 'anna', decision: 'allow' }] })
    await unlock()
    expect(bolt()).toBe(LOCKED)
    // Ben answers on the command line, with a token of his own.
    const answered = await runCommand(home, ['approvals', 'approve', asked.id], {
      HEARTHBUS_VOTER_TOKEN: tokens.get('ben') ?? '',
    })
    expect(answered.code).toBe(0)
    const [one, other] = await Promise.all([unlock(), unlock()])
    expect([one, other].filter(({ result }) => result !== undefined)).toHaveLength(1)
    await expect.poll(bolt).toBe(UNLOCKED)
    await lockAgain()
    expect((await unlock()).result).toBeUndefined()
    expect(bolt()).toBe(LOCKED)
  })

  it('is denied by a single no if so configured, and applies to the named arguments only', async () => {
    // Another reason is no call of the rule.
    expect((await tool('hs4.devices.set', { ref: 120, value: 255, ...CLAIMS }, 'claude')).result).toBeDefined()
    const lamp = { ref: 120, value: 0, ...CLAIMS, reason: 'veto me' }
    const refused = await tool('hs4.devices.set', lamp, 'claude')
    expect(refused.result).toBeUndefined()
    const [asked] = await waiting()
    const { data } = await tool('consensus_finality', { round_id: asked?.id ?? '' })
    const { digest } = (data?.['evidence'] ?? {}) as { digest: string }
    const round = { id: asked?.id ?? '', round_id: asked?.id ?? '', digest }
    expect(await vote(round, 'cara')).toBe('NOT_A_VOTER')
    expect(await vote(round, 'anna', 'no')).toBe('SOFT')
    expect(await vote(round, 'ben')).toBe('ROUND_CLOSED')
    expect((await tool('hs4.devices.set', lamp, 'claude')).result).toBeUndefined()
  })

  it('cannot be circumvented without the voters', async () => {
    await lockAgain()
    const asked = await ask({ intent: 'second try' })
    const owner = readFileSync(join(home.data, 'keys', 'owner.token'), 'utf8').trim()
    const again = (): Promise<Answer> => unlock({ intent: 'second try' })
    const attempts: Readonly<Record<string, () => Promise<unknown>>> = {
      'the agent votes': () => vote(asked, 'claude'),
      'nobody votes': () => tool('consensus_vote', { ...asked, vote: 'yes' }),
      'the owner votes': () => vote(asked, owner),
      'the owner approves': () => post(`/api/approvals/${asked.id}/approve`, {}, owner),
      'the agent approves': () => post(`/api/approvals/${asked.id}/approve`, {}, tokens.get('claude')),
      'nobody approves': () => post(`/api/approvals/${asked.id}/approve`, {}),
      'a token that was made up': () => vote(asked, 'hb_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'),
      'one person twice': async () => [await vote(asked, 'anna'), await vote(asked, 'anna')],
      'one person over MCP as well': async () => {
        const client = await connectHttp(gateway.url, 'modern', '/mcp/runtime', tokens.get('anna'))
        clients.push(client)
        return client.callTool({
          name: 'consensus_vote',
          arguments: { round_id: asked.round_id, digest: asked.digest, vote: 'yes' },
        })
      },
      'one person on the command line as well': () =>
        runCommand(home, ['approvals', 'approve', asked.id], { HEARTHBUS_VOTER_TOKEN: tokens.get('anna') ?? '' }),
      'the agent over stdio': async () => {
        const client = await connectStdio(home, 'legacy', ['--profile', 'runtime'])
        clients.push(client)
        return client.callTool({
          name: 'consensus_vote',
          arguments: { round_id: asked.round_id, digest: asked.digest, vote: 'yes' },
        })
      },
      'another digest': () =>
        tool('consensus_vote', { round_id: asked.round_id, digest: '0'.repeat(64), vote: 'yes' }, 'ben'),
      'another round': () => tool('consensus_vote', { round_id: 'nope', digest: asked.digest, vote: 'yes' }, 'ben'),
      'voters of its own choice': () =>
        tool(
          'consensus_propose',
          { tool: 'hs4.devices.set', arguments: { ...UNLOCK, intent: 'second try' }, voters: ['anna'], need: 1 },
          'claude',
        ),
      'fewer yeses': () =>
        tool(
          'consensus_propose',
          { tool: 'hs4.devices.set', arguments: { ...UNLOCK, intent: 'second try' }, need: 1 },
          'claude',
        ),
      'more yeses than voters': () =>
        tool(
          'consensus_propose',
          { tool: 'hs4.devices.set', arguments: { ...UNLOCK, intent: 'x' }, voters: ['anna'], need: 2 },
          'claude',
        ),
      'a voter twice': () =>
        tool(
          'consensus_propose',
          { tool: 'hs4.devices.set', arguments: { ref: 120, value: 0, ...CLAIMS }, voters: ['anna', 'anna'], need: 2 },
          'claude',
        ),
      'a voter in capitals': () =>
        tool(
          'consensus_propose',
          { tool: 'hs4.devices.set', arguments: { ref: 120, value: 0, ...CLAIMS }, voters: ['anna', 'Anna'], need: 2 },
          'claude',
        ),
      'a voter in other letters': () =>
        tool(
          'consensus_propose',
          { tool: 'hs4.devices.set', arguments: { ref: 120, value: 0, ...CLAIMS }, voters: ['anna', 'аnna'], need: 2 },
          'claude',
        ),
      'itself as a voter': () =>
        tool(
          'consensus_propose',
          {
            tool: 'hs4.devices.set',
            arguments: { ref: 120, value: 0, ...CLAIMS },
            voters: ['claude', 'anna'],
            need: 2,
          },
          'claude',
        ),
      'the same by its value': () => tool('hs4.devices.set', { ref: LOCK, value: 0, ...CLAIMS }, 'claude'),
      'the same as another caller': () => unlock({ intent: 'second try' }, owner),
      'the same without a token': () => tool('hs4.devices.set', { ...UNLOCK, intent: 'second try' }),
      'the same in the home’s words': () =>
        tool('home_set', { thing: 'front door lock', to: 'unlocked', why: 'second try' }, 'claude'),
      'the same for later': () =>
        tool(
          'hs4.change.prepare',
          { toolName: 'hs4.devices.set', args: { ...UNLOCK, intent: 'second try' } },
          'claude',
        ),
    }
    const reached: string[] = []
    for (const [name, attempt] of Object.entries(attempts)) {
      await attempt()
      const { result } = await again()
      if (result !== undefined || bolt() !== LOCKED) reached.push(name)
    }
    expect(reached).toEqual([])
    expect(bolt()).toBe(LOCKED)
    // With the second person it opens, so it was for want of them that nothing did.
    expect(await vote(asked, 'ben')).toBe('QUORUM')
    // Other arguments than were voted about are another call.
    const byValue = await tool('hs4.devices.set', { ref: LOCK, value: 0, ...CLAIMS, intent: 'second try' }, 'claude')
    expect([byValue.result, bolt()]).toEqual([undefined, LOCKED])
    expect((await again()).result).toBeDefined()
    await expect.poll(bolt).toBe(UNLOCKED)
  })

  it('counts no vote of a revoked token, and survives a kill between quorum and call', async () => {
    await lockAgain()
    const first = await ask({ intent: 'third try' })
    await vote(first, 'anna')
    expect(await vote(first, 'ben')).toBe('QUORUM')
    await runCommand(home, ['token', 'revoke', 'ben'])
    expect((await unlock({ intent: 'third try' })).result).toBeUndefined()
    expect(bolt()).toBe(LOCKED)
    tokens.set('ben', await makeToken('ben', 'approver'))
    expect((await unlock({ intent: 'third try' })).result).toBeUndefined()
    expect(bolt()).toBe(LOCKED)

    const second = await ask({ intent: 'fourth try' })
    await vote(second, 'anna')
    expect(await vote(second, 'cara')).toBe('QUORUM')
    await gateway.kill()
    gateway = await startGatewayProcess(home)
    expect((await unlock({ intent: 'fourth try' })).result).toBeDefined()
    await expect.poll(bolt).toBe(UNLOCKED)
    await lockAgain()
    await gateway.kill()
    gateway = await startGatewayProcess(home)
    expect((await unlock({ intent: 'fourth try' })).result).toBeUndefined()
    expect(bolt()).toBe(LOCKED)
  })

  it('is refused at the start if it cannot be fulfilled, or if a voter is not a token name', async () => {
    const start = async (rule: JsonObject): Promise<string> => {
      const broken = homeseerHome(world, {}, { guard: { rules: [rule] } })
      const { said } = await runCommand(broken, ['doctor'])
      broken.remove()
      return said
    }
    const rule = { tool: 'hs4.devices.set', says: 'quorum' }
    expect(await start({ ...rule, voters: ['anna'], need: 2 })).toMatch(/more yeses than voters/)
    expect(await start({ ...rule, voters: ['anna', 'anna'], need: 2 })).toMatch(/twice/)
    for (const nobody of ['owner', 'local', 'console', 'Anna', 'peer:x'])
      expect(await start({ ...rule, voters: ['anna', nobody], need: 2 })).toMatch(/token create/)
  })

  it('names the voters without a token in its refusal', async () => {
    await lockAgain()
    for (const name of ['ben', 'cara']) await runCommand(home, ['token', 'revoke', name])
    const { error } = await unlock({ intent: 'fifth try' })
    expect(JSON.stringify(error)).toMatch(/hearthbus token create ben --role approver/)
    expect(bolt()).toBe(LOCKED)
  })
})
