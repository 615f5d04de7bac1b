/**
 * Conformance house: the official suite's fixtures as ordinary capabilities on a bus, behind our real listener and
 * our real MCP handler.
 *
 * Does I/O.
 */
import type { Capability } from '../../src/bus/capability.ts'
import { silentLogger } from '../../src/core/logger.ts'
import { ok } from '../../src/core/result.ts'
import { mcpHttpHandler } from '../../src/mcp/http-server.ts'
import { startListener } from '../../src/web/listener-server.ts'
import { agent, smallBus } from '../mcp-house.ts'
import { contentTools, schemaTool } from './content-tools.ts'
import { fixture, text } from './fixture.ts'
import { inputTools } from './input-tools.ts'
import { prompts, resources } from './resources-and-prompts.ts'

export interface ConformanceHouse {
  readonly url: string
  readonly close: () => Promise<void>
}

export async function conformanceHouse(): Promise<ConformanceHouse> {
  const bus = smallBus(...contentTools, schemaTool, ...inputTools, ...resources, ...prompts)
  bus.add(...changeTools(bus))
  const handler = mcpHttpHandler({
    bus,
    authenticate: () => ok(agent),
    serverInfo: { name: 'hearthbus', title: 'Hearthbus', version: '0.0.0' },
    log: silentLogger,
  })
  const listener = await startListener({
    host: '127.0.0.1',
    port: 0,
    rules: { allowedHosts: [], allowedOrigins: [] },
    routes: [{ prefix: '/mcp', handle: handler }],
    logger: silentLogger,
  })
  return {
    url: `${listener.url}/mcp`,
    close: async () => {
      await handler.close()
      await listener.stop()
    },
  }
}

interface Registrar {
  readonly add: (capability: Capability) => void
  readonly remove: (name: string) => void
}

/** Each makes one capability come and go again, so that the lists really change and are as before afterwards. */
function changeTools(bus: Registrar): readonly Capability[] {
  function passing(capability: Capability) {
    return () => {
      bus.add(capability)
      setImmediate(() => bus.remove(capability.offer.name))
      return text('It came and it went')
    }
  }
  const tool = fixture('test_passing_tool', () => text('I am hardly here'))
  const prompt = fixture('test_passing_prompt', () => text(''), { face: { kind: 'prompt', arguments: [] } })
  return [fixture('test_trigger_tool_change', passing(tool)), fixture('test_trigger_prompt_change', passing(prompt))]
}
