/**
 * Answer: one MCP request from a known caller, answered from the bus. The same for both eras and all transports:
 * what differs between them is spelt by whoever holds the wire.
 *
 *   tools/call ─▶ name → offer ─▶ bus.call ─▶ lock ▸ validate ▸ audit ▸ guard ▸ handler ▸ audit ─▶ envelope
 *
 * Pure, given its bus.
 */
import { hash } from 'node:crypto'
import type { Outcome, Reply } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import { didYouMean } from '../core/closest.ts'
import type { JsonObject } from '../core/json.ts'
import { canonicalJson } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import { callOptions, pinIn } from './request.ts'
import type { Answer, Asker, McpRequest } from './request.ts'
import { complete } from './completion.ts'
import { MAX_URI } from './catalogue.ts'
import type { Catalogue } from './catalogue.ts'
import type { ListMethod } from './request.ts'
import type { FaceBus } from './face-bus.ts'
import { inputRequiredResult, missingCapability } from './input-required.ts'
import { INTERNAL_ERROR, INVALID_PARAMS, MISSING_CAPABILITY, protocolFault } from './protocol-error.ts'
import type { ProtocolFault } from './protocol-error.ts'
import { answerMeta, promptResult, resourceResult, toolResult } from './results.ts'
import type { StateSeal } from './state-seal.ts'
import { isVisible } from './visibility.ts'

export interface Answering {
  readonly bus: FaceBus
  readonly stateSeal: StateSeal
  readonly log: Logger
}

/** Never rejects: a mistake of ours goes to the log, and the caller hears only that there was one. */
export async function answer(parts: Answering, request: McpRequest, asker: Asker): Promise<Answer> {
  try {
    return await answered(parts, request, asker)
  } catch (error) {
    parts.log.error({ err: error, method: request.method }, 'an MCP request failed')
    return { error: { code: INTERNAL_ERROR, message: 'Internal error' } }
  }
}

async function answered(parts: Answering, request: McpRequest, asker: Asker): Promise<Answer> {
  switch (request.method) {
    case 'tools/call':
      return callTool(parts, request, asker)
    case 'resources/read':
      return readResource(parts, request.uri, asker)
    case 'prompts/get':
      return getPrompt(parts, request, asker)
    case 'completion/complete':
      return complete(request, asker.catalogue)
    default:
      // Lists are one page, so there is no cursor that we could have given.
      if (request.cursor !== undefined) return refuse('Invalid cursor: this list has a single page.')
      return listed(parts, request.method, asker)
  }
}

function listed(parts: Answering, method: ListMethod, asker: Asker): Answer {
  const strange = strangeDoor(parts, asker)
  return strange === undefined ? { result: asker.catalogue.list(method) } : refuse(strange)
}

/** A list for a node that is not here would be empty, and nobody could tell why. */
function strangeDoor({ bus }: Answering, { node }: Asker): string | undefined {
  return node === undefined ? undefined : bus.strangeNode(node)
}

async function callTool(parts: Answering, { name: given, arguments: body }: Named, asker: Asker): Promise<Answer> {
  const { catalogue } = asker
  const canonical = catalogue.canonicalTool(given)
  const entry = canonical === undefined ? undefined : catalogue.tool(canonical)
  if (entry?.inProfile === true) {
    const { offer } = entry
    const pinned = pinIn(body, offer.requestSchema, asker.node)
    const pinnedAsker = { ...asker, node: pinned.node }
    const round = { asker: pinnedAsker, method: 'tools/call', target: offer.name, offer, body: pinned.body }
    return ask(parts, round, (outcome) => ({
      result: { ...toolResult(outcome, offer, catalogue.listed), ...answerMeta(outcome, parts.bus.nodeId) },
    }))
  }
  const attempt = await parts.bus.call(attempted(canonical ?? given, catalogue), undefined, body, callOptions(asker))
  const more =
    entry !== undefined && hasOtherDoors(entry.offer, asker)
      ? ` It is not in the profile ${catalogue.view.profileName}.`
      : didYouMean(catalogue.near(given))
  const unknown = `Unknown tool: ${given.slice(0, MAX_NAME)}${more === '' ? '' : `.${more}`}`
  return refuse(strangeDoor(parts, asker) ?? unknown, { attempt })
}

/** Whether another profile would show it to this caller. A token narrowed to profiles hears nothing of others. */
function hasOtherDoors(offer: Offer, { principal }: Asker): boolean {
  return principal.restrictions?.profiles === undefined && isVisible(offer, principal)
}

interface Named {
  readonly name: string
  readonly arguments: JsonObject
}

const MAX_NAME = 128

/**
 * The name under which an attempt is recorded at something that this caller cannot have here. It must be no name that is
 * on the bus (a tool of another profile, a resource, a service of our own), or the call would be made: no capability
 * has `@` or `…` in its name.
 */
function attempted(name: string, catalogue: Catalogue): string {
  if (catalogue.isOffered(name)) return `${name}@${catalogue.view.profileName}`
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name
}

