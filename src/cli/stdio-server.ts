/**
 * Stdio: MCP over this process's own streams, for clients that start their servers themselves. Where a gateway runs
 * already, the client is connected to it.
 */
import { setTimeout as rest } from 'node:timers/promises'
import type { Config } from '../config/schema.ts'
import { createLogger } from '../core/logger.ts'
import type { Logger } from '../core/logger.ts'
import { createAuthenticator, resolveLocalPrincipal } from '../guard/authenticator.ts'
import type { Gateway } from '../main.ts'
import { bridgeStdio } from '../mcp/bridge-client.ts'
import type { FacePrincipal } from '../mcp/face-bus.ts'
import { serveStdio } from '../mcp/stdio-server.ts'
import { findRunningGateway, checkGatewayAuthenticity } from './gateway-client.ts'
import type { LocatedGateway } from './gateway-client.ts'
import { EXIT_CODES } from './command-output.ts'
import type { ExitCode } from './command-output.ts'
import { selectStartFaultExitCode, tryStartGateway } from './gateway-start-server.ts'

export interface StdioCommandOptions {
  readonly config: Config
  /** The option that named its file, if one did. */
  readonly configFile: string | undefined
  readonly dataRoot: string
  readonly version: string
  readonly profile: string
  readonly style: 'dots' | 'underscore'
  readonly node: string | undefined
  /** A credential; if it is absent, the client has the rights of a local program without one. */
  readonly token: string | undefined
}

/** How long to wait for a gateway that another client has just started, before connecting to it. */
const PATIENCE_MS = 15_000
const LOOK_AGAIN_MS = 100
const NO_LONGER_GOOD = 'HEARTHBUS_TOKEN is not valid here, or no longer.'

export async function runStdioCommand(options: StdioCommandOptions): Promise<ExitCode> {
  const logger = createLogger(options.config.logLevel)
  // One time limit for all attempts together, because a client waits for its server only that long.
  const patience = AbortSignal.timeout(PATIENCE_MS)
  for (;;) {
    const running = findRunningGateway({ data: options.dataRoot, config: options.configFile })
    if (running.ok) {
      const refusal = await checkGatewayAuthenticity(running.value, options.token)
      return refusal === undefined ? bridge(options, logger) : refuse(refusal.message, EXIT_CODES.unreachable)
    }
    const over = patience.aborted
    if (running.fault.kind === 'not-running') {
      const code = await become(options, logger, over)
      if (code !== 'another-was-first') return code
    } else if (over) return refuse(running.fault.message, EXIT_CODES.unreachable)
    // Clients start their servers at the same time: one of these processes becomes the gateway, and the others wait for
    // it.
    await rest(LOOK_AGAIN_MS)
  }
}

/** Runs the gateway in this process for as long as the client is connected. */
async function become(
  { config, dataRoot, version, profile, style, node, token }: StdioCommandOptions,
  logger: Logger,
  isLastTry: boolean,
): Promise<ExitCode | 'another-was-first'> {
  if (token === undefined && config.listen.anonymous === 'off')
    return refuse('listen.anonymous is off, so nobody may act without a token: set HEARTHBUS_TOKEN.', EXIT_CODES.denied)
  // The gateway also listens, so that the server that the next client starts can connect to it.
  const started = await tryStartGateway({ config, dataRoot, version, logger, listen: true })
  if (!started.ok && started.fault.kind === 'running-already' && !isLastTry) return 'another-was-first'
  if (!started.ok) return refuse(started.fault.message, selectStartFaultExitCode(started.fault))
  const gateway = started.value
  const principal = principalOf(gateway, config, token)
  if (principal === undefined) {
    await gateway.stop()
    return refuse(NO_LONGER_GOOD, EXIT_CODES.denied)
  }
  const served = serveStdio({
    bus: gateway.bus,
    principal,
    scope: { profile, style, node },
    streams: { input: process.stdin, output: process.stdout },
    serverInfo: { name: 'hearthbus', title: 'Hearthbus', version },
    log: logger,
    profiles: config.profiles,
    families: gateway.families,
  })
  if (served === undefined) {
    await gateway.stop()
    return refuse(`There is no profile ${profile}. hearthbus profiles lists them.`, EXIT_CODES.usage)
  }
  // Ends the session; the gateway is then stopped in order.
  process.once('SIGINT', () => void served.close())
  process.once('SIGTERM', () => void served.close())
  process.on('SIGHUP', () => void served.close())
  let expelled = false
  gateway.guard.tokens.onEnd((name) => {
    if (token === undefined || name !== principal.id) return
    expelled = true
    void served.close()
  })
  await served.ended
  const troubles = await gateway.stop()
  if (expelled) return refuse(NO_LONGER_GOOD, EXIT_CODES.denied)
  // The log says which errors there were.
  return troubles.length === 0 ? EXIT_CODES.ok : EXIT_CODES.integrity
}

/** Checked as the listener does, so that the same token gets the same answer. */
function principalOf({ guard }: Gateway, config: Config, token: string | undefined): FacePrincipal | undefined {
  if (token === undefined) return resolveLocalPrincipal(config.listen.anonymous)
  const authenticate = createAuthenticator({ findToken: guard.tokens.find, isOwner: () => false, anonymous: 'off' })
  const known = authenticate({ authorization: `Bearer ${token}` }, undefined)
  return known.ok && known.value.kind === 'principal' ? known.value : undefined
}

async function bridge(
  { dataRoot, configFile, token, ...scope }: StdioCommandOptions,
  logger: Logger,
): Promise<ExitCode> {
  const locate = async (): Promise<URL | undefined> => {
    const running = findRunningGateway({ data: dataRoot, config: configFile })
    if (!running.ok || (await checkGatewayAuthenticity(running.value, token)) !== undefined) return undefined
    return endpoint(running.value, scope)
  }
  await bridgeStdio({ streams: { input: process.stdin, output: process.stdout }, locate, token, log: logger })
  return EXIT_CODES.ok
}

function endpoint(
  { note }: LocatedGateway,
  { profile, style, node }: Pick<StdioCommandOptions, 'profile' | 'style' | 'node'>,
): URL {
  const url = new URL(`${note.url}/mcp${profile === 'all' ? '' : `/${profile}`}?names=${style}`)
  if (node !== undefined) url.searchParams.set('node', node)
  return url
}

function refuse(message: string, code: ExitCode): ExitCode {
  process.stderr.write(`${message}\n`)
  return code
}
