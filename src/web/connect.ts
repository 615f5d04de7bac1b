/**
 * Connect: what to paste into which client, so that it finds this gateway. The CLI prints it, the console shows it.
 *
 * Pure.
 */
import { join } from 'node:path'

export const CLIENTS = ['claude-desktop', 'claude-code', 'cursor', 'vscode', 'other'] as const
export type ClientName = (typeof CLIENTS)[number]

export interface ConnectFacts {
  readonly url: string
  /** The command that starts us over stdio, as a client would run it. */
  readonly command: string
  readonly profile: string
  /** The node asks everybody for a token; the snippet says where it goes. */
  readonly needsToken: boolean
}

export interface Snippet {
  readonly where: string
  readonly what: string
}

/** To be replaced by a real one. */
const TOKEN = 'hb_…'

export function snippetFor(client: ClientName, { url, command, profile, needsToken }: ConnectFacts): Snippet {
  const path = profile === 'all' ? '/mcp' : `/mcp/${profile}`
  const endpoint = `${url}${path}`
  // Most clients refuse dots in tool names.
  const underscored = `${endpoint}?names=underscore`
  const stdio = {
    command,
    args: ['mcp', '--names', 'underscore', ...(profile === 'all' ? [] : ['--profile', profile])],
  }
  const credential = { authorization: `Bearer ${TOKEN}` }
  const headers = needsToken ? { headers: credential } : {}
  switch (client) {
    case 'claude-desktop':
      return {
        where: 'Settings ▸ Developer ▸ Edit Config (claude_desktop_config.json):',
        what: json({
          mcpServers: { hearthbus: { ...stdio, ...(needsToken ? { env: { HEARTHBUS_TOKEN: TOKEN } } : {}) } },
        }),
      }
    case 'claude-code':
      return {
        where: 'In a terminal:',
        what: `claude mcp add --transport http hearthbus "${underscored}"${needsToken ? ` --header "Authorization: Bearer ${TOKEN}"` : ''}`,
      }
    case 'cursor':
      return {
        where: '.cursor/mcp.json, in the project or in your home folder:',
        what: json({ mcpServers: { hearthbus: { url: underscored, ...headers } } }),
      }
    case 'vscode':
      return {
        where: '.vscode/mcp.json:',
        what: json({ servers: { hearthbus: { type: 'http', url: underscored, ...headers } } }),
      }
    case 'other':
      return {
        where:
          'Streamable HTTP (2026-07-28, or any 2025 revision); add ?names=underscore if the client refuses dots in names. Over stdio:',
        what: [
          endpoint,
          ...(needsToken ? [`Authorization: Bearer ${TOKEN}`] : []),
          [...(needsToken ? [`HEARTHBUS_TOKEN=${TOKEN}`] : []), stdio.command, ...stdio.args].join(' '),
        ].join('\n'),
      }
  }
}

/** Installed, the script is a link named hearthbus on the path; in a clone there is a wrapper beside the source. */
export function selfCommand(script: string): string {
  return script.endsWith('/hearthbus') ? 'hearthbus' : join(script, '..', '..', 'bin', 'hearthbus')
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2)
}
