/** Serves the conformance fixtures over this process's own streams, for clients that start their servers themselves. */
import { silentLogger } from '../../src/core/logger.ts'
import { serveStdio } from '../../src/mcp/stdio-server.ts'
import { agent } from '../mcp-house.ts'
import { conformanceGateway } from './conformance-house.ts'

const { gateway, close } = await conformanceGateway({ listen: false })
const served = serveStdio({
  bus: gateway.bus,
  principal: agent,
  scope: { profile: undefined, style: 'dots' },
  streams: { input: process.stdin, output: process.stdout },
  serverInfo: { name: 'hearthbus', title: 'Hearthbus', version: '0.0.0' },
  log: silentLogger,
})
await served?.ended
await close()
