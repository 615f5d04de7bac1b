/**
 * Connect: what to paste into which client, so that it finds this gateway. The CLI prints it, the console shows it.
 */
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { isLoopback } from '../core/loopback.ts'

export const CLIENTS = ['claude-desktop', 'claude-code', 'cursor', 'vscode', 'other'] as const
export type ClientName = (typeof CLIENTS)[number]

export interface ConnectFacts {
  readonly url: string
  /** The command that starts us over stdio, as a client would run it. */
  readonly command: string
  /** Which house: what stands before the command's own arguments. */
  readonly settings: readonly string[]
  readonly profile: string
  readonly listen: { readonly host: string; readonly anonymous: 'agent' | 'observer' | 'off' }
}

export interface ClientSnippet {
  readonly where: string
  readonly what: string
  /** There is a place in it for a token. */
  readonly hasToken: boolean
}

/** To be replaced by a real one. */
const TOKEN = 'hb_…'

export function snippetFor(client: ClientName, facts: ConnectFacts): ClientSnippet {
  const { url, command, settings, profile, listen } = facts
  const path = profile === 'all' ? '/mcp' : `/mcp/${profile}`
  const endpoint = `${url}${path}`
  // Most clients refuse dots in tool names; those of the home have none.
  const hasDots = profile !== 'home'
  const underscored = hasDots ? `${endpoint}?names=underscore` : endpoint
  const stdio = {
    command,
    args: [
      ...settings,
      'mcp',
      ...(hasDots ? ['--names', 'underscore'] : []),
      ...(profile === 'all' ? [] : ['--profile', profile]),
    ],
  }
  const { hostname } = new URL(url)
  const isReachedHere = isLoopback(hostname)
  // Programs on this machine may come without one; whoever comes from elsewhere may not.
  const isNeededHere = listen.anonymous === 'off' || !isReachedHere
  const isOpen = !isLoopback(listen.host)
  const hasToken = isNeededHere || isOpen
  const headers = hasToken ? { headers: { authorization: `Bearer ${TOKEN}` } } : {}
  const leftOut = isNeededHere ? '' : ', and the token can be left out on this one'
  const elsewhere =
    isOpen && isReachedHere ? `On another machine this one's address goes where ${hostname} is${leftOut}. ` : ''
  switch (client) {
    case 'claude-desktop':
      return {
        where: 'Settings ▸ Developer ▸ Edit Config (claude_desktop_config.json):',
        what: json({
          mcpServers: { hearthbus: { ...stdio, ...(isNeededHere ? { env: { HEARTHBUS_TOKEN: TOKEN } } : {}) } },
        }),
        // It starts us on this machine.
        hasToken: isNeededHere,
      }
    case 'claude-code':
      return {
        where: `${elsewhere}In a terminal:`,
        what: `claude mcp add --transport http hearthbus "${underscored}"${hasToken ? ` --header "Authorization: Bearer ${TOKEN}"` : ''}`,
        hasToken,
      }
    case 'cursor':
      return {
        where: `${elsewhere}.cursor/mcp.json, in the project or in your home folder:`,
        what: json({ mcpServers: { hearthbus: { url: underscored, ...headers } } }),
        hasToken,
      }
    case 'vscode':
      return {
        where: `${elsewhere}.vscode/mcp.json:`,
        what: json({ servers: { hearthbus: { type: 'http', url: underscored, ...headers } } }),
        hasToken,
      }
    case 'other':
      return {
        where: `${elsewhere}Streamable HTTP (2026-07-28, or any 2025 revision); add ?names=underscore if the client refuses dots in names. Over stdio:`,
        what: [
          endpoint,
          ...(hasToken ? [`Authorization: Bearer ${TOKEN}`] : []),
          [...(isNeededHere ? [`HEARTHBUS_TOKEN=${TOKEN}`] : []), stdio.command, ...stdio.args].join(' '),
        ].join('\n'),
        hasToken,
      }
  }
}

/** Installed, the script is a link named hearthbus on the path; in a clone there is a wrapper beside the source. */
export function resolveOwnCommand(script: string): string {
  return script.endsWith('/hearthbus') ? 'hearthbus' : join(script, '..', '..', 'bin', 'hearthbus')
}

/**
 * Which house this process was told to serve, for others to repeat: a client starts us in a folder and an environment
 * of its own.
 */
export function resolveOwnSettings(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  workingFolder: string,
): readonly string[] {
  const options = { data: { type: 'string' }, config: { type: 'string' } } as const
  const { values } = parseArgs({ args: [...words], options, strict: false })
  const given = {
    data: values.data ?? environment['HEARTHBUS_DATA'],
    config: values.config ?? environment['HEARTHBUS_CONFIG'],
  }
  return Object.entries(given).flatMap(([name, value]) =>
    typeof value === 'string' && value !== '' ? [`--${name}`, resolve(workingFolder, value)] : [],
  )
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2)
}
