/**
 * One name, several nodes that say different things of it: what is judged is what runs, also with a member that lies.
 * Real gateways in processes of their own, over real sockets; the caller offers nothing itself.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { call, cli, closeAll, executions, formCommunity, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'

let caller: MeshNode
let honest: MeshNode
let member: MeshNode

beforeAll(async () => {
  const nodes = (await formCommunity(['caller', 'honest', 'member'])) as [MeshNode, MeshNode, MeshNode]
  ;[caller, honest, member] = nodes
})
afterAll(() => closeAll([caller, honest, member]))

interface Topology {
  readonly capabilitiesRemote: readonly { readonly name: string; readonly nodeId: string }[]
  readonly disagreements: readonly JsonObject[]
}

async function topology({ url }: MeshNode): Promise<Topology> {
  return (await (await fetch(`${url}/api/topology`)).json()) as Topology
}

/** The same name on both, with what each says of it; the caller has heard of both afterwards. */
async function offer(name: string, ofHonest: JsonObject, ofMember?: JsonObject): Promise<void> {
  const said = [await honest.say({ do: 'offer', name, ...ofHonest })]
  if (ofMember !== undefined) said.push(await member.say({ do: 'offer', name, ...ofMember }))
  expect(said.map(({ added }) => added)).toEqual(said.map(() => true))
  const nodes = ofMember === undefined ? [honest] : [honest, member]
  await until(`${name} is known`, async () => {
    const { capabilitiesRemote } = await topology(caller)
    return nodes.every(({ nodeId }) => capabilitiesRemote.some((each) => each.name === name && each.nodeId === nodeId))
  })
}

function ran({ home }: MeshNode, name: string): number {
  return executions({ home }).filter((line) => line === `ran ${name}`).length
}

describe('a member that announces a capability as less restricted than another node does', () => {
  it('cannot make an observer’s call execute a write, on any node', async () => {
    const { token } = cli(caller.home, 'token', 'create', 'phone', '--role', 'observer') as { token: string }
    await offer('test.unlock', { effect: 'writes', idempotent: false }, { effect: 'reads', idempotent: false })
    for (const node of [undefined, honest.nodeId, member.nodeId])
      for (let times = 0; times < 10; times++) {
        const { outcome } = await call(caller, 'test.unlock', {}, { token, ...(node === undefined ? {} : { node }) })
        expect(outcome).toBe('denied')
      }
    expect([ran(honest, 'test.unlock'), ran(member, 'test.unlock')]).toEqual([0, 0])
    expect((await topology(caller)).disagreements).toContainEqual({
      name: 'test.unlock',
      effects: ['reads', 'writes'],
      schemas: 1,
      nodeIds: [honest.nodeId, member.nodeId].toSorted(),
    })
    expect(JSON.stringify(cli(caller.home, 'doctor'))).toContain('do not agree on test.unlock')
  })

  it('with another schema receives no call whose arguments fit the caller’s schema only', async () => {
    const text = { type: 'object', properties: { value: { type: 'string' } }, additionalProperties: false }
    const number = { type: 'object', properties: { value: { type: 'number' } }, additionalProperties: false }
    await offer('test.typed', { requestSchema: text, version: [1, 1] }, { requestSchema: number })
    for (let times = 0; times < 20; times++)
      expect((await call(caller, 'test.typed', { value: 'a text' })).outcome).toBe('ok')
    expect((await call(caller, 'test.typed', { value: 5 })).structured.error).toMatchObject({
      error: 'schema_mismatch',
    })
    expect([ran(honest, 'test.typed'), ran(member, 'test.typed')]).toEqual([20, 0])
  })
})

describe('a node whose parameter predicate refuses a call', () => {
  it('does not lose calls that another node accepts', async () => {
    await offer('test.predicate', { model: 'right' }, { model: 'wrong' })
    const answers = []
    for (let times = 0; times < 30; times++)
      answers.push(await call(caller, 'test.predicate', { params: { model: 'right' } }))
    expect(answers.map(({ outcome }) => outcome)).toEqual(answers.map(() => 'ok'))
    expect([ran(honest, 'test.predicate'), ran(member, 'test.predicate')]).toEqual([30, 0])
  })
})

