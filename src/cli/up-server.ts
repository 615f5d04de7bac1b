/**
 * Up: runs the gateway until it is stopped.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { createLogger } from '../core/logger.ts'
import { readErrorMessage } from '../core/thrown-error.ts'
import type { Gateway } from '../main.ts'
import type { SignInLinkView } from '../web/views.ts'
import { requestGateway } from './gateway-client.ts'
import { EXIT_CODES } from './command-output.ts'
import type { ExitCode } from './command-output.ts'
import { selectStartFaultExitCode, tryStartGateway } from './gateway-start-server.ts'
import { waitForSignal } from './process-signal.ts'

export interface UpCommandOptions {
  readonly config: Config
  readonly dataRoot: string
  readonly pinned?: boolean
  readonly version: string
  /** How this program is run, for the printed lines that a newcomer copies. */
  readonly command: string
  /** Called once the gateway runs. */
  readonly afterwards?: (gateway: Gateway) => void
}

export async function runUpCommand({
  config,
  dataRoot,
  pinned = true,
  version,
  command,
  afterwards,
}: UpCommandOptions): Promise<ExitCode> {
  // Registered before anything is started, so that a stop is in order from the first moment.
  const stopWanted = waitForSignal()
  const logger = createLogger(config.logLevel)
  // An unhandled rejection is a bug in one place, and must not stop the gateway that controls the heating.
  process.on('unhandledRejection', (error) =>
    logger.error({ err: error }, 'a promise was rejected and nothing handled it'),
  )
  const started = await tryStartGateway({ config, dataRoot, pinned, version, logger, listen: true })
  if (!started.ok) {
    process.stderr.write(`${started.fault.message}\n`)
    return selectStartFaultExitCode(started.fault)
  }
  const place = linkPlace(await signInLink(started.value, dataRoot), started.value.url ?? '', dataRoot)
  process.stdout.write(welcome(started.value, dataRoot, { command, place }))
  afterwards?.(started.value)
  await stopWanted
  removeConsoleLink(dataRoot)
  process.stdout.write('\nStopping …\n')
  const troubles = await started.value.stop()
  if (troubles.length === 0) {
    process.stdout.write('Stopped. Everything is recorded.\n')
    return EXIT_CODES.ok
  }
  process.stdout.write(`Stopped, but with these problems:\n${troubles.map((trouble) => `  ${trouble}\n`).join('')}`)
  return EXIT_CODES.integrity
}

/** The link is requested as `hearthbus console` does, with the owner's credential: there is no other way to get one. */
async function signInLink({ url = '' }: Gateway, dataRoot: string): Promise<string> {
  // This process itself listens at that address.
  const gateway = { note: { url, pid: process.pid, version: '' }, dataRoot, isAuthentic: true, pin: undefined }
  const link = await requestGateway(gateway, { method: 'POST', path: '/api/console/link', body: {}, asOwner: true })
  return link.ok ? (link.value as unknown as SignInLinkView).url : url
}

/** What to print about the console, and how a person signs in. */
interface LinkPlace {
  readonly console: string
  readonly signIn: string
}

/**
 * The link makes its holder an admin. It is printed to a terminal only: the output of a service is kept in a journal or
 * a container's log, which others can read.
 */
function linkPlace(link: string, url: string, dataRoot: string): LinkPlace {
  if (process.stdout.isTTY) return { console: link, signIn: 'signs in once' }
  const { consoleLink } = buildDataDirectoryPaths(dataRoot)
  try {
    // An existing file would keep its mode, so it is removed first.
    rmSync(consoleLink, { force: true })
    writeFileSync(consoleLink, `${link}\n`, { mode: 0o600, flag: 'wx' })
    return { console: url, signIn: `a link that signs in once is in ${consoleLink}` }
  } catch (error) {
    // A full disk, or a folder in its place: there is another way to get a link, and everything else runs.
    return { console: url, signIn: `no link could be written: ${readErrorMessage(error)}` }
  }
}

function removeConsoleLink(dataRoot: string): void {
  try {
    rmSync(buildDataDirectoryPaths(dataRoot).consoleLink, { force: true })
  } catch {
    // A folder that another program put there, for example. The link signs nobody in once the gateway has stopped.
  }
}

function welcome(
  gateway: Gateway,
  dataRoot: string,
  { command, place }: { readonly command: string; readonly place: LinkPlace },
): string {
  return [
    '',
    // The number of tools is not printed, because devices and other nodes register theirs a moment later.
    `  Hearthbus is up: ${gateway.families.join(', ')}.`,
    '',
    `  Console     ${place.console}`,
    `              (${place.signIn}; \`${command} console\` prints a new link)`,
    `  Agents      ${gateway.url}/mcp/home     (every tool: /mcp; profiles: /mcp/read, /mcp/<family>)`,
    `  Programs    ${gateway.url}/api`,
    `  Records     ${dataRoot}`,
    '',
    '  In another terminal:',
    `    ${command} connect claude-code      what to paste into which client`,
    `    ${command} tools                    what there is`,
    `    ${command} call server_health       try one`,
    `    ${command} approvals                what waits for you`,
    `    ${command} ledger verify            check that nothing was changed`,
    '',
    '  Ctrl-C stops it.',
    '',
    '',
  ].join('\n')
}
