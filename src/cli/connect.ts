/**
 * Connect: the snippet for a client, as an answer of this program.
 *
 * Pure.
 */
import { snippetFor } from '../web/connect.ts'
import type { ClientName, ConnectFacts } from '../web/connect.ts'
import type { Answer } from './print.ts'

export function connect(client: ClientName, facts: ConnectFacts): Answer {
  const { where, what } = snippetFor(client, facts)
  return { json: { client, where, snippet: what }, text: `${where}\n\n${what}` }
}
