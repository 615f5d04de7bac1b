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
}

export interface Snippet {
  readonly where: string
  readonly what: string
}

export function snippetFor(client: ClientName, { url, command, profile }: ConnectFacts): Snippet {
  const path = profile === 'all' ? '/mcp' : `/mcp/${profile}`
  const endpoint = `${url}${path}`
  // Most clients refuse dots in tool names.
  const underscored = `${endpoint}?names=underscore`
  const stdio = {
    command,
    args: ['mcp', '--names', 'underscore', ...(profile === 'all' ? [] : ['--profile', profile])],
  }
  switch (client) {
    case 'claude-desktop':
      return {
        where: 'Settings ▸ Developer ▸ Edit Config (claude_desktop_config.json):',
        what: json({ mcpServers: { hearthbus: stdio } }),
      }
    case 'claude-code':
      return { where: 'In a terminal:', what: `claude mcp add --transport http hearthbus "${underscored}"` }
    case 'cursor':
      return {
        where: '.cursor/mcp.json, in the project or in your home folder:',
        what: json({ mcpServers: { hearthbus: { url: underscored } } }),
      }
    case 'vscode':
      return { where: '.vscode/mcp.json:', what: json({ servers: { hearthbus: { type: 'http', url: underscored } } }) }
    case 'other':
      return {
        where:
          'Streamable HTTP (2026-07-28, or any 2025 revision); add ?names=underscore if the client refuses dots in names. Over stdio:',
        what: `${endpoint}\n${[stdio.command, ...stdio.args].join(' ')}`,
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