async function readResource(parts: Answering, uri: string, asker: Asker): Promise<Answer> {
  const found = asker.catalogue.resource(uri)
  if (found === undefined || found.offer.face.kind !== 'resource') {
    const shown = uri.slice(0, MAX_URI)
    const attempt = await parts.bus.call(attempted(shown, asker.catalogue), undefined, {}, callOptions(asker))
    // SEP-2164; earlier revisions had a code of their own for it, which clients need not tell apart.
    return refuse(`Resource not found: ${shown}`, { attempt, data: { uri: shown } })
  }
  const { offer, body } = found
  const { mimeType } = found.offer.face
  return ask(parts, { asker, method: 'resources/read', target: uri, offer, body }, (outcome) =>
    outcome.ok
      ? { result: { ...resourceResult(outcome.value, uri, mimeType), ...answerMeta(outcome, parts.bus.nodeId) } }
      : { error: recordedFault(outcome) },
  )
}

async function getPrompt(parts: Answering, { name: given, arguments: body }: Named, asker: Asker): Promise<Answer> {
  const offer = asker.catalogue.prompt(given)
  if (offer === undefined) {
    const attempt = await parts.bus.call(attempted(given, asker.catalogue), undefined, body, callOptions(asker))
    return refuse(`Unknown prompt: ${given.slice(0, MAX_NAME)}`, { attempt })
  }
  return ask(parts, { asker, method: 'prompts/get', target: offer.name, offer, body }, (outcome) =>
    outcome.ok
      ? { result: { ...promptResult(outcome.value, offer), ...answerMeta(outcome, parts.bus.nodeId) } }
      : { error: recordedFault(outcome) },
  )
}

/** One round of a call; a call takes several when its handler needs input. */
interface Round {
  readonly asker: Asker
  readonly method: string
  readonly target: string
  readonly offer: Offer
  readonly body: JsonObject
}

async function ask(parts: Answering, round: Round, spell: (outcome: Outcome) => Answer): Promise<Answer> {
  const { asker } = round
  let again: Asker = asker
  if (asker.interaction.requestState !== undefined) {
    const opened = parts.stateSeal.open(asker.interaction.requestState, bindingOf(round))
    if (opened === undefined)
      return refuse('Invalid or expired requestState', { data: { reason: 'invalid_request_state' } })
    again = answering(asker, opened)
  }
  const outcome = await parts.bus.call(round.offer.name, undefined, round.body, callOptions(again))
  const wanted = outcome.ok ? outcome.value.inputRequired : undefined
  if (wanted === undefined) return spell(outcome)
  const asked = askBack(parts, wanted, round)
  return 'result' in asked ? { result: { ...asked.result, ...answerMeta(outcome, parts.bus.nodeId) } } : asked
}

function askBack(parts: Answering, wanted: NonNullable<Reply['inputRequired']>, round: Round): Answer {
  const { era, interaction } = round.asker
  const { clientCapabilities } = interaction
  // The 2025 family declares capabilities once; there the SDK checks them before it asks.
  const missing = era === 'modern' ? missingCapability(wanted.requests, clientCapabilities) : undefined
  if (missing !== undefined) {
    const { key, method, required } = missing
    const message = `Cannot request input '${key}' (${method}): the request's client capabilities do not declare the required capability`
    return { error: { code: MISSING_CAPABILITY, message, data: { requiredCapabilities: required } } }
  }
  const { state, node } = wanted
  const kept = state === undefined && node === undefined ? undefined : JSON.stringify({ state, node })
  const sealed = kept === undefined ? undefined : parts.stateSeal.seal(kept, bindingOf(round))
  return { result: inputRequiredResult(wanted, sealed) }
}

/** The next round: with the state as the handler gave it, and to the node that asked. */
function answering(asker: Asker, opened: string): Asker {
  // Sealed by `askBack`, so it is what was written there.
  const { state, node = asker.node } = JSON.parse(opened) as { readonly state?: string; readonly node?: string }
  const { requestState: _, ...interaction } = asker.interaction
  return { ...asker, node, interaction: state === undefined ? interaction : { ...interaction, requestState: state } }
}

/** A state that was given for one call of one principal must not open another. */
function bindingOf({ asker, method, target, body }: Round): string {
  const { principal, node = '' } = asker
  return [principal.id, method, target, node, hash('sha256', canonicalJson(body))].join('\0')
}

/** JSON-RPC has no `_meta` for an error: it stands in its data. */
function recordedFault(outcome: Outcome & { readonly ok: false }): ProtocolFault {
  const fault = protocolFault(outcome.fault)
  const data = { ...fault.data, ...answerMeta(outcome, '') }
  return Object.keys(data).length === 0 ? fault : { ...fault, data }
}

/** `attempt`: the call that is on record for it. */
function refuse(
  message: string,
  { data = {}, attempt }: { readonly data?: JsonObject; readonly attempt?: Outcome } = {},
): Answer {
  const told = { ...data, ...(attempt === undefined ? {} : answerMeta(attempt, '')) }
  return { error: { code: INVALID_PARAMS, message, ...(Object.keys(told).length === 0 ? {} : { data: told }) } }
}
