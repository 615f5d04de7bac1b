/**
 * Argument completion: suggestions for a prompt's argument. Not a call: nothing is read from the house, so nothing is
 * audited.
 */
import type { McpAnswer, McpRequest } from './mcp-request.ts'
import type { McpCatalogue } from './catalogue.ts'
import { INVALID_PARAMS_ERROR_CODE } from './protocol-error.ts'

type CompletionRequest = Extract<McpRequest, { method: 'completion/complete' }>

/** MCP, completion: at most 100 values. */
const MAX_VALUES = 100

export async function completeArgument(request: CompletionRequest, catalogue: McpCatalogue): Promise<McpAnswer> {
  if (request.prompt === undefined) return values([])
  const offer = catalogue.prompt(request.prompt)
  if (offer?.face.kind !== 'prompt')
    return { error: { code: INVALID_PARAMS_ERROR_CODE, message: `Unknown prompt: ${request.prompt}` } }
  const wanted = offer.face.arguments.find(({ name }) => name === request.argument)
  return values((await wanted?.complete?.(request.typed)) ?? [])
}

function values(all: readonly string[]): McpAnswer {
  const shown = all.slice(0, MAX_VALUES)
  return { result: { completion: { values: shown, total: all.length, hasMore: all.length > shown.length } } }
}
