/**
 * The home for an agent that has never seen us: nothing but `/mcp/home`, the virtual house, and wishes in English and
 * German. Each outcome is read from the simulated hardware or from the family's own tools, not from the answer alone.
 */
import type { Client } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { countListTokens, countTokens } from '../../bench/token-count.ts'
import { connectHttp, createHome, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'

let home: Home
let gateway: GatewayProcess
let client: Client
let contract: Client
beforeAll(async () => {
  home = createHome()
  gateway = await startGatewayProcess(home, ['--demo'])
  client = await connectHttp(gateway.url, 'modern', '/mcp/home')
  contract = await connectHttp(gateway.url, 'legacy', '/mcp')
  await vi.waitUntil(async () => JSON.stringify(await ask('home_overview')).includes('is wanted'), {
    timeout: 120_000,
    interval: 500,
  })
})
afterAll(async () => {
  await client.close()
  await contract.close()
  await gateway.kill()
  home.remove()
})

async function ask(name: string, args: JsonObject = {}): Promise<JsonObject & { readonly say: string }> {
  const { structuredContent } = await client.callTool({ name, arguments: args })
  return structuredContent as JsonObject & { readonly say: string }
}

/** What HomeSeer itself says of a device. */
async function shown(ref: number): Promise<string> {
  const { structuredContent } = await contract.callTool({
    name: 'hs4.devices.get',
    arguments: { refs: [ref], fresh: true },
  })
  const text = JSON.stringify(structuredContent)
  return /"status":"([^"]*)"/.exec(text)?.[1] ?? text
}

describe('the tool list', () => {
  it('of the home profile has at most twenty tools and 4,000 tokens, under names that every client accepts', async () => {
    const { tools } = await client.listTools()
    expect(tools.length).toBeLessThanOrEqual(20)
    for (const { name, outputSchema } of tools) {
      // With the prefix that Claude Code puts before it.
      expect(`mcp__hearthbus__${name}`).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
      expect(outputSchema).toBeUndefined()
    }
    expect(countListTokens(tools).all).toBeLessThanOrEqual(4_000)
  })

  it('of all tools omits output schemas, and is complete for each family', async () => {
    const { tools } = await contract.listTools()
    const { all, inputSides } = countListTokens(tools)
    expect(inputSides).toBeLessThanOrEqual(20_000)
    expect(all).toBeLessThanOrEqual(45_000)
    const ebus = await connectHttp(gateway.url, 'modern', '/mcp/ebus')
    const complete = (await ebus.listTools()).tools
    await ebus.close()
    const names = new Set(tools.map(({ name }) => name))
    expect(complete.filter(({ name }) => !names.has(name))).toEqual([])
    expect(complete.every(({ title, outputSchema }) => title !== undefined && outputSchema !== undefined)).toBe(true)
  })
})

describe('MCP clients of other generations', () => {
  it('of the 2025 era and of SDK 1.x list and call the home tools', async () => {
    const legacy = await connectHttp(gateway.url, 'legacy', '/mcp/home')
    const old = new OldClient({ name: 'old', version: '1.0.0' })
    await old.connect(new OldTransport(new URL(`${gateway.url}/mcp/home`)))
    const names = async (each: { listTools: () => Promise<{ tools: { name: string }[] }> }): Promise<string[]> =>
      (await each.listTools()).tools.map(({ name }) => name)
    expect(await names(old)).toEqual(await names(client))
    expect(await names(legacy)).toEqual(await names(client))
    for (const each of [old, legacy]) {
      const { structuredContent } = await each.callTool({ name: 'home_state', arguments: { of: ['hall lamp'] } })
      expect(structuredContent).toMatchObject({ things: [{ handle: 'hs:101' }] })
    }
    await legacy.close()
    await old.close()
  })
})

