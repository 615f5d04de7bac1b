/**
 * Connect: the command that prints the configuration snippet for a client.
 */
import { createClientSnippet } from '../web/client-snippet.ts'
import type { McpClientName, ClientSnippetInput } from '../web/client-snippet.ts'
import type { CommandAnswer } from './command-output.ts'

export function formatConnectSnippet(client: McpClientName, facts: ClientSnippetInput): CommandAnswer {
  const { where, what, hasToken } = createClientSnippet(client, facts)
  // The token itself is shown only once, when it is created, and never in a snippet.
  const note = hasToken ? '\n\nWith a token for hb_…: hearthbus token create NAME --role agent' : ''
  return { json: { client, where, snippet: what }, text: `${where}\n\n${what}${note}` }
}
