/**
 * Other ways to have a heating: two of them, one that may only be listened to, one behind an ebusd, one that is away
 * for a while, and one whose traffic is nobody's business.
 */
import { connect, createServer } from 'node:net'
import type { Client } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, it } from 'vitest'
import { freePort, listenLocally } from '../local-port.ts'
import { openEbusConnection } from '../../src/ebus/adapter/ebus-connection-client.ts'
import type { EbusSimulator, EbusSimulatorOptions } from '../../src/sim/ebus/simulator-server.ts'
import { startEbusSimulator } from '../../src/sim/ebus/simulator-server.ts'
import { hasSignal } from '../contracts/ebus-bus.ts'
import { connectHttp, createHome, runCommand, startGatewayProcess } from '../gateway-process.ts'
import type { Ended, Home } from '../gateway-process.ts'
import type { Envelope } from '../heating-house.ts'
import { call, eventually, SET_DHW } from '../heating-house.ts'

const closing: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function simulator(options: EbusSimulatorOptions = {}): Promise<EbusSimulator> {
  const started = await startEbusSimulator({ speed: 20, house: { speed: 0 }, ...options })
  closing.push(started.stop)
  return started
}

async function gateway(
  yaml: string,
  home = createHome(yaml),
): Promise<{ client: Client; stop: () => Promise<unknown>; url: string; home: typeof home }> {
  const started = await startGatewayProcess(home)
  const client = await connectHttp(started.url, 'modern')
  let stopped: Promise<unknown> | undefined
  const stop = (): Promise<unknown> => (stopped ??= client.close().then(() => started.stop()))
  closing.push(stop)
  return { client, stop, url: started.url, home }
}

const bus = (adapter: string, more = '      source: 49\n'): string => `    - adapter: ${adapter}\n${more}`
/** Both: one that was not understood the first time is asked again after the other. */
const zonesRead = (client: Client, args: Record<string, unknown> = {}): Promise<Envelope> =>
  eventually(
    () => call(client, 'ebus.v1.semantic.zones.get', args),
    ({ data, meta }) =>
      [0, 1].every((zone) => data?.[zone]?.state.current_temp_c !== undefined) &&
      (meta['freshness'] as { source: string }).source !== 'cache',
  )

describe('two configured buses', () => {
  it('are addressed by name, and the first one is the default', async () => {
    const [cellar, annexe] = [await simulator({ seed: 1 }), await simulator({ seed: 2 })]
    annexe.changeHouse((now) => ({ ...now, zones: now.zones.map((zone) => ({ ...zone, roomCelsius: 12.5 })) }))
    const { client } = await gateway(
      `ebus:\n  pollSeconds: 5\n  buses:\n${bus(`enh:127.0.0.1:${cellar.port}`, '      id: cellar\n      source: 49\n')}${bus(`enh:127.0.0.1:${annexe.port}`, '      id: annexe\n      source: 49\n')}`,
    )
    const [first, second] = [await zonesRead(client), await zonesRead(client, { bus: 'annexe' })]
    expect(first.meta['bus']).toBe('cellar')
    expect(first.data[0].state.current_temp_c).toBeCloseTo(20.3, 2)
    expect(second.meta['bus']).toBe('annexe')
    expect(second.data[0].state.current_temp_c).toBe(12.5)
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toEqual(
      expect.arrayContaining(['ebus://cellar/zones', 'ebus://annexe/zones']),
    )
    const taken = await call(client, 'ebus.v1.snapshot.capture', { bus: 'annexe' })
    expect(taken.meta['bus']).toBe('annexe')
    const written = await call(client, SET_DHW, { weekday: 0, slots: [], bus: 'annexe' })
    expect(written).toMatchObject({ data: { success: true }, meta: { bus: 'annexe' } })
    const consistency = { mode: 'SNAPSHOT', snapshot_id: taken.data.snapshot_id }
    expect((await call(client, 'ebus.v1.semantic.zones.get', { consistency })).data[0].state.current_temp_c).toBe(12.5)
    expect(await call(client, 'ebus.v1.semantic.zones.get', { consistency, bus: 'cellar' })).toMatchObject({
      error: { code: 'NOT_FOUND' },
    })
  })
})

