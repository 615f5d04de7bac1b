/**
 * Connect: the snippet for a client, as an answer of this program.
 */
import { snippetFor } from '../web/connect.ts'
import type { ClientName, ConnectFacts } from '../web/connect.ts'
import type { CommandAnswer } from './print.ts'

export function formatConnectSnippet(client: ClientName, facts: ConnectFacts): CommandAnswer {
  const { where, what, hasToken } = snippetFor(client, facts)
  // The token itself is shown once, when it is made, and never here.
  const note = hasToken ? '\n\nWith a token for hb_…: hearthbus token create NAME --role agent' : ''
  return { json: { client, where, snippet: what }, text: `${where}\n\n${what}${note}` }
}
