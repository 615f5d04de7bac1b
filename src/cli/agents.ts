/**
 * Agents: commands with which the owner lists, replaces and revokes the keys that agents sign their records with. They
 * call the same capabilities as other callers, with the owner's credential.
 *
 * Pure: command-client.ts sends the requests.
 */
import type { Command } from 'commander'
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { callToolAsOwner, printAnswer } from './command-client.ts'
import { sanitizeForTerminal, formatTable } from './command-output.ts'
import { formatFailedDeviceCall } from './devices-text.ts'

export function addAgentSigningKeyCommands(program: Command): void {
  const agents = program.command('agents').description('the keys that agents sign their records with')
  agents
    .command('list', { isDefault: true })
    .description('agents whose records are signed, and with which key')
    .action((_, command: Command) => callAndPrint(command, 'agent_key_list', {}, agentsTable))
  agents
    .command('rotate <agent> <public-key> <reason...>')
    .description('give an agent another key (Ed25519, base64): only what it signs is recorded under its name')
    .action((agent: string, key: string, reason: string[], _, command: Command) =>
      callAndPrint(
        command,
        'agent_key_set',
        { agent_id: agent, public_key: key, reason: reason.join(' ') },
        () => `Records of ${agent} are signed with the new key from now on.`,
      ),
    )
  agents
    .command('revoke <agent> <reason...>')
    .description('take the key of an agent away: its records are unsigned until you give it another')
    .action((agent: string, reason: string[], _, command: Command) =>
      callAndPrint(
        command,
        'agent_key_set',
        { agent_id: agent, public_key: null, reason: reason.join(' ') },
        () => `${agent} has no key any more. Its records are unsigned until you give it another.`,
      ),
    )
}

async function callAndPrint(
  command: Command,
  tool: string,
  body: JsonObject,
  text: (data: Json) => string,
): Promise<void> {
  const view = await callToolAsOwner(command, tool, body, formatFailedDeviceCall)
  if (view === undefined) return
  const { structured } = view
  const data = isJsonObject(structured) ? (structured['data'] ?? null) : null
  printAnswer(command, { json: data, text: sanitizeForTerminal(text(data)) })
}

function agentsTable(data: Json): string {
  const agents = isJsonObject(data) && Array.isArray(data['agents']) ? data['agents'].filter(isJsonObject) : []
  if (agents.length === 0) return 'No agent has signed anything.'
  const shown = (value: Json | undefined): string => (typeof value === 'string' ? value : '(revoked)')
  return formatTable(
    ['agent', 'public key', 'decided by', 'since'],
    agents.map((agent) => [
      shown(agent['agent_id']),
      shown(agent['public_key']),
      agent['given_by_person'] === true ? 'a person' : 'its first signature',
      shown(agent['since']),
    ]),
  )
}