describe('a bus with readOnly: true', () => {
  it('is observed without sending a telegram', async () => {
    const heating = await simulator({ listen: { plainPort: 0 } })
    const openedMs = performance.now()
    const { client, home } = await gateway(
      `ebus:\n  pollSeconds: 5\n  warmUpSeconds: 0\n  buses:\n${bus(`enh:127.0.0.1:${heating.port}`, '      readOnly: true\n      warmUpTransactions: 5\n')}`,
    )
    const summary = await eventually(
      () => call(client, 'ebus.v1.bus.summary.get'),
      ({ data }) => data.status.capability.passive_available && data.messages.count > 40,
    )
    expect(summary.data.frames.every(({ scope }: { scope: string }) => scope === 'passive')).toBe(true)
    const system = await eventually(
      () => call(client, 'ebus.v1.semantic.system.get'),
      ({ data }) => data?.state.outdoor_temperature !== undefined,
    )
    expect(system.data.state.outdoor_temperature).toBeCloseTo(heating.house().weather.outsideCelsius, 1)
    expect(
      await call(client, 'ebus.v1.semantic.schedules.set_dhw_time_program', { weekday: 0, slots: [] }),
    ).toMatchObject({
      isError: true,
    })
    // Somebody else may use any address where this gateway uses none.
    await sayAs(0xff, heating.plainPort ?? 0)
    const strangers = await eventually(
      () => call(client, 'ebus.v1.bus.summary.get'),
      ({ data }) => data.frames.some(({ source }: { source: string }) => source === '0xff'),
    )
    expect(JSON.stringify(strangers.data.frames)).toContain('0xff')
    const { said: examined } = await doctor(home)
    expect(examined).toContain('ebus:')
    expect(examined).not.toContain('Another device uses the address')
    // Longer than it would take to look for an address of its own, which would mean asking for it.
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, openedMs + 10_000 - performance.now())))
    expect(
      (await call(client, 'ebus.v1.bus.messages.list', { limit: 1_024 })).data.items.filter(
        ({ scope }: { scope: string }) => scope === 'active',
      ),
    ).toEqual([])
  })
})

async function sayAs(source: number, port: number): Promise<void> {
  const other = openEbusConnection({
    id: 'other',
    endpoint: { kind: 'tcp', host: '127.0.0.1', port },
    source,
    listenMs: 0,
  })
  await hasSignal(other)
  const identify = { target: 0x15, primary: 0x07, secondary: 0x04, data: new Uint8Array() }
  expect(await other.send(identify, { deadlineMs: 10_000, repeatable: true })).toMatchObject({ ok: true })
  await other.close()
}

function doctor(home: Home): Promise<Ended> {
  return runCommand(home, ['doctor'])
}

