/**
 * The policy matrix across power cuts: between preparing and committing, and in the middle of a commit. A refusal stays
 * a refusal, a plan stays a plan, and what is executed is executed once.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { HARD_CASE_DEVICE_REFS } from '../../src/sim/homeseer/hard-case-devices.ts'
import { startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'
import {
  at,
  callOnce,
  CLAIMS,
  countControls,
  homeseerHome,
  matrixConfig,
  openWorld,
  POLICY_MATRIX,
  verdictOf,
} from '../homeseer-rig.ts'
import type { Answer, MatrixRow, World } from '../homeseer-rig.ts'
import { recordedActions } from '../recorded-calls.ts'
import { until } from '../mesh-house.ts'

const LAMP = HARD_CASE_DEVICE_REFS.kitchenSwitch
/** Long enough to cut the power meanwhile. Where the machine is too slow for that, the row holds all the same. */
const SLOW_MS = 5_000
/** Three starts of a gateway each, on a machine that others use, too. */
const PATIENCE_MS = 600_000

let world: World
let home: Home
let gateway: GatewayProcess

afterEach(async () => {
  await gateway.stop()
  await world.close()
  home.remove()
})

async function open(row: MatrixRow): Promise<void> {
  world = await openWorld()
  home = homeseerHome(world, { ...matrixConfig(row, LAMP), timeoutMs: 60_000, readRetries: 0 })
  gateway = await startGatewayProcess(home)
}

async function powerCut(): Promise<void> {
  await gateway.kill()
  world.simulator.faults.replyDelayMs = 0
  gateway = await startGatewayProcess(home)
}

function ask(name: string, args: JsonObject): Promise<Answer> {
  return callOnce(gateway.url, name, args)
}

function prepare({ confirm }: MatrixRow): Promise<Answer> {
  const args = { ref: LAMP, value: 255, ...CLAIMS, confirm }
  return ask('hs4.change.prepare', { toolName: 'hs4.devices.set', args })
}

/** Calls that the ledger has seen begin, beside the running gateway. */
function begun(tool: string): number {
  return recordedActions(home.data).filter((action) => action.tool === tool).length
}

const NAME = '$safeMode, default dry $defaultDryRun, confirm $confirm: commit $commit'

describe('the policy matrix across power cuts', () => {
  it.each(POLICY_MATRIX.filter(({ listed }) => listed))(
    `listed, ${NAME}`,
    async (row) => {
      await open(row)
      const token = String(at(await prepare(row), 'result', 'token'))
      await powerCut()
      // In the middle: the commit has begun, and HomeSeer does not answer what it asks first.
      world.simulator.faults.replyDelayMs = SLOW_MS
      const before = begun('hs4.change.commit')
      const lost = ask('hs4.change.commit', { token }).catch(() => undefined)
      await until('the commit has begun', () => begun('hs4.change.commit') > before)
      await powerCut()
      await lost
      const again = await ask('hs4.change.commit', { token })
      // Cut off before the token was taken, it is executed now; after, nobody executes it any more, and it is unknown.
      const unknown = at(again, 'error', 'code') === 'UNKNOWN'
      expect(unknown ? 'X' : verdictOf(again, countControls(world) > 0)).toBe(row.commit)
      await ask('hs4.change.commit', { token })
      expect(countControls(world)).toBeLessThanOrEqual(row.commit === 'X' ? 1 : 0)
    },
    PATIENCE_MS,
  )

  it.each(POLICY_MATRIX.filter(({ listed }) => !listed))(
    `not listed, ${NAME}`,
    async (row) => {
      await open(row)
      const staged = await prepare(row)
      await powerCut()
      // Refused while it is prepared already; a new process refuses it, too.
      expect([verdictOf(staged, false), verdictOf(await prepare(row), false)]).toEqual([row.commit, row.commit])
      expect(countControls(world)).toBe(0)
    },
    PATIENCE_MS,
  )
})
