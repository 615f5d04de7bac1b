import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askAsOwner, call, cli, closeAll, executions, formCommunity, startAgain, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'
import { providers } from '../mesh-load.ts'

/** The tests that spec 2 § 8 lists, by their names there, with every node in a process of its own. */
interface AllAnswer {
  readonly nodeId: string
  readonly outcome: { readonly ok: boolean; readonly value: { readonly data: { node: string; traceId: string } } }
}

describe('spec 2 § 8 with real processes', () => {
  let nodes: readonly MeshNode[] = []
  let [caller, attic, barn, cellar] = [{}, {}, {}, {}] as [MeshNode, MeshNode, MeshNode, MeshNode]

  beforeAll(async () => {
    nodes = await formCommunity(['caller', 'attic', 'barn', 'cellar'], { yaml: 'bus: { hedge: true }' })
    ;[caller, attic, barn, cellar] = nodes as typeof nodes & [MeshNode, MeshNode, MeshNode, MeshNode]
  })

  afterAll(() => closeAll(nodes))

  it('register_local_validates_descriptor', async () => {
    expect(await attic.say({ do: 'add', name: 'bad', schema: { type: 'no such type' } })).toMatchObject({
      added: false,
      code: 'schema_invalid',
    })
  })

  it('register_local_namespace_violation_raises', async () => {
    expect(await attic.say({ do: 'add', prefix: 'elsewhere', name: 'bad' })).toMatchObject({
      added: false,
      code: 'namespace_violation',
    })
  })

  it('schema_hash_stable_across_runs, and changes_on_schema_change', async () => {
    const heard = async (name: string): Promise<readonly string[]> => {
      const { hashes } = (await caller.say({ do: 'announced', name })) as { hashes: Record<string, string> }
      return Object.values(hashes)
    }
    // Three runs of three processes.
    expect([await heard('test.echo')].map((all) => [all.length, new Set(all).size])).toEqual([[3, 1]])
    await attic.say({ do: 'add', name: 'moving' })
    await until('it is known', async () => (await heard('test.moving')).length === 1)
    const before = await heard('test.moving')
    await attic.say({ do: 'add', name: 'moving', schema: { type: 'object', maxProperties: 7 } })
    // Another contract is another tool, until a person says that it is what it was (ADR 137).
    await until('it is withheld', async () => (await heard('test.moving')).length === 0)
    await until('a person can accept it', async () => withheldIn(caller).includes('test.moving'))
    cli(caller.home, 'mesh', 'accept', 'attic')
    await until('its new contract is known', async () => (await heard('test.moving')).length === 1)
    expect(await heard('test.moving')).not.toEqual(before)
    expect((await call(caller, 'test.moving', { x: 1 })).outcome).toBe('ok')
  })

  it('two_nodes_route_to_each_other', async () => {
    expect(await answeredBy(attic, 'test.only.barn')).toBe('barn')
    expect(await answeredBy(barn, 'test.only.attic')).toBe('attic')
  })

  it('router_prefers_local_when_underloaded, and remote_when_local_overloaded', async () => {
    expect(await shares(attic, 'test.work', 20)).toEqual({ attic: 20 })
    // Fifty are its limit, of which four fifths are enough to look elsewhere.
    let [ms, spread] = [750, {} as Record<string, number>]
    await until('some go elsewhere', async () => {
      // Long enough for all of them to be there at once, however slowly they come.
      spread = await shares(attic, 'test.work', 50, { ms: (ms *= 2) })
      return Object.keys(spread).length > 1
    })
    expect(spread['attic']).toBeGreaterThan(25)
  })

  it('three_nodes_load_balance: a hundred calls, within 30 % of even', async () => {
    let share: Readonly<Record<string, number>> = {}
    await until('they share alike', async () => {
      share = {
        attic: 0,
        barn: 0,
        cellar: 0,
        ...(await inTurns(100, 12, () => answeredBy(caller, 'test.work', { ms: 60 }))),
      }
      return Object.values(share).every((count) => Math.abs(count - 100 / 3) <= 10)
    })
    expect(Object.keys(share).toSorted()).toEqual(['attic', 'barn', 'cellar'])
  })

  it('router_breaks_ties_by_latency_then_reliability', async () => {
    await barn.say({ do: 'mood', name: 'slow' })
    let share: Readonly<Record<string, number>> = {}
    await until('fewer than its third go there', async () => {
      share = await inTurns(60, 4, () => answeredBy(caller, 'test.work'))
      return (share['barn'] ?? 0) < 20
    })
    expect(share).not.toHaveProperty('undefined')
    await barn.say({ do: 'mood', name: 'well' })
  })

  it('params_compatible_predicate_invoked', async () => {
    const asked = { params: { model: 'of-cellar' } }
    expect(await inTurns(10, 4, () => answeredBy(caller, 'test.model', asked))).toEqual({ cellar: 10 })
    const nobody = await call(caller, 'test.model', { params: { model: 'of-nobody' } })
    expect(nobody.structured.error).toMatchObject({ error: 'not_found', reason: 'params' })
  })

  it('in_flight_decrements_on_handler_exception', async () => {
    await cellar.say({ do: 'mood', name: 'broken' })
    const { structured } = await call(caller, 'test.work', {}, { node: cellar.nodeId })
    expect(structured.error).toMatchObject({ error: 'internal_error' })
    for (const each of [caller, cellar])
      await until(`${each.name} has nothing in flight`, async () => (await each.say({ do: 'stats' }))['inFlight'] === 0)
    await cellar.say({ do: 'mood', name: 'well' })
  })

  it('quarantine_after_chaos: health_quarantines_at_threshold, router_skips_quarantined, health_resets_after_window', async () => {
    const left = async (): Promise<number> => (await providers(caller, 'test.work')).get(cellar.nodeId) ?? 0
    await cellar.say({ do: 'mood', name: 'broken' })
    for (let turn = 0; turn < 5; turn++) await call(caller, 'test.work', {}, { node: cellar.nodeId })
    expect(await left()).toBeGreaterThan(0)
    expect(Object.keys(await shares(caller, 'test.work', 30))).not.toContain('cellar')
    await cellar.say({ do: 'mood', name: 'well' })
    // It leaves itself alone as well: to both of them the minute passes at once.
    for (const each of [cellar, caller]) await each.say({ do: 'leap', ms: 60_000 })
    // The first call after it is the probe; nobody waits for it to be lucky.
    await until('it is trusted again', async () => (await answeredBy(caller, 'test.work')) === 'cellar')
    expect(await left()).toBe(0)
    expect((await call(caller, 'test.work', {}, { node: cellar.nodeId })).outcome).toBe('ok')
    // To the caller nobody was heard of for that minute: the others have to come back as well.
    await until('all are heard of again', async () => {
      const { answers } = (await caller.say({ do: 'all', name: 'test.echo' })) as { answers: readonly AllAnswer[] }
      return answers.filter(({ outcome }) => outcome.ok).length === 3
    })
  })

  it('streaming_call_records_full_trace', async () => {
    const body = { frames: 7, bytes: 100 }
    await caller.say({ do: 'stream', name: 'test.frames', node: attic.nodeId, body })
    expect(await caller.say({ do: 'rest' })).toMatchObject({ frames: 7, outcome: { ok: true } })
    const traces = async (node: MeshNode): Promise<readonly Record<string, unknown>[]> =>
      (await (await askAsOwner(node, '/api/traces?limit=50')).json()) as Record<string, unknown>[]
    const near = (await traces(caller)).find(({ capability }) => capability === 'test.frames')
    expect(near).toMatchObject({ result: 'ok', frames: 7, toNode: attic.nodeId, isLocal: false, attempts: 1 })
    expect(Number(near?.['bytesIn'])).toBeGreaterThan(0)
    const far = (await traces(attic)).find(({ traceId }) => traceId === near?.['traceId'])
    expect(far).toMatchObject({ result: 'ok', frames: 7, isLocal: true, channel: 'mesh' })
  })

  it('callAll asks every node once, under one trace', async () => {
    const { answers } = (await caller.say({ do: 'all', name: 'test.echo' })) as { answers: readonly AllAnswer[] }
    expect(answers.map(({ outcome }) => outcome.value.data.node).toSorted()).toEqual(['attic', 'barn', 'cellar'])
    expect(new Set(answers.map(({ outcome }) => outcome.value.data.traceId)).size).toBe(1)
  })

  it('a provider at its limit answers with a retry time and the other nodes', async () => {
    const enough = new AbortController()
    const held = call(barn, 'test.narrow', { id: 'held', ms: 29_000 }, { node: attic.nodeId, signal: enough.signal })
    await until('it is at it', () => executions(attic).includes('worked "held"'))
    const { structured } = await call(caller, 'test.narrow', {}, { node: attic.nodeId })
    expect(structured.error).toMatchObject({
      error: 'capacity_exceeded',
      retry_after_ms: expect.any(Number),
      alt_nodes: [barn.nodeId, cellar.nodeId].toSorted(),
    })
    // Who may choose goes there by itself.
    expect(await answeredBy(caller, 'test.narrow')).not.toBe('attic')
    enough.abort()
    await expect(held).rejects.toThrow(/abort/)
  })

  it('a slow idempotent call is hedged on a second node, and the first one is cancelled', async () => {
    await inTurns(120, 6, () => answeredBy(caller, 'test.again', { ms: 10 }))
    const { hedges } = await caller.say({ do: 'stats' })
    // For longer than anybody else needs, however busy the machine is.
    await attic.say({ do: 'mood', name: 'stuck' })
    const shared = await inTurns(12, 6, () => answeredBy(caller, 'test.again', { id: 'late', ms: 10 }))
    expect(shared['undefined']).toBe(undefined)
    expect(Number((await caller.say({ do: 'stats' }))['hedges'])).toBeGreaterThan(Number(hedges))
    await until('it was told', () => executions(attic).includes('cancelled "late"'))
    await attic.say({ do: 'mood', name: 'well' })
  })

  // Last: somebody dies of it.
  it('sticky_routing_preserves_session_across_calls, and sticky_session_binds_then_unbinds_on_peer_removal', async () => {
    const ask = async (): Promise<string> => {
      const { structured } = await call(caller, 'test.echo', {}, { session: 'turns' })
      return String(structured.data?.['node'])
    }
    const first = await ask()
    for (let turn = 0; turn < 10; turn++) expect(await ask()).toBe(first)
    const bound = nodes.find(({ name }) => name === first)
    if (bound === undefined) throw new Error(`nobody is called ${first}`)
    await bound.kill()
    const next = await ask()
    expect([first, 'undefined']).not.toContain(next)
    const again = await startAgain(bound)
    nodes = nodes.map((each) => (each === bound ? again : each))
    for (let turn = 0; turn < 5; turn++) expect(await ask()).toBe(next)
  })
})

function withheldIn({ home }: MeshNode): readonly string[] {
  const nodes = cli(home, 'mesh', 'offers') as unknown as { offers: { name: string }[] }[]
  return nodes.flatMap(({ offers }) => offers.map(({ name }) => name))
}

async function answeredBy(from: MeshNode, tool: string, body: object = {}): Promise<string> {
  return String((await call(from, tool, body)).structured?.data?.['node'])
}

/** All at once: who answered how many. */
async function shares(from: MeshNode, tool: string, count: number, body: object = {}): Promise<Record<string, number>> {
  return inTurns(count, count, () => answeredBy(from, tool, body))
}

/** At most so many under way at any time. */
async function inTurns(count: number, atOnce: number, ask: () => Promise<string>): Promise<Record<string, number>> {
  const tally: Record<string, number> = {}
  let left = count
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const by = await ask()
      tally[by] = (tally[by] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return tally
}
