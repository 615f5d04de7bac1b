/** An agent that has nothing but the list of tools finds out how to set something in the heating, and sets it. */
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../gateway-process.ts'
import type { HeatingHouse } from '../heating-house.ts'
import { MONDAY, NO_REST, allRead, call, eventually, heatingHouse } from '../heating-house.ts'

interface Setting {
  readonly name: string
  readonly of: string
  readonly meaning: string
  readonly unit?: string
  readonly minimum: number
  readonly maximum: number
  readonly values?: Record<string, string>
  readonly now?: number
  readonly read_back?: { readonly tool: string; readonly path: string }
  readonly example: { readonly tool: string; readonly arguments: Record<string, unknown> }
}

let house: HeatingHouse
let client: Client
beforeAll(async () => {
  house = await heatingHouse({ top: NO_REST, house: { speed: 0, startMs: MONDAY } })
  client = await house.client()
  await allRead(client)
})
afterAll(() => house.stop())

/** What the description of the tool for changes says: the method list of whichever device has settings. */
async function settings(): Promise<readonly Setting[]> {
  const devices = await call(client, 'ebus.v1.registry.devices.list')
  const found: Setting[] = []
  for (const { address, planes } of devices.data as { address: number; planes: { name: string }[] }[]) {
    if (!planes.some(({ name }) => name === 'system')) continue
    const { data } = await call(client, 'ebus.v1.registry.methods.list', { address, plane: 'system' })
    for (const method of data as { settings?: Setting[] }[]) found.push(...(method.settings ?? []))
  }
  return found
}

/** `zone-1.config.target_temp_c` in a list of zones, `config.target_temp_c` in an object. */
async function shown({ read_back: where }: Setting): Promise<unknown> {
  if (where === undefined) return undefined
  const { data } = await call(client, where.tool)
  return where.path
    .split('.')
    .reduce<unknown>((at, step) => (Array.isArray(at) ? at.find(({ id }) => id === step) : Object(at)[step]), data)
}

describe('an approval request for a heating setting', () => {
  it('shows the old and the new value', async () => {
    const curve = { group: 2, instance: 0, addr: 0x0f, value: 1 }
    const asked = await call(client, 'ebus.v1.rpc.invoke', {
      address: 0x15,
      plane: 'system',
      method: 'set_ext_register',
      params: curve,
      intent: 'MUTATE',
      allow_dangerous: true,
      idempotency_key: 'flatter',
    })
    expect(asked.error).toMatchObject({ code: 'PERMISSION_DENIED', reasons: [{ rule: 'approval' }] })
    const { stdout } = await runCommand(house.home, ['--json', 'approvals'])
    expect((JSON.parse(stdout) as { shown: object }[]).map(({ shown: card }) => card)).toMatchObject([
      {
        label: 'BASV2 at 0x15: heating curve of circuit 1',
        preview: {
          before: { 'heating curve': expect.closeTo(house.simulator.house().circuits[0]?.curve ?? 0, 4) },
          after: { 'heating curve': 1 },
          telegram_data: '020102000f000000803f',
        },
      },
    ])
  })
})