describe('a bus behind ebusd', () => {
  it('yields the same planes, and reports its timing as unavailable', async () => {
    const heating = await simulator({ listen: { ebusdPort: 0 } })
    const { client } = await gateway(
      `ebus:\n  pollSeconds: 5\n  buses:\n${bus(`ebusd:127.0.0.1:${heating.ebusdPort}`)}`,
    )
    const zones = await zonesRead(client)
    expect(zones.data.map(({ name }: { name: string }) => name)).toEqual([expect.any(String), expect.any(String)])
    expect(zones.data[1].state.current_temp_c).toBeCloseTo(heating.house().zones[1]?.roomCelsius ?? 0, 2)
    const { data } = await call(client, 'ebus.v1.bus.summary.get')
    expect(data.status).toMatchObject({
      transport_class: 'ebusd-tcp',
      timing_quality: { active: 'unavailable', busy: 'unavailable' },
    })
    // Our own telegrams come back on the watch connection, and are not taken for somebody else's.
    const strangers = data.frames.filter(
      ({ scope, source }: { scope: string; source: string }) => scope === 'passive' && source === '0x31',
    )
    expect(strangers).toEqual([])
    expect((await call(client, 'ebus.v1.adapter_info.get')).data).toBeNull()
  })

  it('reports a change without an answer as unknown outcome', async () => {
    const heating = await simulator({ listen: { ebusdPort: 0 } })
    const port = await losingAnswers(heating.ebusdPort ?? 0, /b5240a0201/)
    const { client } = await gateway(`ebus:\n  pollSeconds: 5\n  buses:\n${bus(`ebusd:127.0.0.1:${port}`)}`)
    await zonesRead(client)
    const raised = await call(client, 'ebus.v1.rpc.invoke', {
      address: 0x15,
      plane: 'system',
      method: 'set_ext_register',
      params: { group: 3, instance: 0, addr: 0x22, data: '0000b841' },
      intent: 'MUTATE',
      allow_dangerous: true,
      idempotency_key: 'raise',
    })
    expect(heating.house().zones[0]?.dayCelsius).toBe(23)
    expect(raised).toMatchObject({ isError: true, error: { code: 'UNKNOWN_OUTCOME', retriable: false } })
    expect(raised.error?.message).not.toContain('nothing was changed')
  })

  it('without --enablehex is reported as the reason for missing values', async () => {
    const heating = await simulator({ chatter: false, listen: { ebusdPort: 0 } })
    const port = await losingAnswers(heating.ebusdPort ?? 0, /hex/, 'ERR: command not enabled')
    const { client, home } = await gateway(`ebus:\n  pollSeconds: 5\n  buses:\n${bus(`ebusd:127.0.0.1:${port}`)}`)
    const zones = await eventually(
      () => call(client, 'ebus.v1.semantic.zones.get'),
      ({ error }) => error?.message.includes('--enablehex') === true,
    )
    expect(zones).toMatchObject({ data: null, error: { code: 'BUS_UNAVAILABLE', source_layer: 'bus' } })
    expect(zones.error?.message).toContain('ebusd was started without --enablehex')
    await expect.poll(async () => (await doctor(home)).said).toContain('Start it with --enablehex.')
  })
})

/** Between gateway and ebusd: what matches is carried out, and its answer is what ebusd says when it heard none. */
async function losingAnswers(ebusdPort: number, lost: RegExp, instead = 'ERR: read timeout'): Promise<number> {
  const server = createServer((near) => {
    const far = connect(ebusdPort, '127.0.0.1')
    let losing = false
    near.on('data', (lines) => {
      losing ||= lost.test(lines.toString('latin1'))
      far.write(lines)
    })
    far.on('data', (answer) => {
      near.write(losing ? `${instead}\n\n` : answer)
      losing = false
    })
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('error', () => undefined)
      from.once('close', () => to.destroy())
    }
  })
  closing.push(() => void server.close())
  return listenLocally(server)
}

