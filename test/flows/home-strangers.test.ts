/**
 * Strangers' wishes over `/mcp/home`, from a client in a process of its own, in the virtual house and in generated houses
 * with odd names. What became of the house is read from the simulated hardware. A wish ends in the right act or in the
 * right question, in three calls and 1,500 tokens; a wrong act is never right.
 *
 * HOME_STRANGERS_SEEDS names the seeds of the houses, such as 1,2,3.
 */
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { countTokens } from '../../bench/token-count.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { connectHttp, createHome, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'
import { generateHouse } from '../generated-house.ts'
import { drawing } from '../seeded-random.ts'
import { homeseerHome, openWorld } from '../homeseer-rig.ts'
import type { World } from '../homeseer-rig.ts'
import { createStrangersWishes, VIRTUAL_HOUSE_WISHES } from '../strangers-wishes.ts'
import type { StrangersWish } from '../strangers-wishes.ts'

const SEEDS = (process.env['HOME_STRANGERS_SEEDS'] ?? '7').split(',').map(Number)

type Hardware = ReadonlyMap<number, number>

interface PlayedWish {
  readonly answer: JsonObject
  readonly moved: Readonly<Record<string, number>>
  readonly before: Hardware
  readonly calls: number
  readonly tokens: number
}

async function play(
  { calls }: StrangersWish,
  { client, hardware }: { readonly client: Client; readonly hardware: () => Promise<Hardware> },
): Promise<PlayedWish> {
  const before = await hardware()
  let answer: JsonObject = {}
  let tokens = 0
  for (const call of calls) {
    const [name, args] = typeof call === 'function' ? call(answer) : call
    const { structuredContent } = await client.callTool({ name, arguments: args })
    answer = structuredContent as JsonObject
    tokens += countTokens(answer)
  }
  const after = await hardware()
  const moved = Object.fromEntries([...after].filter(([ref, value]) => before.get(ref) !== value))
  return { answer, moved, before, calls: calls.length, tokens }
}

/** What is wrong with the outcome, in words; empty when nothing is. */
function judge(wish: StrangersWish, { answer, moved, before, calls, tokens }: PlayedWish): readonly string[] {
  const says = typeof answer['say'] === 'string' && (wish.says ?? /./).test(answer['say'])
  return [
    ...(isRightMove(wish, moved, before) ? [] : [`it moved ${JSON.stringify(moved)}`]),
    ...(says ? [] : ['it says something else']),
    ...(wish.asks === true && typeof answer['ask'] !== 'string' ? ['it does not ask'] : []),
    ...(calls > 3 || tokens > 1_500 ? [`it took ${calls} calls and ${tokens} tokens`] : []),
  ].map((wrong) => `${wrong}: ${JSON.stringify(answer)}`)
}

/** What was so already need not move. */
function isRightMove(wish: StrangersWish, moved: PlayedWish['moved'], before: Hardware): boolean {
  if (wish.moves !== undefined) {
    const { ref, direction } = wish.moves
    const [now, then] = [moved[ref] ?? NaN, before.get(ref) ?? NaN]
    return Object.keys(moved).length === 1 && (direction === 'up' ? now > then : now < then)
  }
  const isNothing = Object.keys(moved).length === 0
  if (wish.mayAsk === true && isNothing) return true
  const wanted = Object.entries(wish.told ?? {}).filter(([ref, value]) => before.get(Number(ref)) !== value)
  return wanted.length === Object.keys(moved).length && wanted.every(([ref, value]) => moved[ref] === value)
}

describe('requests in the virtual house', () => {
  let home: Home
  let gateway: GatewayProcess
  let client: Client
  let contract: Client
  /** What can be told something, and hot enough to matter: the heating itself is asked for its targets. */
  async function hardware(): Promise<Hardware> {
    const { structuredContent } = await contract.callTool({
      name: 'hs4.devices.get',
      arguments: { refs: ACTUATORS, fresh: true },
    })
    const { result } = structuredContent as { result: { items: readonly { ref: number; value: number }[] } }
    return new Map(result.items.map(({ ref, value }) => [ref, value]))
  }
  const ACTUATORS = [
    101, 111, 120, 131, 141, 150, 155, 161, 162, 163, 175, 176, 180, 185, 186, 190, 191, 195, 196, 197, 198, 199, 201,
    202, 203, 204, 205,
  ]

  beforeAll(async () => {
    home = createHome('guard:\n  actuatorIntervalMs: 0\n  writesPerMinute: 1000\n')
    gateway = await startGatewayProcess(home, ['--demo'])
    client = await connectHttp(gateway.url, 'modern', '/mcp/home')
    contract = await connectHttp(gateway.url, 'legacy', '/mcp')
    await vi.waitUntil(
      async () => JSON.stringify(await client.callTool({ name: 'home_overview', arguments: {} })).includes('is wanted'),
      { timeout: 120_000, interval: 500 },
    )
  })
  afterAll(async () => {
    await client.close()
    await contract.close()
    await gateway.kill()
    home.remove()
  })

  it.each(VIRTUAL_HOUSE_WISHES.map((wish) => [wish.said, wish] as const))(
    '"%s" changes what was meant, and nothing else',
    async (_, wish) => {
      expect(judge(wish, await play(wish, { client, hardware }))).toEqual([])
    },
  )
})

describe.each(SEEDS)('requests in the generated house %i', (seed) => {
  const { parts, things } = generateHouse(seed, { odd: true })
  const wishes = createStrangersWishes(things, drawing(seed + 1_000))
  let world: World
  let home: Home
  let gateway: GatewayProcess
  let client: Client
  const hardware = (): Promise<Hardware> =>
    Promise.resolve(new Map(things.map(({ ref }) => [ref, world.simulator.house.record(ref, true)?.value ?? NaN])))

  beforeAll(async () => {
    world = await openWorld({ parts })
    home = homeseerHome(world)
    gateway = await startGatewayProcess(home)
    client = await connectHttp(gateway.url, 'legacy', '/mcp/home')
  })
  afterAll(async () => {
    await client.close()
    await gateway.kill()
    home.remove()
    await world.close()
  })

  it.each(wishes.map((wish) => [wish.said, wish] as const))(
    '"%s" changes what was meant, and nothing else',
    async (_, wish) => {
      expect(judge(wish, await play(wish, { client, hardware }))).toEqual([])
    },
  )
})
