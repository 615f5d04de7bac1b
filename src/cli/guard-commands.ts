/**
 * Guard commands: with these the owner approves, denies, creates tokens and engages the emergency stop. They send
 * the owner's credential; the gateway refuses an agent's token.
 *
 * Pure: command-client.ts sends the requests.
 */
import { Option } from 'commander'
import type { Command } from 'commander'
import { PRINCIPAL_ROLES } from '../bus/call.ts'
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail } from '../core/result.ts'
import { OWNER_PRINCIPAL } from '../guard/authenticator.ts'
import { explainUnknownTokenProfile } from '../guard/access-token.ts'
import type { AccessTokenRecord } from '../guard/access-token.ts'
import { listProfileNames } from '../mcp/profile.ts'
import { toAccessTokenRequest, tokenRequestSchema } from '../web/api-requests.ts'
import { formatTokenRestrictions } from '../web/token-restriction-text.ts'
import type { GrantView } from '../web/views.ts'
import {
  fetchAndPrintGatewayAnswer,
  readCommandConfig,
  readDataRoot,
  readGlobalOptions,
  printAnswer,
} from './command-client.ts'
import { findRunningGateway } from './gateway-client.ts'
import type { ApiRequest } from './gateway-client.ts'
import { EXIT_CODES, sanitizeForTerminal, formatTable } from './command-output.ts'
import { formatApprovals, createCommandAnswer } from './gateway-text.ts'
import { createWholeNumberParser } from './whole-number.ts'

interface TokenOptions {
  readonly role: string
  readonly days?: number
  readonly effects?: string
  readonly profiles?: string
  readonly devices?: string
}

interface GrantOptions {
  readonly uses?: number
  readonly minutes?: number
  readonly anyDevice?: boolean
  readonly wholeNode?: boolean
  readonly bounds?: string
}

export function addGuardCommands(program: Command): void {
  addApprovals(program)
  addGrants(program)
  addTokens(program)
  program
    .command('stop <reason...>')
    .description('emergency stop: every change is refused until `resume`')
    .action((reason: string[], _, command: Command) =>
      fetchAndPrintGatewayAnswer(
        command,
        asOwner({ method: 'POST', path: '/api/stop', body: { reason: reason.join(' ') } }),
        (value) => createCommandAnswer(value, 'Stopped. Every change is refused until `hearthbus resume`.'),
      ),
    )
  program
    .command('resume')
    .description('release the emergency stop')
    .action((_, command: Command) =>
      fetchAndPrintGatewayAnswer(command, asOwner({ method: 'DELETE', path: '/api/stop' }), (value) =>
        createCommandAnswer(value, 'Changes are possible again.'),
      ),
    )
}

function addApprovals(program: Command): void {
  const approvals = program.command('approvals').description('what waits for a person’s yes or no')
  approvals
    .command('list', { isDefault: true })
    .description('open requests; --all shows decided ones too')
    .option('--all', 'also those that are decided')
    .action((options: { all?: boolean }, command: Command) =>
      fetchAndPrintGatewayAnswer(
        command,
        asOwner({ path: `/api/approvals${options.all === true ? '' : '?state=requested'}` }),
        (value) => formatApprovals(value as JsonObject[], Date.now()),
      ),
    )
  approvals
    .command('show <id>')
    .description('one request, decided or not')
    .action((id: string, _, command: Command) =>
      fetchAndPrintGatewayAnswer(command, asOwner({ path: `/api/approvals/${encodeURIComponent(id)}` }), (value) => ({
        ...formatApprovals([value as JsonObject], Date.now()),
        json: value,
      })),
    )
  approvals
    .command('approve <id>')
    .description('let that exact call happen once; with --uses and --minutes, also calls like it')
    .option('--uses <n>', 'this many more calls like it', createWholeNumberParser(1, 1_000))
    .option('--minutes <n>', 'for so long', createWholeNumberParser(1, 43_200))
    .option('--any-device', 'on every device that the tool reaches')
    .option('--whole-node', 'for every caller of the node that asked')
    .option('--bounds <json>', 'arguments that may vary, e.g. {"value":{"min":18,"max":22}}')
    .action((id: string, options: GrantOptions, command: Command) =>
      fetchAndPrintGatewayAnswer(
        command,
        asVoter({
          method: 'POST',
          path: `/api/approvals/${encodeURIComponent(id)}/approve`,
          body: grantOf(options, command),
        }),
        (value) => createCommandAnswer(value, approvedSentence(options)),
      ),
    )
  approvals
    .command('deny <id> <reason...>')
    .description('deny it, or withdraw an approval that was not used yet, and say why')
    .action((id: string, reason: string[], _, command: Command) =>
      fetchAndPrintGatewayAnswer(
        command,
        asVoter({
          method: 'POST',
          path: `/api/approvals/${encodeURIComponent(id)}/deny`,
          body: { reason: reason.join(' ') },
        }),
        (value) => createCommandAnswer(value, 'Denied.'),
      ),
    )
}

