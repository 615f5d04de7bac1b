/**
 * Console: commands for the page in the browser: they create a sign-in link, and list who is signed in.
 *
 * Pure: command-client.ts sends the requests.
 */
import { Option } from 'commander'
import type { Command } from 'commander'
import { PRINCIPAL_ROLES } from '../bus/call.ts'
import type { SignInLinkView, ConsoleSessionView } from '../web/views.ts'
import { fetchAndPrintGatewayAnswer } from './command-client.ts'
import { sanitizeForTerminal, formatTable } from './command-output.ts'
import { createCommandAnswer } from './gateway-text.ts'

export function addConsoleCommands(program: Command): void {
  // Has an underscore because `console` is a global.
  const console_ = program.command('console').description('the page in the browser')
  console_
    // The command sends the owner's credential. The link is valid once and for 15 minutes, so a link in a shell history
    // opens nothing.
    .command('link', { isDefault: true })
    .description('print a link that signs in once')
    .addOption(new Option('--role <role>', 'what it may do').choices(PRINCIPAL_ROLES).default('admin'))
    .action((options: { role: string }, command: Command) =>
      fetchAndPrintGatewayAnswer(
        command,
        { method: 'POST', path: '/api/console/link', body: { role: options.role }, asOwner: true },
        (value) => {
          const { url, role } = value as unknown as SignInLinkView
          return { json: value, text: `${url}\n\nIt signs in once, as ${role}, within the next 15 minutes.` }
        },
      ),
    )
  console_
    .command('sessions')
    .description('who is signed in')
    .action((_, command: Command) =>
      fetchAndPrintGatewayAnswer(command, { path: '/api/sessions', asOwner: true }, (value) => ({
        json: value,
        text: sessionTable(value as unknown as readonly ConsoleSessionView[]),
      })),
    )
  console_
    .command('end <session>')
    .description('sign somebody out')
    .action((id: string, _, command: Command) =>
      fetchAndPrintGatewayAnswer(
        command,
        { method: 'DELETE', path: `/api/sessions/${encodeURIComponent(id)}`, asOwner: true },
        (value) => createCommandAnswer(value, 'Signed out.'),
      ),
    )
}

function sessionTable(sessions: readonly ConsoleSessionView[]): string {
  if (sessions.length === 0) return 'Nobody is signed in.'
  return formatTable(
    ['session', 'who', 'role', 'last seen', 'browser'],
    sessions.map(({ id, principal, role, seenAtMs, browser }) => [
      id,
      principal,
      role,
      new Date(seenAtMs).toISOString(),
      sanitizeForTerminal(browser),
    ]),
  )
}
