/**
 * What a person at the command line hears when something about HomeSeer is not as it should be: before the start, from
 * `hearthbus doctor`, and from a gateway that runs.
 */
import { createServer } from 'node:net'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { listenLocally } from '../local-port.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { runCommand, startGatewayProcess } from '../gateway-process.ts'
import type { Ended, Home } from '../gateway-process.ts'
import { homeseerHome, openWorld } from '../homeseer-rig.ts'
import type { World } from '../homeseer-rig.ts'

let world: World
let home: Home

beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())
afterEach(() => home.remove())

function hearthbus(words: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return runCommand(home, words, environment)
}

/** What the doctor says about HomeSeer while no gateway runs. */
async function diagnosis(more: JsonObject = {}): Promise<string> {
  home = homeseerHome(world, more)
  const { said } = await hearthbus(['doctor'])
  return said
    .split('\n')
    .filter((line) => line.includes(' homeseer: '))
    .join('\n')
}

describe('an invalid alias file', () => {
  it('refuses the start with a sentence and exit code 2, and doctor says the same', async () => {
    const aliasFile = join(world.folder, 'aliases.json')
    writeFileSync(aliasFile, '{"lamp": ["reading lamp"]}')
    const sentence = `homeseer.aliasFile: ${aliasFile} has mistakes: "lamp" is not a key such as device:101.`
    expect(await diagnosis({ aliasFile })).toContain(`✗ homeseer: ${sentence}`)
    expect(await hearthbus(['up'])).toMatchObject({ code: 2, said: `${sentence}\n` })
  })
})

describe('doctor without a running gateway, for HomeSeer', () => {
  it('logs in, reads and listens, and reports no problem', async () => {
    expect(await diagnosis()).toBe(
      `✓ homeseer: HomeSeer 4.2.22.4 at http://127.0.0.1:${world.simulator.httpPort} answers, with 38 devices.`,
    )
    expect(world.simulator.system.deeds).toEqual([])
  })

  it('distinguishes an unreachable HomeSeer from one that refuses the login', async () => {
    expect(await diagnosis({ url: 'http://127.0.0.1:1' })).toContain(
      '✗ homeseer: Nothing listens at http://127.0.0.1:1.',
    )
    home.remove()
    const refused = await diagnosis({ password: 'wrong-secret' })
    expect(refused).toContain('✗ homeseer: HomeSeer refuses the login.')
    expect(refused).not.toContain('wrong-secret')
  })

  it('names the JSON switch that is off in a new HomeSeer', async () => {
    world.simulator.faults.jsonDisabled = true
    const said = await diagnosis()
    world.simulator.faults.jsonDisabled = false
    expect(said).toContain('Enable Control with JSON')
  })

  it('warns when nothing is pushed, and when event files cannot be read', async () => {
    const said = await diagnosis({ push: {}, eventsPath: '/nowhere/events.json' })
    expect(said).toContain('! homeseer: HomeSeer pushes nothing, so everything is polled.')
    expect(said).toContain('! homeseer: HomeSeer’s event files cannot be read from here (/nowhere/events.json)')
  })
})

describe('doctor on the admin adapter', () => {
  const admin = { adapterKey: 'k'.repeat(40) }

  it('reports its version, or how to install it', async () => {
    world.simulator.system.adapterKey = admin.adapterKey
    // The version that docs/homeseer/hearthbus_admin.cs states in its first line.
    expect(await diagnosis({ admin })).toContain('✓ homeseer: The admin adapter 1.1.0 is installed on HomeSeer.')
    home.remove()
    world.simulator.faults.adapterMissing = true
    const missing = await diagnosis({ admin, eventsFrom: 'adapter' })
    world.simulator.faults.adapterMissing = false
    expect(missing).toContain('! homeseer: The admin adapter is not installed: copy docs/homeseer/hearthbus_admin.cs')
    expect(missing).toContain('Until then every change asks a person.')
  })

  it('does not mention it when it is not configured', async () => {
    expect(await diagnosis()).not.toContain('adapter')
  })
})

describe('a running gateway with a HomeSeer problem', () => {
  it('has doctor report unreadable event files as before the start', async () => {
    const sentence = '! homeseer: HomeSeer’s event files cannot be read from here (/nowhere/events.json)'
    expect(await diagnosis({ eventsPath: '/nowhere/events.json' })).toContain(sentence)
    const gateway = await startGatewayProcess(home)
    await expect.poll(async () => (await hearthbus(['doctor'])).said).toContain(sentence)
    await gateway.stop()
  })

  it('logs an unreachable HomeSeer once', async () => {
    let polls = 0
    const closedDoor = createServer((socket) => {
      polls++
      socket.destroy()
    })
    const url = `http://127.0.0.1:${await listenLocally(closedDoor)}`
    home = homeseerHome(world, { url, push: { pollSeconds: 1 } })
    const gateway = await startGatewayProcess(home)
    const lines = (): number => gateway.log().split(`HomeSeer at ${url} does not answer.`).length - 1
    await expect.poll(lines).toBe(1)
    const told = polls
    await expect.poll(() => polls).toBeGreaterThan(told + 2)
    expect(lines()).toBe(1)
    await gateway.stop()
    closedDoor.close()
  })

  it('has doctor report an unreachable HomeSeer as without a gateway', async () => {
    const alone = await diagnosis({ url: 'http://127.0.0.1:1' })
    const sentence = '✗ homeseer: Nothing listens at http://127.0.0.1:1.'
    expect(alone).toContain(sentence)
    const gateway = await startGatewayProcess(home)
    await expect
      .poll(async () => hearthbus(['doctor']))
      .toMatchObject({ code: 5, said: expect.stringContaining(sentence) })
    await gateway.stop()
  })

  it('has doctor report that the web hook’s port is taken, and polls meanwhile', async () => {
    const squatter = createServer()
    const port = await listenLocally(squatter)
    home = homeseerHome(world, {
      push: { webhookKey: 'k'.repeat(20), webhookHost: '127.0.0.1', webhookPort: port, pollSeconds: 1 },
    })
    const gateway = await startGatewayProcess(home)
    await expect
      .poll(async () => (await hearthbus(['doctor'])).said)
      .toContain(`! homeseer: Port ${port} belongs to another program.`)
    await gateway.stop()
    squatter.close()
  })
})

describe('HomeSeer environment variables', () => {
  it('without effect are reported at the start and by doctor', async () => {
    home = homeseerHome(world)
    const note = 'MCP_AUDIT_PERSIST_PATH has no effect here: every call is in the ledger'
    const environment = { MCP_AUDIT_PERSIST_PATH: '/var/log/audit.jsonl' }
    expect((await hearthbus(['doctor'], environment)).said).toContain(`! environment: ${note}`)
    expect((await hearthbus(['connect', 'claude-code'], environment)).said).toContain(`environment: ${note}`)
  })

  it('with a misspelt name refuse the start', async () => {
    home = homeseerHome(world)
    const { code, said } = await hearthbus(['up'], { HS4_SAFEMODE: 'read_only' })
    expect([code, said]).toEqual([
      2,
      'environment: HS4_SAFEMODE: is not a variable of the contract; is HS4_SAFE_MODE meant?\n',
    ])
  })
})