function addGrants(program: Command): void {
  const grants = program.command('grants').description('bounded approvals for future calls')
  grants
    .command('list', { isDefault: true })
    .description('those in force; --all shows ended ones too')
    .option('--all', 'also those that ended')
    .action((options: { all?: boolean }, command: Command) =>
      fetchAndPrintGatewayAnswer(
        command,
        asOwner({ path: `/api/grants${options.all === true ? '?all' : ''}` }),
        (value) => ({
          json: value,
          text: grantTable(value as unknown as readonly GrantView[]),
        }),
      ),
    )
  grants
    .command('end <id>')
    .description('take it back')
    .action((id: string, _, command: Command) =>
      fetchAndPrintGatewayAnswer(
        command,
        asOwner({ method: 'DELETE', path: `/api/grants/${encodeURIComponent(id)}` }),
        (value) => createCommandAnswer(value, 'It covers nothing from now on.'),
      ),
    )
}

function addTokens(program: Command): void {
  const token = program.command('token').description('credentials for agents and people')
  token
    .command('create <name>')
    .description('make a token; it is shown once')
    .addOption(new Option('--role <role>', 'what it may do').choices(PRINCIPAL_ROLES).makeOptionMandatory())
    .option('--days <n>', 'expires after this many days', createWholeNumberParser(1, 3_650))
    .option('--effects <list>', 'narrow what it may call, see and decide about to effects, e.g. reads,records')
    .option(
      '--profiles <list>',
      'narrow what it may call and see to profiles (hearthbus profiles); it then decides about nothing',
    )
    .option('--devices <list>', 'narrow what it may call, see and decide about to devices: ids as approvals show them')
    .action((name: string, options: TokenOptions, command: Command) => {
      const body = {
        name,
        role: options.role,
        ...(options.days === undefined ? {} : { expiresInDays: options.days }),
        ...listOption('effects', options.effects),
        ...listOption('profiles', options.profiles),
        ...listOption('devices', options.devices),
      }
      // Where others can reach the node, the first token has to be created before the first start.
      if (!findRunningGateway(readGlobalOptions(command)).ok) return createTokenOffline(command, body)
      return fetchAndPrintGatewayAnswer(command, asOwner({ method: 'POST', path: '/api/tokens', body }), (value) =>
        createCommandAnswer(value, tokenSentence(value)),
      )
    })
  token
    .command('list')
    .description('names, roles and last use')
    .action((_, command: Command) =>
      fetchAndPrintGatewayAnswer(command, asOwner({ path: '/api/tokens' }), (value) => ({
        json: value,
        text: tokenTable(value as unknown as readonly AccessTokenRecord[]),
      })),
    )
  token
    .command('revoke <name>')
    .description('refuse it from now on')
    .action((name: string, _, command: Command) =>
      fetchAndPrintGatewayAnswer(
        command,
        asOwner({ method: 'DELETE', path: `/api/tokens/${encodeURIComponent(name)}` }),
        (value) => createCommandAnswer(value, `${name} is refused from now on.`),
      ),
    )
}