describe('the home tools', () => {
  it('describe the home in one call and at most 1,500 tokens', async () => {
    const overview = await ask('home_overview')
    expect(overview['rooms']).toEqual(expect.arrayContaining([expect.objectContaining({ room: '“Hall”' })]))
    // The zone of the heating and the room of HomeSeer are one.
    const living = (overview['rooms'] as JsonObject[]).find(({ room }) => room === '“Living Room”')
    expect(living?.['heating']).toMatch(/°C/)
    expect(living).not.toHaveProperty('on')
    expect(countTokens(overview)).toBeLessThanOrEqual(1_500)
  })

  it.each<[string, string | number, number, string]>([
    ['kitchen lamp', 'on', 120, 'On'],
    ['Küchenlampe', 'aus', 120, 'Off'],
    ['the lamp in the hall', 40, 101, 'Dim 40%'],
    ['hs:101', 'off', 101, 'Off'],
  ])('set %j to %j and read it back', async (thing, to, ref, status) => {
    const done = await ask('home_set', { thing, to, why: 'a wish of the test' })
    expect(done.say).toContain('read back')
    expect(await shown(ref)).toBe(status)
  })

  it('undo a change by the id of its answer, and no other', async () => {
    const done = await ask('home_set', { thing: 'kitchen lamp', to: 'on', why: 'a wish of the test' })
    expect(await shown(120)).toBe('On')
    const { structuredContent } = await contract.callTool({ name: 'undo', arguments: { id: 'nothing', why: 'a test' } })
    expect(JSON.stringify(structuredContent)).toContain('no change')
    expect(await ask('undo', { id: done['id'] ?? '', why: 'a wish of the test' })).toMatchObject({
      say: '1 change was taken back, 1 read back so.',
    })
    expect(await shown(120)).toBe('Off')
  })

  it('undo each change once, the last one first', async () => {
    const why = 'a wish of the test'
    const [start, first] = [await shown(101), await ask('home_set', { thing: 'hall lamp', to: 20, why })]
    const second = await ask('home_set', { thing: 'hall lamp', to: 60, why })
    await ask('undo', { id: second['id'] ?? '', why })
    expect(await shown(101)).toBe('Dim 20%')
    expect((await ask('undo', { id: second['id'] ?? '', why })).say).toBe(
      'That was taken back already. Nothing was done.',
    )
    // Neither the change that was taken back nor the taking back is the last change.
    expect(await ask('undo', { why })).toMatchObject({ undid: first['id'] })
    expect(await shown(101)).toBe(start)
  })

  it('undo a colour and a device tool as well', async () => {
    const why = 'a wish of the test'
    await ask('home_set', { thing: 'mood light', to: 'red', why })
    expect(await ask('undo', { why })).toMatchObject({ say: '1 change was taken back, 1 read back so.' })
    expect(await shown(176)).toBe('ff8800')
    await ask('home_set', { thing: 'desk lamp', to: 'on', why })
    expect(await ask('undo', { why })).toMatchObject({ say: '1 change was taken back, 0 read back so.' })
  })

  it('cancel a planned call instead of undoing it', async () => {
    const why = 'a wish of the test'
    const call = { tool: 'home_set', arguments: { thing: 'hall lamp', to: 'off', why } }
    const planned = await ask('later', { call, in_minutes: 600, why })
    expect((await ask('undo', { id: planned['id'] ?? '', why })).say).toMatch(/only planned/)
    expect((await ask('later', { cancel: planned['id'] ?? '' })).say).toMatch(/Cancelled/)
  })

  it.each(['lamp', 'the thing upstairs', 'garden gnome', 'what is on?'])(
    'ask back on an unclear request (%j), and change nothing',
    async (thing) => {
      const before = await shown(101)
      const asked = await ask('home_set', { thing, to: 'on', why: 'a wish of the test' })
      expect(asked.say).toMatch(/Nothing was done/)
      expect(await shown(101)).toBe(before)
    },
  )

  it('request an approval to open a lock, without an error', async () => {
    const result = await client.callTool({
      name: 'home_set',
      arguments: { thing: 'front door lock', to: 'unlock', why: 'a guest' },
    })
    expect(result.isError).not.toBe(true)
    const { approval, say } = result.structuredContent as { approval: JsonObject; say: string }
    expect(say).toContain('Nothing was done yet')
    // It was asked for by a call that this one made: the record of the answer names it all the same.
    expect(result._meta?.['io.hearthbus/record']).toMatchObject({ approval: approval['id'] })
    expect(await ask('approval', { id: approval['id'] ?? '' })).toMatchObject({ approval: { state: 'requested' } })
    expect(await shown(141)).toBe('Locked')
    await ask('approval', { id: approval['id'] ?? '', withdraw: true })
    expect(await ask('approval', { id: approval['id'] ?? '' })).toMatchObject({
      say: 'You withdrew the request. Asking again makes a new one.',
      approval: { state: 'withdrawn' },
    })
  })

  it('never change a lock, valve or heater when many things are set at once', async () => {
    const all = await ask('home_set_many', { kind: 'light', to: 'off', why: 'a wish of the test' })
    expect(all.say).toMatch(/^Set \d+ of \d+ lights? to “off”; \d+ read back so\./)
    for (const kind of ['lock', 'valve', 'heater', 'door'])
      expect(
        await client.callTool({ name: 'home_set_many', arguments: { kind, to: 'on', why: 'a wish of the test' } }),
      ).toMatchObject({ isError: true })
    expect(await shown(141)).toBe('Locked')
  })

  it('set a room temperature, read it back, and undo it', async () => {
    const done = await ask('heating_set', { zone: 'Wohnzimmer', to: 22.5, why: 'a wish of the test' })
    expect(done.say).toBe('Set “Living” to 22.5 °C, read back.')
    // What is only asked about changes nothing.
    await ask('undo', { id: done['id'] ?? '', why: 'a wish of the test', preview: true })
    await ask('heating_set', { zone: 'Wohnzimmer', to: 18, why: 'a wish of the test', preview: true })
    const { structuredContent: zones } = await contract.callTool({ name: 'ebus.v1.semantic.zones.get', arguments: {} })
    expect(JSON.stringify(zones)).toContain('22.5')
    expect(await ask('undo', { id: done['id'] ?? '', why: 'a wish of the test' })).toMatchObject({
      say: '1 change was taken back, 1 read back so.',
    })
    expect((await ask('heating_set', { zone: 'Mars', to: 22, why: 'a wish of the test' })).say).toContain(
      'Nothing was done',
    )
  })

  it('find and call tools that are not in the list', async () => {
    const found = await ask('tools_find', { query: 'error numbers of the boiler' })
    expect(JSON.stringify(found)).toContain('ebus.v1.vaillant.errors.get')
    expect(await ask('tools_call', { name: 'server_ping' })).toMatchObject({ say: 'server_ping answered.' })
    expect((await ask('tools_call', { name: 'hs4.devices.unlock' })).say).toContain('There is no tool')
  })

  it('tell what happened in sentences', async () => {
    // “Wer hat die Küchenlampe ausgemacht?”
    const told = await ask('changes', { since: '1h', about: 'Küchenlampe' })
    expect(told.say).toMatch(/“Kitchen Lamp/)
    expect(JSON.stringify(told['changes'])).not.toContain('Hall Lamp')
  })
})
