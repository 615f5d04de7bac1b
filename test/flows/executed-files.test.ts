/**
 * One `hs4.devices.set`, from the POST of a real MCP client to the wire of the simulated HomeSeer and back, runs through
 * few files, and enters its family through one visible sequence.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '@modelcontextprotocol/client'
import { filesInAll, Inspector } from '../executed-files.ts'
import { connectHttp, SOURCE_CLI, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'
import { CLAIMS, homeseerHome, openWorld } from '../homeseer-rig.ts'
import type { World } from '../homeseer-rig.ts'

const MOST_FILES = 90
const LAMP = 120
const PERIODIC_JOB = 'main/decision-signing.ts'

let world: World
let home: Home
let gateway: GatewayProcess
let inspector: Inspector
let client: Client

beforeAll(async () => {
  world = await openWorld()
  home = homeseerHome(world, {}, { guard: { actuatorIntervalMs: 0 } })
  process.env['NODE_OPTIONS'] = '--inspect=127.0.0.1:0'
  gateway = await startGatewayProcess(home, [], SOURCE_CLI).finally(() => delete process.env['NODE_OPTIONS'])
  inspector = await Inspector.attach(gateway.log())
  client = await connectHttp(gateway.url, 'modern')
})

afterAll(async () => {
  await client.close()
  inspector.close()
  await gateway.stop()
  home.remove()
  await world.close()
})

function set(value: number): Promise<unknown> {
  return client.callTool({ name: 'hs4.devices.set', arguments: { ref: LAMP, value, ...CLAIMS } })
}

describe('a hs4.devices.set call', () => {
  it(`executes at most ${MOST_FILES} files`, async () => {
    expect(await set(255)).toMatchObject({ structuredContent: { result: { applied: true } } })
    await set(0)
    const calls = []
    for (const value of [255, 0, 255, 0, 255, 0])
      calls.push(
        await inspector.executedBy(async () => {
          expect(await set(value)).toMatchObject({ structuredContent: { result: { applied: true } } })
        }),
      )
    const together = filesInAll(calls)
    // On a busy machine calls take longer than the period of a job, which then runs beside every one of them.
    const files =
      together.length > MOST_FILES ? filesInAll(calls, await inspector.executedByJobs(PERIODIC_JOB)) : together
    process.stderr.write(`hs4.devices.set executes ${files.length} files\n`)
    // The sequence that can be read: stages, steps of the decision, the family's plan and act.
    for (const file of [
      'call/chain.ts',
      'call/dispatch.ts',
      'bus/call-dispatcher.ts',
      'homeseer/tools/device-set-tool.ts',
    ])
      expect(files).toContain(file)
    // Beyond the most, all of them are shown.
    expect(files.length > MOST_FILES ? files : []).toEqual([])
  })
})
