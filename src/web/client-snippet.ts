/**
 * Client snippet: what to paste into a client's configuration so that it finds this gateway. The CLI prints it, the
 * console shows it.
 */
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { isLoopback } from '../core/loopback.ts'

export const MCP_CLIENT_NAMES = ['claude-desktop', 'claude-code', 'cursor', 'vscode', 'other'] as const
export type McpClientName = (typeof MCP_CLIENT_NAMES)[number]

export interface ClientSnippetInput {
  readonly url: string
  /** The command that starts this program over stdio, as a client would run it. */
  readonly command: string
  /** The options that select the data directory and configuration, before the command's own arguments. */
  readonly settings: readonly string[]
  readonly profile: string
  readonly listen: { readonly host: string; readonly anonymous: 'agent' | 'observer' | 'off' }
}

export interface ClientSnippet {
  readonly where: string
  readonly what: string
  /** The snippet contains a place for a token. */
  readonly hasToken: boolean
}

/** A placeholder that the reader replaces with a real token. */
const TOKEN = 'hb_…'

export function createClientSnippet(client: McpClientName, facts: ClientSnippetInput): ClientSnippet {
  const { url, command, settings, profile, listen } = facts
  const path = profile === 'all' ? '/mcp' : `/mcp/${profile}`
  const endpoint = `${url}${path}`
  // Most clients refuse dots in tool names; the home tools have none.
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
  // Programs on this machine may connect without a token; others may not.
  const isNeededHere = listen.anonymous === 'off' || !isReachedHere
  const isOpen = !isLoopback(listen.host)
  const hasToken = isNeededHere || isOpen
  const headers = hasToken ? { headers: { authorization: `Bearer ${TOKEN}` } } : {}
  const leftOut = isNeededHere ? '' : '; on this machine the token can be left out'
  const remoteHint =
    isOpen && isReachedHere ? `On another machine, write this machine’s address instead of ${hostname}${leftOut}. ` : ''
  switch (client) {
    case 'claude-desktop':
      return {
        where: 'Settings ▸ Developer ▸ Edit Config (claude_desktop_config.json):',
        what: json({
          mcpServers: { hearthbus: { ...stdio, ...(isNeededHere ? { env: { HEARTHBUS_TOKEN: TOKEN } } : {}) } },
        }),
        // No token is needed otherwise, because the client starts this program on this machine.
        hasToken: isNeededHere,
      }
    case 'claude-code':
      return {
        where: `${remoteHint}In a terminal:`,
        what: `claude mcp add --transport http hearthbus "${underscored}"${hasToken ? ` --header "Authorization: Bearer ${TOKEN}"` : ''}`,
        hasToken,
      }
    case 'cursor':
      return {
        where: `${remoteHint}.cursor/mcp.json, in the project or in your home folder:`,
        what: json({ mcpServers: { hearthbus: { url: underscored, ...headers } } }),
        hasToken,
      }
    case 'vscode':
      return {
        where: `${remoteHint}.vscode/mcp.json:`,
        what: json({ servers: { hearthbus: { type: 'http', url: underscored, ...headers } } }),
        hasToken,
      }
    case 'other':
      return {
        where: `${remoteHint}Streamable HTTP (2026-07-28, or any 2025 revision); add ?names=underscore if the client refuses dots in names. Over stdio:`,
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
export function resolveHearthbusCommand(script: string): string {
  return script.endsWith('/hearthbus') ? 'hearthbus' : join(script, '..', '..', 'bin', 'hearthbus')
}

/**
 * Options that make another process serve the same house: a client starts this program in a folder and an environment
 * of its own.
 */
export function resolveDataAndConfigOptions(
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