describe('an agent with the eBUS tool list', () => {
  it('finds the settings tools named in the descriptions', async () => {
    const { tools } = await (await house.client('modern', undefined, '/mcp/ebus')).listTools()
    const said = (name: string): string => tools.find((tool) => tool.name === name)?.description ?? ''
    expect(said('ebus.v1.rpc.invoke')).toMatch(
      /room setpoint.*hot water temperature.*settings\.set.*registry\.methods\.list/,
    )
    expect(said('ebus.v1.registry.methods.list')).toMatch(/room setpoints, hot water temperature, modes/)
    expect(said('ebus.v1.semantic.zones.get')).toMatch(/change a setpoint or mode: settings\.set/)
  })

  it('sets a room to 22 °C and has it read back', async () => {
    const room = (await settings()).find(({ of, meaning }) => /^living/i.test(of) && /room setpoint/i.test(meaning))
    if (room === undefined) throw new Error('nothing sets the living room')
    expect(room).toMatchObject({ unit: '°C', minimum: 15, maximum: 30, now: 21 })
    const { tool, arguments: example } = room.example
    const done = await call(client, tool, { ...example, value: 22 })
    expect(done).toMatchObject({ error: null, data: { confirmed: true, changes: [{ before: 21, after: 22 }] } })
    expect(await shown(room)).toBe(22)
    expect(house.simulator.house().zones[0]?.dayCelsius).toBe(22)
  })

  it('receives the former value of a register, and the bytes that restore it', async () => {
    const night = {
      address: 0x15,
      plane: 'system',
      method: 'set_ext_register',
      intent: 'MUTATE',
      allow_dangerous: true,
    }
    const params = { group: 3, instance: 1, addr: 0x09 }
    const changed = await call(client, 'ebus.v1.rpc.invoke', {
      ...night,
      params: { ...params, value: 15.5 },
      idempotency_key: 'cooler',
    })
    expect(changed.data).toMatchObject({
      confirmed: { value: true },
      before: { valid: true },
      read_back: { value: 15.5 },
    })
    const { before, before_data: bytes } = changed.data as Record<string, { value: unknown }>
    const back = await call(client, 'ebus.v1.rpc.invoke', {
      ...night,
      params: { ...params, data: bytes?.value },
      idempotency_key: 'as it was',
    })
    expect(back.data).toMatchObject({ confirmed: { value: true }, read_back: { value: before?.value } })
  })

  it('sets hot water temperature and mode, the mode by its name', async () => {
    const offered = await settings()
    const change = async (name: string, value: number | string): Promise<void> => {
      const found = offered.find((each) => each.name === name)
      if (found === undefined) throw new Error(`nothing sets ${name}`)
      const { example } = found
      expect(await call(client, example.tool, { ...example.arguments, value })).toMatchObject({ error: null })
    }
    await change('dhw.target', 48.5)
    await change('dhw.operating_mode', 'manual')
    expect(house.simulator.house().dhw).toMatchObject({ targetCelsius: 48.5, mode: 'manual' })
  })

  it('changes nothing when it runs every example with its current value', async () => {
    const before = house.simulator.house()
    for (const { example } of (await settings()).filter(({ name }) => !/^zone\.(quick_veto|holiday)/.test(name)))
      expect(await call(client, example.tool, example.arguments)).toMatchObject({ error: null })
    expect(house.simulator.house()).toMatchObject({ zones: before.zones, dhw: before.dhw })
  })

  it('reads the settings as a resource, and is referred to it by methods that cannot be called', async () => {
    const { contents } = await client.readResource({ uri: 'ebus://main/settings' })
    const { data, error } = JSON.parse((contents[0] as { text: string }).text) as { data: Setting[]; error: unknown }
    expect(error).toBeNull()
    expect(data).toEqual(expect.arrayContaining([...(await settings())]))
    // What takes dates or days has no register of its own; its examples are only tried.
    const planned = data.filter(({ name }) => /\.(?:holiday|schedule)$/.test(name))
    expect(planned.map(({ name, of }) => `${name} of ${of}`)).toEqual([
      'zone.holiday of Living (zone-1)',
      'zone.schedule of Living (zone-1)',
      'zone.holiday of Upstairs (zone-2)',
      'zone.schedule of Upstairs (zone-2)',
      'dhw.schedule of Hot water',
    ])
    const before = house.simulator.house().zones.map(({ program }) => program)
    for (const { example } of planned)
      expect(await call(client, example.tool, example.arguments)).toMatchObject({ error: null })
    expect(house.simulator.house().zones.map(({ program }) => program)).toEqual(before)
    const refused = await call(client, 'ebus.v1.rpc.invoke', {
      address: 0x08,
      plane: 'heating',
      method: 'set_target_temp',
      intent: 'MUTATE',
      allow_dangerous: true,
      idempotency_key: 'wrong way',
    })
    expect(refused.error?.message).toMatch(/set_ext_register of the regulator \(address 21\).*registry\.methods\.list/)
  })

  it('starts a quick veto, and no later answer shows it as not running', async () => {
    const veto = (await settings()).find(({ name }) => name === 'zone.quick_veto_hours')
    const { tool, arguments: example } = veto?.example ?? { tool: '', arguments: {} }
    const started = await call(client, tool, { ...example, hours: 2 })
    expect(started).toMatchObject({ error: null, data: { confirmed: true } })
    const { data, meta } = await call(client, 'ebus.v1.semantic.zones.get', { detail: true })
    const { fields } = meta['freshness'] as { fields: Record<string, { stale: boolean }> }
    expect(data[0].config.quick_veto || fields['zone-1.state.special_function']?.stale).toBe(true)
    const running = await eventually(
      () => call(client, 'ebus.v1.semantic.zones.get'),
      (zones) => zones.data[0].config.quick_veto === true,
    )
    expect(running.data[0].config).toMatchObject({ quick_veto: true, preset: 'quickveto', quick_veto_duration_h: 2 })
  })

  it('reads in changes what was changed, by whom, and no reads', async () => {
    const read = { address: 0x15, plane: 'system', intent: 'READ_ONLY', allow_dangerous: false }
    await call(client, 'ebus.v1.rpc.invoke', {
      ...read,
      method: 'get_ext_register',
      params: { group: 3, instance: 0, addr: 0x22 },
    })
    const keyless = {
      address: 0x15,
      plane: 'system',
      intent: 'MUTATE',
      allow_dangerous: true,
      method: 'set_ext_register',
    }
    await call(client, 'ebus.v1.rpc.invoke', { ...keyless, params: { group: 3, instance: 0, addr: 0x22, value: 22 } })
    const told = await allChanges(client)
    expect(told.findLast(({ result }) => result === 'done')).toMatchObject({
      caller: 'local',
      channel: 'mcp-http',
      capability: 'ebus.v1.settings.set',
      title: 'Set the heating, in words',
      label: 'Living: room temperature',
      arguments: { setting: 'room_temperature', zone: 'Living', value: 22 },
      answer: { data: { confirmed: true, changes: [{ after: 22 }] } },
    })
    expect(told.at(-1)).toMatchObject({ result: 'asked', approval: { state: 'requested' } })
    expect(told.findLast(({ result }) => result === 'refused')).toMatchObject({ rules: ['idempotency-key'] })
    expect(JSON.stringify(told)).not.toContain('READ_ONLY')
    const health = await call(client, 'server_health')
    expect(health.data.attention).toContainEqual({
      about: 'approvals',
      sentence: '1 call waits for a person. The owner has to fix this.',
    })
  })
})