async function createTokenOffline(command: Command, body: JsonObject): Promise<void> {
  const config = readCommandConfig(command)
  if (config === undefined) return
  const request = tokenRequestSchema.safeParse(body)
  if (!request.success)
    command.error(request.error.issues.map((issue) => issue.message).join('; '), { exitCode: EXIT_CODES.usage })
  const { withNonListeningGateway } = await import('./offline-gateway-store.ts')
  const { selectStartFaultExitCode } = await import('./gateway-start-server.ts')
  const { familyEnvelopes } = await import('../main/families.ts')
  const token = toAccessTokenRequest(request.data)
  const made = await withNonListeningGateway(config, readDataRoot(command), async ({ guard, families }) => {
    // The temporary gateway starts no family, but the names of the families' profiles are known all the same.
    const known = listProfileNames(config.profiles, [...familyEnvelopes.map(({ name }) => name), ...families])
    const flaw = explainUnknownTokenProfile(token, known)
    return flaw === undefined
      ? guard.tokens.create(OWNER_PRINCIPAL, token)
      : fail({ kind: 'invalid-arguments', message: flaw })
  })
  if (!made.ok)
    printAnswer(command, {
      json: { ...made.fault },
      text: made.fault.message,
      exit: selectStartFaultExitCode(made.fault),
    })
  else if (!made.value.ok)
    printAnswer(command, {
      json: { ...made.value.fault } as unknown as Json,
      text: made.value.fault.message,
      exit: EXIT_CODES.failed,
    })
  else {
    const value = { token: made.value.value.token }
    printAnswer(command, createCommandAnswer(value, tokenSentence(value)))
  }
}

/** A person who votes in a round does so with a credential of their own. */
function asVoter(question: ApiRequest): ApiRequest {
  return { ...question, asOwner: true, asVoter: true }
}

function asOwner(question: ApiRequest): ApiRequest {
  return { ...question, asOwner: true }
}

function grantOf({ uses, minutes, anyDevice, wholeNode, bounds }: GrantOptions, command: Command): JsonObject {
  if ([uses, minutes, anyDevice, wholeNode, bounds].every((option) => option === undefined)) return {}
  // Also refused when only --any-device or a similar option is given: a person who writes it means more than this one
  // call.
  if (uses === undefined || minutes === undefined)
    return command.error('A grant has both: --uses and --minutes.', { exitCode: EXIT_CODES.usage })
  try {
    return {
      grant: {
        target: anyDevice === true ? 'any' : 'same',
        caller: wholeNode === true ? 'node' : 'same',
        maxUses: uses,
        durationMs: minutes * 60_000,
        ...(bounds === undefined ? {} : { bounds: JSON.parse(bounds) as JsonObject }),
      },
    }
  } catch {
    return command.error(`The bounds are not JSON: ${bounds}`, { exitCode: EXIT_CODES.usage })
  }
}

function approvedSentence({ uses, minutes }: GrantOptions): string {
  const once = 'Approved. The same call by the same caller will now run, once.'
  if (uses === undefined || minutes === undefined) return once
  return `${once} Up to ${uses} more like it will in the next ${minutes} minutes: hearthbus grants.`
}

function grantTable(grants: readonly GrantView[]): string {
  const rows = grants.map((grant) => [
    grant.id,
    grant.principal,
    grant.tool,
    grant.target ?? 'any device',
    `${grant.uses}/${grant.maxUses}`,
    new Date(grant.expiresAtMs).toISOString(),
  ])
  if (rows.length === 0) return 'No grant is in force.'
  return formatTable(
    ['id', 'for', 'tool', 'device', 'used', 'until'],
    rows.map((row) => row.map(sanitizeForTerminal)),
  )
}

function listOption(name: string, text: string | undefined): JsonObject {
  return text === undefined ? {} : { [name]: text.split(',').map((part) => part.trim()) }
}

function tokenSentence(value: Json): string {
  const token = isJsonObject(value) && typeof value['token'] === 'string' ? value['token'] : ''
  return `${token}\n\nKeep it now; it is not shown again. Clients send it as: Authorization: Bearer ${token}`
}

function tokenTable(tokens: readonly AccessTokenRecord[]): string {
  const when = (ms: number | undefined): string => (ms === undefined ? '–' : new Date(ms).toISOString())
  const rows = tokens.map((token) => [
    token.name,
    token.role,
    formatTokenRestrictions(token.restrictions) ?? '–',
    when(token.lastUsedAtMs),
    when(token.expiresAtMs),
    when(token.revokedAtMs),
  ])
  return rows.length === 0
    ? 'There are no tokens.'
    : formatTable(['name', 'role', 'narrowed to', 'last used', 'expires', 'revoked'], rows)
}
