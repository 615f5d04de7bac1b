/**
 * Answer: one MCP request from a known caller, answered from the bus. The same for both eras and all transports: what
 * differs between them is formatted by each transport.
 *
 *   tools/call ─▶ name → offer ─▶ bus.call ─▶ lock ▸ validate ▸ audit ▸ guard ▸ handler ▸ audit ─▶ envelope
 */
import { hash } from 'node:crypto'
import type { Outcome, Reply } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import { formatNameSuggestion } from '../core/closest-name.ts'
import type { JsonObject } from '../core/json.ts'
import { canonicalJson } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import { toCallOptions, extractNodePinArgument } from './mcp-request.ts'
import type { McpAnswer, McpRequestContext, McpRequest } from './mcp-request.ts'
import { completeArgument } from './argument-completion.ts'
import { MAX_RESOURCE_URI_LENGTH } from './catalogue.ts'
import type { McpCatalogue } from './catalogue.ts'
import type { McpListMethod } from './mcp-request.ts'
import type { FaceBus } from './face-bus.ts'
import { createInputRequiredResult, findMissingClientCapability } from './input-required.ts'
import {
  INTERNAL_ERROR_CODE,
  INVALID_PARAMS_ERROR_CODE,
  MISSING_CAPABILITY_ERROR_CODE,
  toMcpProtocolError,
} from './protocol-error.ts'
import type { McpProtocolError } from './protocol-error.ts'
import { createAnswerMeta, createPromptResult, createResourceResult, createToolResult } from './mcp-results.ts'
import type { RequestStateSeal } from './request-state-seal.ts'
import { isOfferVisible } from './offer-visibility.ts'

export interface RequestHandlingDependencies {
  readonly bus: FaceBus
  readonly stateSeal: RequestStateSeal
  readonly log: Logger
}

/** Never rejects: a bug is logged, and the caller is only told that there was an internal error. */
export async function answerMcpRequest(
  parts: RequestHandlingDependencies,
  request: McpRequest,
  asker: McpRequestContext,
): Promise<McpAnswer> {
  try {
    return await answered(parts, request, asker)
  } catch (error) {
    parts.log.error({ err: error, method: request.method }, 'an MCP request failed')
    return { error: { code: INTERNAL_ERROR_CODE, message: 'Internal error' } }
  }
}

function answered(
  parts: RequestHandlingDependencies,
  request: McpRequest,
  asker: McpRequestContext,
): McpAnswer | Promise<McpAnswer> {
  switch (request.method) {
    case 'tools/call':
      return callTool(parts, request, asker)
    case 'resources/read':
      return readResource(parts, request.uri, asker)
    case 'prompts/get':
      return getPrompt(parts, request, asker)
    case 'completion/complete':
      return completeArgument(request, asker.catalogue)
    default:
      // Lists have one page, so no cursor can be valid.
      if (request.cursor !== undefined) return refuse('Invalid cursor: this list has a single page.')
      return listed(parts, request.method, asker)
  }
}

function listed(parts: RequestHandlingDependencies, method: McpListMethod, asker: McpRequestContext): McpAnswer {
  const strange = explainUnknownNode(parts, asker)
  return strange === undefined ? { result: asker.catalogue.list(method) } : refuse(strange)
}

/** A list for a node that is not connected would be empty without saying why, so it is refused. */
function explainUnknownNode({ bus }: RequestHandlingDependencies, { node }: McpRequestContext): string | undefined {
  return node === undefined ? undefined : bus.strangeNode(node)
}

async function callTool(
  parts: RequestHandlingDependencies,
  { name: given, arguments: body }: Named,
  asker: McpRequestContext,
): Promise<McpAnswer> {
  const { catalogue } = asker
  const canonical = catalogue.canonicalTool(given)
  const entry = canonical === undefined ? undefined : catalogue.tool(canonical)
  if (entry?.inProfile === true) {
    const { offer } = entry
    const pinned = extractNodePinArgument(body, offer.requestSchema, asker.node)
    const pinnedAsker = { ...asker, node: pinned.node }
    const round = { asker: pinnedAsker, method: 'tools/call', target: offer.name, offer, body: pinned.body }
    const reader = { listed: catalogue.listed, hasTool: catalogue.hasTool, body: pinned.body }
    return await ask(parts, round, (outcome) => ({
      result: { ...createToolResult(outcome, offer, reader), ...createAnswerMeta(outcome, parts.bus.nodeId) },
    }))
  }
  const attempt = await parts.bus.call(attempted(canonical ?? given, catalogue), undefined, body, toCallOptions(asker))
  const more =
    entry !== undefined && isInOtherProfile(entry.offer, asker)
      ? ` It is not in the profile ${catalogue.view.profileName}.`
      : formatNameSuggestion(catalogue.near(given))
  const unknown = `Unknown tool: ${given.slice(0, MAX_NAME)}${more === '' ? '' : `.${more}`}`
  return refuse(explainUnknownNode(parts, asker) ?? unknown, { attempt })
}

/**
 * Whether another profile would show it to this caller. A caller whose token is restricted to profiles is not told
 * about others.
 */
function isInOtherProfile(offer: Offer, { principal }: McpRequestContext): boolean {
  return principal.restrictions?.profiles === undefined && isOfferVisible(offer, principal)
}

interface Named {
  readonly name: string
  readonly arguments: JsonObject
}

const MAX_NAME = 128

/**
 * The name under which the attempt to call something that this caller cannot have here is recorded. It must not be a
 * name on the bus (a tool of another profile, a resource, a service of our own), or the call would be made: no
 * capability has `@` or `…` in its name.
 */
function attempted(name: string, catalogue: McpCatalogue): string {
  if (catalogue.isOffered(name)) return `${name}@${catalogue.view.profileName}`
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name
}