/** Newest first, page by page. */
async function allChanges(client: Client): Promise<readonly { readonly label?: string; readonly result: string }[]> {
  const changes: { readonly label?: string; readonly result: string }[] = []
  let cursor: string | undefined
  do {
    const page = { family: 'ebus', limit: 200, ...(cursor === undefined ? {} : { cursor }) }
    const { data } = await call(client, 'ledger_changes', page)
    changes.push(...data.changes)
    cursor = data.next_cursor as string | undefined
  } while (cursor !== undefined)
  return changes
}

describe('installer settings by name', () => {
  const SYSTEM = 'ebus.v1.semantic.system.set_config'
  const BOILER = 'ebus.v1.semantic.boiler_status.set_config'

  it('are refused for a wrong name or value before anybody is asked', async () => {
    expect(await call(client, SYSTEM, { field: 'nothing', value: 1 })).toMatchObject({
      error: { code: 'INVALID_ARGUMENT', message: expect.stringContaining('hc_emergency_temperature') },
    })
    expect(await call(client, SYSTEM, { field: 'hcEmergencyTemperature', value: 95 })).toMatchObject({
      error: { code: 'INVALID_ARGUMENT', message: expect.stringContaining('20 to 80') },
    })
    expect(await call(client, SYSTEM, { field: 'maintenance_date', value: '2026-02-31' })).toMatchObject({
      error: { code: 'INVALID_ARGUMENT' },
    })
    expect(await call(client, BOILER, { field: '__proto__', value: 1 })).toMatchObject({
      error: { code: 'INVALID_ARGUMENT' },
    })
  })

  it('need an approval, are read back, and report the former value', async () => {
    const wishes = [
      { tool: SYSTEM, wish: { field: 'hcEmergencyTemperature', value: '45' }, before: expect.any(Number), after: 45 },
      {
        tool: SYSTEM,
        wish: { field: 'adaptive_heating_curve', value: 'off' },
        before: expect.any(Boolean),
        after: false,
      },
      { tool: BOILER, wish: { field: 'flowset_hc_max_c', value: 61.5 }, before: expect.any(Number), after: 61.5 },
    ]
    for (const { tool, wish, before, after } of wishes) {
      const asked = await call(client, tool, wish)
      expect(asked).toMatchObject({ error: { code: 'PERMISSION_DENIED' } })
      const id = (asked.error as unknown as { details: { approval_id: string } }).details.approval_id
      expect((await runCommand(house.home, ['approvals', 'approve', id])).code).toBe(0)
      expect(await call(client, tool, wish)).toMatchObject({
        error: null,
        data: { success: true, before, wanted: after, read_back: after },
      })
    }
  })
})
