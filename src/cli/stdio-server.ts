/**
 * Stdio: MCP over this process's own streams, for clients that start their servers themselves. Where a gateway runs
 * already, the client is put through to it.
 *
 * Does I/O.
 */
import type { Config } from '../config/schema.ts'
import { createLogger } from '../core/logger.ts'
import type { Logger } from '../core/logger.ts'
import { localCaller } from '../guard/authenticate.ts'
import { startGateway } from '../main.ts'
import { bridgeStdio } from '../mcp/bridge-client.ts'
import { serveStdio } from '../mcp/stdio-server.ts'
import { findGateway } from './gateway-client.ts'
import type { GatewayConnection } from './gateway-client.ts'
import { EXIT } from './print.ts'
import type { ExitCode } from './print.ts'

export interface StdioOptions {
  readonly config: Config
  readonly dataRoot: string
  readonly version: string
  readonly profile: string
  readonly style: 'dots' | 'underscore'
}

export async function stdio({ config, dataRoot, version, profile, style }: StdioOptions): Promise<ExitCode> {
  const logger = createLogger(config.logLevel)
  const running = findGateway(dataRoot)
  if (running.ok) return bridge(running.value, { profile, style, logger })
  const principal = localCaller(config.listen.anonymous)
  if (principal === undefined)
    return refuse('listen.anonymous is off, so nobody may act without a token. Use HTTP with one.', EXIT.denied)
  const started = await startGateway({ config, dataRoot, version, logger, listen: true })
  if (!started.ok) return refuse(started.fault.message, EXIT.integrity)
  const gateway = started.value
  const served = serveStdio({
    bus: gateway.bus,
    principal,
    door: { profile, style },
    streams: { input: process.stdin, output: process.stdout },
    serverInfo: { name: 'hearthbus', title: 'Hearthbus', version },
    log: logger,
    profiles: config.profiles,
    families: gateway.families,
  })
  if (served === undefined) {
    await gateway.stop()
    return refuse(`There is no profile named ${profile}.`, EXIT.usage)
  }
  process.once('SIGINT', () => void served.close())
  process.once('SIGTERM', () => void served.close())
  await served.ended
  await gateway.stop()
  return EXIT.ok
}

async function bridge(
  { note }: GatewayConnection,
  { profile, style, logger }: { profile: string; style: string; logger: Logger },
): Promise<ExitCode> {
  const url = new URL(`${note.url}/mcp${profile === 'all' ? '' : `/${profile}`}?names=${style}`)
  await bridgeStdio({ streams: { input: process.stdin, output: process.stdout }, url, log: logger })
  return EXIT.ok
}

function refuse(message: string, code: ExitCode): ExitCode {
  process.stderr.write(`${message}\n`)
  return code
}