async function readResource(
  parts: RequestHandlingDependencies,
  uri: string,
  asker: McpRequestContext,
): Promise<McpAnswer> {
  const found = asker.catalogue.resource(uri)
  if (found === undefined || found.offer.face.kind !== 'resource') {
    const shown = uri.slice(0, MAX_RESOURCE_URI_LENGTH)
    const attempt = await parts.bus.call(attempted(shown, asker.catalogue), undefined, {}, toCallOptions(asker))
    // SEP-2164; earlier revisions had a separate code for it, which clients need not distinguish.
    return refuse(`Resource not found: ${shown}`, { attempt, data: { uri: shown } })
  }
  const { offer, body } = found
  const { mimeType } = found.offer.face
  return ask(parts, { asker, method: 'resources/read', target: uri, offer, body }, (outcome) =>
    outcome.ok
      ? {
          result: {
            ...createResourceResult(outcome.value, uri, mimeType),
            ...createAnswerMeta(outcome, parts.bus.nodeId),
          },
        }
      : { error: recordedFault(outcome) },
  )
}

async function getPrompt(
  parts: RequestHandlingDependencies,
  { name: given, arguments: body }: Named,
  asker: McpRequestContext,
): Promise<McpAnswer> {
  const offer = asker.catalogue.prompt(given)
  if (offer === undefined) {
    const attempt = await parts.bus.call(attempted(given, asker.catalogue), undefined, body, toCallOptions(asker))
    return refuse(`Unknown prompt: ${given.slice(0, MAX_NAME)}`, { attempt })
  }
  return ask(parts, { asker, method: 'prompts/get', target: offer.name, offer, body }, (outcome) =>
    outcome.ok
      ? { result: { ...createPromptResult(outcome.value, offer), ...createAnswerMeta(outcome, parts.bus.nodeId) } }
      : { error: recordedFault(outcome) },
  )
}

/** One round of a call; a call takes several when its handler needs input. */
interface Round {
  readonly asker: McpRequestContext
  readonly method: string
  readonly target: string
  readonly offer: Offer
  readonly body: JsonObject
}

async function ask(
  parts: RequestHandlingDependencies,
  round: Round,
  spell: (outcome: Outcome) => McpAnswer,
): Promise<McpAnswer> {
  const { asker } = round
  let again: McpRequestContext = asker
  if (asker.interaction.requestState !== undefined) {
    const opened = parts.stateSeal.open(asker.interaction.requestState, bindingOf(round))
    if (opened === undefined)
      return refuse('Invalid or expired requestState', { data: { reason: 'invalid_request_state' } })
    again = answering(asker, opened)
  }
  const outcome = await parts.bus.call(round.offer.name, undefined, round.body, toCallOptions(again))
  const wanted = outcome.ok ? outcome.value.inputRequired : undefined
  if (wanted === undefined) return spell(outcome)
  const asked = askBack(parts, wanted, round)
  return 'result' in asked ? { result: { ...asked.result, ...createAnswerMeta(outcome, parts.bus.nodeId) } } : asked
}

function askBack(
  parts: RequestHandlingDependencies,
  wanted: NonNullable<Reply['inputRequired']>,
  round: Round,
): McpAnswer {
  const { era, interaction } = round.asker
  const { clientCapabilities } = interaction
  // The 2025 revisions declare capabilities once; there the SDK checks them before it asks.
  const missing = era === 'modern' ? findMissingClientCapability(wanted.requests, clientCapabilities) : undefined
  if (missing !== undefined) {
    const { key, method, required } = missing
    const message = `Cannot request input '${key}' (${method}): the request's client capabilities do not declare the required capability`
    return { error: { code: MISSING_CAPABILITY_ERROR_CODE, message, data: { requiredCapabilities: required } } }
  }
  const { state, node } = wanted
  const kept = state === undefined && node === undefined ? undefined : JSON.stringify({ state, node })
  const sealed = kept === undefined ? undefined : parts.stateSeal.seal(kept, bindingOf(round))
  return { result: createInputRequiredResult(wanted, sealed) }
}

/** The caller for the next round: with the state as the handler gave it, on the node that asked. */
function answering(asker: McpRequestContext, opened: string): McpRequestContext {
  // The state was sealed by `askBack`, so it is unchanged.
  const { state, node = asker.node } = JSON.parse(opened) as { readonly state?: string; readonly node?: string }
  const { requestState: _, ...interaction } = asker.interaction
  return { ...asker, node, interaction: state === undefined ? interaction : { ...interaction, requestState: state } }
}

/** A state that was given for one call of one principal must not be valid for another. */
function bindingOf({ asker, method, target, body }: Round): string {
  const { principal, node = '' } = asker
  return [principal.id, method, target, node, hash('sha256', canonicalJson(body))].join('\0')
}

/** JSON-RPC errors have no `_meta`, so it is put into their data. */
function recordedFault(outcome: Outcome & { readonly ok: false }): McpProtocolError {
  const fault = toMcpProtocolError(outcome.fault)
  const data = { ...fault.data, ...createAnswerMeta(outcome, '') }
  return Object.keys(data).length === 0 ? fault : { ...fault, data }
}

/** `attempt` is the recorded call. */
function refuse(
  message: string,
  { data = {}, attempt }: { readonly data?: JsonObject; readonly attempt?: Outcome } = {},
): McpAnswer {
  const told = { ...data, ...(attempt === undefined ? {} : createAnswerMeta(attempt, '')) }
  return {
    error: { code: INVALID_PARAMS_ERROR_CODE, message, ...(Object.keys(told).length === 0 ? {} : { data: told }) },
  }
}
