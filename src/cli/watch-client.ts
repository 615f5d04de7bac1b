/**
 * Watch: prints the gateway's events as they happen, from the stream that the console reads, as lines or as JSON.
 */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import type { Json } from '../core/json.ts'
import { readGlobalOptions } from './command-client.ts'
import { findRunningGateway, checkGatewayAuthenticity } from './gateway-client.ts'
import { EXIT_CODES } from './command-output.ts'
import { formatWatchLine } from './watch-text.ts'
import type { WatchedFeedEvent } from './watch-text.ts'

/** The gateway sends something every five seconds, if only a heartbeat. */
const LOOK_MS = 5_000
const MAX_SILENT_LOOKS = 3

export function addWatchCommands(program: Command): void {
  program
    .command('watch')
    .description('what happens, as it happens: calls, approvals, tools that come and go; Ctrl-C ends it')
    .option('--after <id>', 'go on after this event, as far as the gateway still knows')
    .action((options: { after?: string }, command: Command) => watch(command, options.after))
}

async function watch(command: Command, after: string | undefined): Promise<void> {
  const gateway = findRunningGateway(readGlobalOptions(command))
  if (!gateway.ok) return complain(gateway.fault.message)
  const { note, dataRoot } = gateway.value
  const token = process.env['HEARTHBUS_TOKEN'] ?? ownerToken(dataRoot)
  const refusal = await checkGatewayAuthenticity(gateway.value, token)
  if (refusal !== undefined) return complain(refusal.message)
  const hung = new AbortController()
  // Counts silent checks instead of using one deadline: a terminal that was suspended finds a stream that has waited
  // for it.
  let silentLooks = 0
  const watching = setInterval(() => {
    if (++silentLooks >= MAX_SILENT_LOOKS) hung.abort()
  }, LOOK_MS)
  const open = (): Promise<Response> =>
    fetch(`${note.url}/api/events`, {
      signal: hung.signal,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(after === undefined ? {} : { 'last-event-id': after }),
      },
    })
  try {
    const response = await open()
    if (!response.ok || response.body === null) return complain(`The gateway answered ${response.status}.`)
    for await (const event of eventsOf(response.body, () => (silentLooks = 0))) {
      const line = readGlobalOptions(command).json === true ? JSON.stringify(event) : formatWatchLine(event, new Date())
      if (line !== undefined) process.stdout.write(`${line}\n`)
    }
    complain('The gateway ended the stream.')
  } catch {
    const what = hung.signal.aborted ? 'has stopped sending: see `hearthbus doctor`' : 'does not answer'
    complain(`The gateway at ${note.url} ${what}.`)
  } finally {
    clearInterval(watching)
  }
}

/** Our own gateway writes the three fields in this order, each on one line. */
const EVENT = /^id: (.*)\nevent: (.*)\ndata: (.*)$/

async function* eventsOf(body: ReadableStream<Uint8Array>, onReceived: () => void): AsyncGenerator<WatchedFeedEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    onReceived()
    const frames = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
    rest = frames.pop() ?? ''
    for (const frame of frames) {
      const [, id, event, data] = EVENT.exec(frame) ?? []
      if (id !== undefined && event !== undefined && data !== undefined)
        yield { id, event, data: JSON.parse(data) as Json }
    }
  }
}

function ownerToken(dataRoot: string): string | undefined {
  try {
    return readFileSync(buildDataDirectoryPaths(dataRoot).ownerToken, 'utf8').trim()
  } catch {
    return undefined
  }
}

function complain(message: string): void {
  process.stderr.write(`${message}\n`)
  process.exitCode = EXIT_CODES.unreachable
}
