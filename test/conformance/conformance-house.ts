/**
 * Conformance house: the official suite's fixtures as a service of the real gateway, so that lock, validation, guard
 * and ledger are in the way of every one of its calls.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CapabilityBus } from '../../src/bus/bus.ts'
import type { Capability, Service } from '../../src/bus/capability.ts'
import { configSchema } from '../../src/config/schema.ts'
import { silentLogger } from '../../src/core/logger.ts'
import { startGateway } from '../../src/main.ts'
import type { Gateway } from '../../src/main.ts'
import { contentTools, schemaTool } from './content-tools.ts'
import { fixture, text } from './fixture.ts'
import { inputTools } from './input-tools.ts'
import { prompts, resources } from './resources-and-prompts.ts'

export interface ConformanceHouse {
  readonly url: string
  readonly gateway: Gateway
  readonly close: () => Promise<void>
}

export async function conformanceHouse(): Promise<ConformanceHouse> {
  const { gateway, close } = await conformanceGateway({ listen: true })
  return { url: `${gateway.url}/mcp`, gateway, close }
}

/** Without a listener, for whoever serves it over streams of their own. */
export async function conformanceGateway({
  listen,
}: {
  readonly listen: boolean
}): Promise<Omit<ConformanceHouse, 'url'>> {
  const dataRoot = mkdtempSync(join(tmpdir(), 'conformance-house-'))
  const started = await startGateway({
    config: configSchema.parse({ listen: { port: 0 } }),
    dataRoot,
    pinned: false,
    version: '0.0.0',
    logger: silentLogger,
    listen,
    services: ({ bus }) => [conformanceService(bus)],
  })
  if (!started.ok) throw new Error(started.fault.message)
  const gateway = started.value
  return {
    gateway,
    close: async () => {
      await gateway.stop()
      rmSync(dataRoot, { recursive: true, force: true })
    },
  }
}

function conformanceService(bus: CapabilityBus): Service {
  return {
    name: 'conformance',
    prefixes: [''],
    capabilities: () => [...contentTools, schemaTool, ...inputTools, ...resources, ...prompts, ...changeTools(bus)],
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    health: () => ({ status: 'ok', details: {} }),
  }
}

/** Each makes one capability come, or go again: what does both between two looks at the lists is no news. */
function changeTools(bus: CapabilityBus): readonly Capability[] {
  function passing(capability: Capability) {
    let isHere = false
    return () => {
      if (isHere) bus.deregister(capability.offer.name, capability.offer.version)
      else bus.registerCapability(capability)
      isHere = !isHere
      return text(isHere ? 'It came' : 'It went')
    }
  }
  const tool = fixture('test_passing_tool', () => text('I am hardly here'))
  const prompt = fixture('test_passing_prompt', () => text(''), { face: { kind: 'prompt', arguments: [] } })
  return [fixture('test_trigger_tool_change', passing(tool)), fixture('test_trigger_prompt_change', passing(prompt))]
}