describe('an unreachable heating bus', () => {
  it('that was never read is answered with BUS_UNAVAILABLE, not with empty planes', async () => {
    const heating = await simulator({ listen: { port: await freePort() } })
    await heating.stop()
    const { client, home, stop } = await gateway(`ebus:\n  buses:\n${bus(`enh:127.0.0.1:${heating.port}`)}`)
    const message = expect.stringContaining('The eBUS adapter cannot be reached')
    const error = { code: 'BUS_UNAVAILABLE', retriable: true, source_layer: 'bus', message }
    for (const name of ['zones', 'dhw', 'boiler_status', 'schedules', 'snapshot'])
      expect(await call(client, `ebus.v1.semantic.${name}.get`)).toMatchObject({ isError: true, data: null, error })
    const partial = await call(client, 'ebus.v1.semantic.snapshot.get', { planes: ['zones'], allow_partial: true })
    expect(partial.data).toMatchObject({ error_planes: [{ plane: 'zones', code: 'BUS_UNAVAILABLE', message }] })
    const { contents } = await client.readResource({ uri: 'ebus://main/zones' })
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ error: { code: 'BUS_UNAVAILABLE' } })
    expect((await call(client, 'ebus.v1.runtime.status.get')).data.adapter_status.status).toBe('disconnected')

    const sentence = `✗ ebus: The adapter at enh:127.0.0.1:${heating.port} is not connected.`
    expect(await doctor(home)).toMatchObject({ code: 5, said: expect.stringContaining(sentence) })
    await stop()
    expect(await doctor(home)).toMatchObject({ code: 5, said: expect.stringContaining(sentence) })
    await simulator({ listen: { port: heating.port } })
    expect((await doctor(home)).said).toContain(
      `✓ ebus: The adapter at enh:127.0.0.1:${heating.port} answers, and the bus carries a signal.`,
    )
  })

  it('does not prevent the start: cached values are shown as stale until it is back', async () => {
    const first = await simulator({ listen: { port: await freePort() } })
    const adapter = `enh:127.0.0.1:${first.port}`
    const before = await gateway(`ebus:\n  pollSeconds: 5\n  buses:\n${bus(adapter)}`)
    const known = await zonesRead(before.client)
    const change = {
      address: 0x15,
      plane: 'system',
      method: 'set_ext_register',
      params: { group: 3, instance: 1, addr: 0x22, data: '0000a041' },
      intent: 'MUTATE',
      allow_dangerous: true,
      idempotency_key: 'before the night',
    }
    const changed = await call(before.client, 'ebus.v1.rpc.invoke', change)
    expect(changed).toMatchObject({ error: null, data: { confirmed: { value: true } } })
    expect(changed.meta).not.toHaveProperty('replayed')
    await before.stop()
    await first.stop()

    const after = await gateway('', before.home)
    const shown = await call(after.client, 'ebus.v1.semantic.zones.get')
    expect(shown.data[0].state.current_temp_c).toBe(known.data[0].state.current_temp_c)
    expect(shown.meta['freshness']).toMatchObject({ source: 'cache', stale: true })
    expect((await call(after.client, 'ebus.v1.runtime.status.get')).data.adapter_status.status).toBe('disconnected')
    const health = await (await fetch(`${after.url}/health`)).text()
    expect(health).toContain('"ok"')
    expect(
      await call(after.client, 'ebus.v1.rpc.invoke', {
        address: 0x15,
        plane: 'system',
        method: 'get_register',
        params: { addr: 0 },
        intent: 'READ_ONLY',
        allow_dangerous: false,
      }),
    ).toMatchObject({ isError: true })

    // What was done before the restart is remembered, and told as what it is: nobody is there to do it again.
    expect(await call(after.client, 'ebus.v1.rpc.invoke', change)).toEqual({
      ...changed,
      meta: { ...changed.meta, replayed: true, note: expect.stringContaining('Nothing was done now') },
    })

    const again = await simulator({ listen: { port: first.port } })
    again.changeHouse((now) => ({ ...now, zones: now.zones.map((zone) => ({ ...zone, roomCelsius: 18.5 })) }))
    const alive = await eventually(
      () => call(after.client, 'ebus.v1.semantic.zones.get'),
      ({ data }) => data[0].state.current_temp_c === 18.5,
    )
    expect(alive.data[0].state.current_temp_c).toBe(18.5)
    closing.push(before.home.remove)
  })
})

describe('a bus with observe: false', () => {
  it('has no tools that show bus traffic', async () => {
    const heating = await simulator()
    const { client } = await gateway(`ebus:\n  observe: false\n  buses:\n${bus(`enh:127.0.0.1:${heating.port}`)}`)
    const { tools } = await client.listTools()
    const names = tools.map(({ name }) => name)
    expect(names.filter((name) => /^ebus\.v1\.(bus|watch)\./.test(name))).toEqual([])
    await expect(client.callTool({ name: 'ebus.v1.bus.summary.get', arguments: {} })).rejects.toMatchObject({
      code: -32_602,
    })
    expect(await zonesRead(client)).toMatchObject({ error: null })
  })
})
