/**
 * Answers as an agent reads them, of every tool of every family that reads and needs no arguments, in the virtual house:
 * short enough, with node and record, without commands for a terminal, and with nothing printed that would not run.
 */
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { countTokens } from '../../bench/token-count.ts'
import { isJsonObject } from '../../src/core/json.ts'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { omitCliInstructions } from '../../src/core/fault.ts'
import { connectHttp, createHome, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'
import { at } from '../homeseer-rig.ts'

/** Without arguments these are complete, as their contracts have it; with these arguments they are as short as others. */
const LONG_WITHOUT_ARGUMENTS: Readonly<Record<string, JsonObject>> = {
  bus_topology: { limit: 10 },
  bus_traces: { limit: 10 },
  'ebus.v1.bus.messages.list': { limit: 10 },
  'hs4.devices.controls.get': { refs: [101] },
}

let home: Home
let gateway: GatewayProcess
let client: Client
let short: Client
beforeAll(async () => {
  home = createHome('aliases:\n  "hs:120": [Schnurzel]\n  "hs:141": [Pforte]\n')
  gateway = await startGatewayProcess(home, ['--demo'])
  client = await connectHttp(gateway.url, 'modern', '/mcp')
  short = await connectHttp(gateway.url, 'modern', '/mcp/home')
  await vi.waitUntil(
    async () => JSON.stringify(await short.callTool({ name: 'home_overview', arguments: {} })).includes('is wanted'),
    { timeout: 120_000, interval: 500 },
  )
})
afterAll(async () => {
  await client.close()
  await short.close()
  await gateway.kill()
  home.remove()
})

interface Printed {
  readonly name: string
  readonly args: JsonObject
}

/** Everything that looks like a call that somebody could make. */
function printedIn(value: Json): readonly Printed[] {
  if (Array.isArray(value)) return value.flatMap((each) => printedIn(each as Json))
  if (!isJsonObject(value)) return []
  const name = value['tool'] ?? value['name']
  const args = value['arguments'] ?? value['args']
  const own = typeof name === 'string' && isJsonObject(args) ? [{ name, args }] : []
  return [...own, ...Object.values(value).flatMap(printedIn)]
}

describe('every read-only tool', () => {
  it('answers in at most 5,000 tokens, with node and record, and suggests only calls that run', async () => {
    const { tools } = await client.listTools()
    const reading = tools.filter(
      ({ annotations, inputSchema }) =>
        annotations?.readOnlyHint === true && (inputSchema['required'] ?? []).length === 0,
    )
    expect(reading.length).toBeGreaterThan(40)
    const wrong: string[] = []
    for (const { name } of reading) {
      const args = LONG_WITHOUT_ARGUMENTS[name] ?? {}
      const { structuredContent = {}, _meta, isError } = await client.callTool({ name, arguments: args })
      const tokens = countTokens(structuredContent)
      if (tokens > 5_000) wrong.push(`${name}: ${tokens} tokens`)
      if (at(_meta, 'io.hearthbus/record', 'log_index') === undefined) wrong.push(`${name}: no record`)
      if (isError !== true && at(_meta, 'io.hearthbus/node') === undefined) wrong.push(`${name}: no node`)
      if (/\bhearthbus [a-z]+/.test(JSON.stringify(structuredContent))) wrong.push(`${name}: a command`)
      for (const printed of printedIn(structuredContent as Json).slice(0, 20)) {
        // What changes something is not run here; what is no tool is somebody's data.
        if (tools.find((each) => each.name === printed.name)?.annotations?.readOnlyHint !== true) continue
        const answer = await client.callTool({ name: printed.name, arguments: printed.args })
        if (answer.isError === true) wrong.push(`${name} prints ${JSON.stringify(printed)}, which fails`)
      }
    }
    expect(wrong).toEqual([])
  })
})

describe('text for a model', () => {
  it.each([
    ['3 calls wait for a person: hearthbus approvals.', '3 calls wait for a person. The owner has to fix this.'],
    [
      'Tools of desk are new or changed and are withheld. Look at them: hearthbus devices show desk.',
      'Tools of desk are new or changed and are withheld. The owner has to fix this.',
    ],
    ['All is well.', 'All is well.'],
  ])('contains no terminal command: %s', (said, told) => {
    expect(omitCliInstructions(said)).toBe(told)
  })

  it('contains no terminal command in what needs attention', async () => {
    const { structuredContent } = await short.callTool({ name: 'attention', arguments: {} })
    expect(JSON.stringify(structuredContent)).not.toMatch(/hearthbus [a-z]/)
  })
})

describe('tools_find', () => {
  it.each([
    ['attic plug', 'hs:197', 'hs4.devices.set'],
    ['Küchenlampe', 'hs:120', 'hs4.devices.set'],
    ['desk lamp', 'device:desk-lamp:lamp', 'device.desk-lamp.self.lamp.turn_on'],
  ])('finds things and rooms, with the tools for them: %s', async (query, handle, tool) => {
    const { structuredContent } = await short.callTool({ name: 'tools_find', arguments: { query } })
    expect(structuredContent).toMatchObject({
      things: expect.arrayContaining([expect.objectContaining({ handle })]),
      tools: expect.arrayContaining([expect.objectContaining({ name: tool })]),
    })
    expect(countTokens(structuredContent as JsonObject)).toBeLessThanOrEqual(5_000)
  })
})

describe('an alias taught by the owner', () => {
  it('finds and sets the thing, and needs the same approval as the thing’s own name', async () => {
    expect(await call('home_find', { text: 'schnurzel' })).toMatchObject({ things: [{ handle: 'hs:120' }] })
    expect(await call('home_set', { thing: 'Schnurzel', to: 'on', why: 'a test' })).toMatchObject({
      say: expect.stringContaining('read back'),
    })
    expect(await call('home_set', { thing: 'Pforte', to: 'unlock', why: 'a test' })).toMatchObject({
      approval: { state: 'requested' },
    })
  })
})

describe('undo of a heating change', () => {
  it('does nothing if the setpoint was changed again since, and can itself be undone', async () => {
    const set = (to: number): Promise<JsonObject> => call('heating_set', { zone: 'upstairs', to, why: 'a test' })
    const first = await set(19)
    const second = await set(20)
    expect(await call('undo', { id: first['id'] ?? '', why: 'a test' })).toMatchObject({
      say: expect.stringMatching(/changed again since.*Nothing was done/),
    })
    const undone = await call('undo', { id: second['id'] ?? '', why: 'a test' })
    expect(undone).toMatchObject({ say: expect.stringMatching(/^1 change was taken back/) })
    expect(await dayTarget()).toBe(19)
    expect(await call('undo', { id: undone['id'] ?? '', why: 'a test' })).toMatchObject({
      say: expect.stringMatching(/^1 change was taken back/),
    })
    expect(await dayTarget()).toBe(20)
  })
})

async function call(name: string, args: JsonObject): Promise<JsonObject> {
  for (let attempt = 1; ; attempt++) {
    const { structuredContent, isError } = await short.callTool({ name, arguments: args })
    if (isError !== true || attempt === 5) return structuredContent as JsonObject
  }
}

/** What the regulator keeps for the zone upstairs by day. */
async function dayTarget(): Promise<unknown> {
  const { structuredContent } = await client.callTool({ name: 'ebus.v1.semantic.zones.get', arguments: {} })
  const zones = at(structuredContent, 'data') as readonly JsonObject[]
  return at(
    zones.find((zone) => JSON.stringify(zone).includes('Upstairs')),
    'config',
    'day_setpoint_c',
  )
}
