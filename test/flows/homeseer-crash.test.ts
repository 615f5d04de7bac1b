/**
 * The power goes out between preparing, committing and acting: a change is never carried out twice, and one whose
 * outcome nobody can know is called unknown.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { buildDataDirectoryPaths } from '../../src/config/data-directory.ts'
import { readProjectedState } from '../../src/cli/read-only-ledger-store.ts'
import { guardProjection } from '../../src/guard/guard-state.ts'
import { startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'
import { at, callOnce, CLAIMS, countControls, homeseerHome, openWorld } from '../homeseer-rig.ts'
import type { Answer, World } from '../homeseer-rig.ts'
import { until } from '../mesh-house.ts'

const LAMP = 120
const BLIND = 196
/** Longer than any of these tests waits for the moment to cut the power. */
const SLOW_MS = 20_000

let world: World
let home: Home
let gateway: GatewayProcess | undefined

async function start(): Promise<void> {
  gateway = await startGatewayProcess(home)
}

function ask(name: string, args: JsonObject): Promise<Answer> {
  return callOnce(gateway?.url ?? '', name, args)
}

async function open(): Promise<void> {
  world = await openWorld()
  home = homeseerHome(world, { timeoutMs: 60_000, readRetries: 0, verifyAttempts: 40, verifyIntervalMs: 500 })
  await start()
}

async function prepare(ref = LAMP): Promise<string> {
  const staged = await ask('hs4.change.prepare', {
    toolName: 'hs4.devices.set',
    args: { ref, value: 255, ...CLAIMS },
  })
  return String(at(staged, 'result', 'token'))
}

/** Reads the log beside the running gateway until it says what was waited for. */
function untilChangeIs(state: string): Promise<void> {
  return until(`the change is ${state}`, () => {
    const [change] = readProjectedState(buildDataDirectoryPaths(home.data).ledger, guardProjection).changes.values()
    return change?.state === state
  })
}

afterEach(async () => {
  await gateway?.stop()
  await world.close()
  home.remove()
})

describe('a power cut during a HomeSeer change', () => {
  it('after prepare: the change can still be committed, once', async () => {
    await open()
    const token = await prepare()
    await gateway?.kill()
    await start()
    expect(await ask('hs4.change.commit', { token })).toMatchObject({ result: { committed: true } })
    expect(at(await ask('hs4.change.commit', { token }), 'error', 'code')).toBe('BAD_REQUEST')
    expect(countControls(world)).toBe(1)
  })

  it('after the commit begins, before the control: nothing is executed, and the outcome is unknown', async () => {
    await open()
    const token = await prepare()
    // The act begins by reading the device, and gets no answer to that.
    world.simulator.faults.replyDelayMs = SLOW_MS
    const lost = ask('hs4.change.commit', { token }).catch(() => undefined)
    await untilChangeIs('committing')
    await gateway?.kill()
    await lost
    world.simulator.faults.replyDelayMs = 0
    await start()
    const again = await ask('hs4.change.commit', { token })
    expect(again).toMatchObject({ error: { code: 'UNKNOWN', retryable: false } })
    expect(countControls(world)).toBe(0)
  })

  it('after the control, before the answer: it is executed once, and the outcome is unknown', async () => {
    await open()
    // The blind moves three seconds after it was told, and until then the gateway looks for it.
    const token = await prepare(BLIND)
    const lost = ask('hs4.change.commit', { token }).catch(() => undefined)
    await until('the blind is told', () => countControls(world) > 0)
    await gateway?.kill()
    await lost
    await start()
    const again = await ask('hs4.change.commit', { token })
    expect(again).toMatchObject({ error: { code: 'UNKNOWN', retryable: false } })
    await until('it has moved', () => world.simulator.house.hardware(BLIND)?.value === 255)
    expect(countControls(world)).toBe(1)
    const audit = await ask('hs4.audit.query', { action: 'change.unknown' })
    expect(at(audit, 'result', 'entries', 'length')).toBe(1)
    const aborted = await ask('hs4.audit.query', { tool: 'hs4.devices.set', result: 'error' })
    const entries = at(aborted, 'result', 'entries') as readonly JsonObject[]
    expect(entries).toHaveLength(2)
    expect(new Set(entries.map(({ action }) => action))).toEqual(new Set(['change.unknown', 'devices.set']))
  })
})