describe('a node whose clock is off by 70 s', () => {
  it('refuses calls, which are then served by other nodes', async () => {
    const change = { effect: 'records', idempotent: false }
    await offer('test.anywhere', change, change)
    const before = await caller.say({ do: 'stats' })
    await member.say({ do: 'skew', ms: 70_000 })
    const answers = []
    for (let times = 0; times < 30; times++) answers.push(await call(caller, 'test.anywhere'))
    await member.say({ do: 'skew', ms: -70_000 })
    expect(Number((await caller.say({ do: 'stats' }))['retries'])).toBeGreaterThan(Number(before['retries']))
    expect(answers.map(({ outcome }) => outcome)).toEqual(answers.map(() => 'ok'))
    expect(ran(honest, 'test.anywhere') + ran(member, 'test.anywhere')).toBe(30)
  })
})

describe('a non-idempotent call', () => {
  it.each(['busy', 'offline'])('whose handler fails as %s after it has begun runs once', async (behaves) => {
    const name = `test.once.${behaves}`
    const facts = { effect: 'records', idempotent: false, behaves }
    await offer(name, facts, facts)
    expect((await call(caller, name)).outcome).toBe('error')
    expect(ran(honest, name) + ran(member, name)).toBe(1)
  })

  it.each(['NaN', '-1', '0', '0.0001'])('with a timeout of %s is refused, and nothing runs', async (timeoutMs) => {
    const name = `test.late.${timeoutMs.replace('-', 'minus')}`
    await offer(name, { effect: 'records', idempotent: false })
    const { outcome } = await caller.say({ do: 'call', name, timeoutMs })
    expect(outcome).toMatchObject({ ok: false, fault: { begun: false } })
    expect(await honest.say({ do: 'call', name, timeoutMs })).toMatchObject({ outcome: { ok: false } })
    expect(ran(honest, name)).toBe(0)
  })
})

describe('a provider with a concurrency limit of two', () => {
  it('serves twelve concurrent calls from another node', async () => {
    await offer('test.two', { maxConcurrent: 2, behaves: 'slow' })
    const answers = await Promise.all(Array.from({ length: 12 }, () => call(caller, 'test.two')))
    expect(answers.map(({ outcome }) => outcome)).toEqual(answers.map(() => 'ok'))
    expect(ran(honest, 'test.two')).toBe(12)
  })
})

describe('a capability handler', () => {
  it.each(['nothing', 'throwing', 'kindless'])(
    'with the outcome "%s" fails with internal_error, and frees its slot',
    async (behaves) => {
      const name = `test.${behaves}`
      await offer(name, { maxConcurrent: 1, idempotent: false, behaves })
      for (let times = 0; times < 3; times++) {
        const { outcome, structured } = await call(caller, name)
        expect([outcome, structured.error?.['error']]).toEqual(['error', 'internal_error'])
        expect(JSON.stringify(structured)).not.toContain('LEDGER_UNAVAILABLE')
      }
      expect(ran(honest, name)).toBe(3)
      expect(await honest.say({ do: 'stats' })).toMatchObject({ inFlight: 0, verified: true })
    },
  )

  it('that is synchronous answers every call', async () => {
    await offer('test.sync', { maxConcurrent: 1, behaves: 'at once' })
    for (let times = 0; times < 3; times++) expect((await call(caller, 'test.sync')).outcome).toBe('ok')
  })
})

describe('a capability bound to one node', () => {
  it('is served by the node that is named, and the answer says which one it is', async () => {
    await offer('test.heat', { anywhere: false }, { anywhere: false })
    for (let times = 0; times < 20; times++)
      expect((await call(caller, 'test.heat')).structured.error).toMatchObject({ alt_nodes: expect.any(Array) })
    expect([ran(honest, 'test.heat'), ran(member, 'test.heat')]).toEqual([0, 0])
    const named = (await call(caller, 'test.heat', {}, { node: 'honest' })) as unknown as { readonly from: JsonObject }
    expect(named).toMatchObject({ outcome: 'ok', from: { node: honest.nodeId, nodeName: 'honest' } })
  })
})
