/**
 * Stdio: MCP over this process's own streams, for clients that start their servers themselves.
 *
 * Does I/O.
 */
import type { Config } from '../config/schema.ts'
import { createLogger } from '../core/logger.ts'
import { localCaller } from '../guard/authenticate.ts'
import { startGateway } from '../main.ts'
import { serveStdio } from '../mcp/stdio-server.ts'
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
  const principal = localCaller(config.listen.anonymous)
  if (principal === undefined)
    return refuse('listen.anonymous is off, so nobody may act without a token. Use HTTP with one.', EXIT.denied)
  const started = await startGateway({ config, dataRoot, version, logger, listen: true })
  if (!started.ok) return refuse(started.fault.message, EXIT.unreachable)
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

function refuse(message: string, code: ExitCode): ExitCode {
  process.stderr.write(`${message}\n`)
  return code
}
