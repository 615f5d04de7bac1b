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
  context: McpRequestContext,
): Promise<McpAnswer> {
  try {
    return await answered(parts, request, context)
  } catch (error) {
    parts.log.error({ err: error, method: request.method }, 'an MCP request failed')
    return { error: { code: INTERNAL_ERROR_CODE, message: 'Internal error' } }
  }
}

function answered(
  parts: RequestHandlingDependencies,
  request: McpRequest,
  context: McpRequestContext,
): McpAnswer | Promise<McpAnswer> {
  switch (request.method) {
    case 'tools/call':
      return callTool(parts, request, context)
    case 'resources/read':
      return readResource(parts, request.uri, context)
    case 'prompts/get':
      return getPrompt(parts, request, context)
    case 'completion/complete':
      return completeArgument(request, context.catalogue)
    default:
      // Lists have one page, so no cursor can be valid.
      if (request.cursor !== undefined) return refuse('Invalid cursor: this list has a single page.')
      return listed(parts, request.method, context)
  }
}

function listed(parts: RequestHandlingDependencies, method: McpListMethod, context: McpRequestContext): McpAnswer {
  const unknownNode = explainUnknownNode(parts, context)
  return unknownNode === undefined ? { result: context.catalogue.list(method) } : refuse(unknownNode)
}

/** A list for a node that is not connected would be empty without saying why, so it is refused. */
function explainUnknownNode({ bus }: RequestHandlingDependencies, { node }: McpRequestContext): string | undefined {
  return node === undefined ? undefined : bus.unknownNodeMessage(node)
}

async function callTool(
  parts: RequestHandlingDependencies,
  { name: given, arguments: body }: Named,
  context: McpRequestContext,
): Promise<McpAnswer> {
  const { catalogue } = context
  const canonical = catalogue.canonicalTool(given)
  const entry = canonical === undefined ? undefined : catalogue.tool(canonical)
  if (entry?.inProfile === true) {
    const { offer } = entry
    const pinned = extractNodePinArgument(body, offer.requestSchema, context.node)
    const pinnedContext = { ...context, node: pinned.node }
    const round = { context: pinnedContext, method: 'tools/call', target: offer.name, offer, body: pinned.body }
    const reader = { listed: catalogue.listed, hasTool: catalogue.hasTool, body: pinned.body }
    return await ask(parts, round, (outcome) => ({
      result: { ...createToolResult(outcome, offer, reader), ...createAnswerMeta(outcome, parts.bus.nodeId) },
    }))
  }
  const attempt = await parts.bus.call(
    attempted(canonical ?? given, catalogue),
    undefined,
    body,
    toCallOptions(context),
  )
  const more =
    entry !== undefined && isInOtherProfile(entry.offer, context)
      ? ` It is not in the profile ${catalogue.view.profileName}.`
      : formatNameSuggestion(catalogue.near(given))
  const unknown = `Unknown tool: ${given.slice(0, MAX_NAME)}${more === '' ? '' : `.${more}`}`
  return refuse(explainUnknownNode(parts, context) ?? unknown, { attempt })
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
  context: McpRequestContext,
): Promise<McpAnswer> {
  const found = context.catalogue.resource(uri)
  if (found === undefined || found.offer.face.kind !== 'resource') {
    const shown = uri.slice(0, MAX_RESOURCE_URI_LENGTH)
    const attempt = await parts.bus.call(attempted(shown, context.catalogue), undefined, {}, toCallOptions(context))
    // SEP-2164; earlier revisions had a separate code for it, which clients need not distinguish.
    return refuse(`Resource not found: ${shown}`, { attempt, data: { uri: shown } })
  }
  const { offer, body } = found
  const { mimeType } = found.offer.face
  return ask(parts, { context, method: 'resources/read', target: uri, offer, body }, (outcome) =>
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
  context: McpRequestContext,
): Promise<McpAnswer> {
  const offer = context.catalogue.prompt(given)
  if (offer === undefined) {
    const attempt = await parts.bus.call(attempted(given, context.catalogue), undefined, body, toCallOptions(context))
    return refuse(`Unknown prompt: ${given.slice(0, MAX_NAME)}`, { attempt })
  }
  return ask(parts, { context, method: 'prompts/get', target: offer.name, offer, body }, (outcome) =>
    outcome.ok
      ? { result: { ...createPromptResult(outcome.value, offer), ...createAnswerMeta(outcome, parts.bus.nodeId) } }
      : { error: recordedFault(outcome) },
  )
}

/** One round of a call; a call takes several when its handler needs input. */
interface Round {
  readonly context: McpRequestContext
  readonly method: string
  readonly target: string
  readonly offer: Offer
  readonly body: JsonObject
}

async function ask(
  parts: RequestHandlingDependencies,
  round: Round,
  toAnswer: (outcome: Outcome) => McpAnswer,
): Promise<McpAnswer> {
  const { context } = round
  let again: McpRequestContext = context
  if (context.interaction.requestState !== undefined) {
    const opened = parts.stateSeal.open(context.interaction.requestState, bindingOf(round))
    if (opened === undefined)
      return refuse('Invalid or expired requestState', { data: { reason: 'invalid_request_state' } })
    again = answering(context, opened)
  }
  const outcome = await parts.bus.call(round.offer.name, undefined, round.body, toCallOptions(again))
  const wanted = outcome.ok ? outcome.value.inputRequired : undefined
  if (wanted === undefined) return toAnswer(outcome)
  const question = askBack(parts, wanted, round)
  return 'result' in question
    ? { result: { ...question.result, ...createAnswerMeta(outcome, parts.bus.nodeId) } }
    : question
}

function askBack(
  parts: RequestHandlingDependencies,
  wanted: NonNullable<Reply['inputRequired']>,
  round: Round,
): McpAnswer {
  const { era, interaction } = round.context
  const { clientCapabilities } = interaction
  // The 2025 revisions declare capabilities once; there the SDK checks them before it asks.
  const missing = era === 'modern' ? findMissingClientCapability(wanted.requests, clientCapabilities) : undefined
  if (missing !== undefined) {
    const { key, method, required } = missing
    const message = `Cannot request input '${key}' (${method}): the request's client capabilities do not declare the required capability`
    return { error: { code: MISSING_CAPABILITY_ERROR_CODE, message, data: { requiredCapabilities: required } } }
  }
  const { state, node } = wanted
  const stateText = state === undefined && node === undefined ? undefined : JSON.stringify({ state, node })
  const sealed = stateText === undefined ? undefined : parts.stateSeal.seal(stateText, bindingOf(round))
  return { result: createInputRequiredResult(wanted, sealed) }
}

/** The caller for the next round: with the state as the handler gave it, on the node that asked. */
function answering(context: McpRequestContext, opened: string): McpRequestContext {
  // The state was sealed by `askBack`, so it is unchanged.
  const { state, node = context.node } = JSON.parse(opened) as { readonly state?: string; readonly node?: string }
  const { requestState: _, ...interaction } = context.interaction
  return { ...context, node, interaction: state === undefined ? interaction : { ...interaction, requestState: state } }
}

/** A state that was given for one call of one principal must not be valid for another. */
function bindingOf({ context, method, target, body }: Round): string {
  const { principal, node = '' } = context
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
  const errorData = { ...data, ...(attempt === undefined ? {} : createAnswerMeta(attempt, '')) }
  return {
    error: {
      code: INVALID_PARAMS_ERROR_CODE,
      message,
      ...(Object.keys(errorData).length === 0 ? {} : { data: errorData }),
    },
  }
}
