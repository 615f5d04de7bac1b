/**
 * Next step: what the reader of a refusal does next, in the words of the list that this reader has. A model cannot run
 * our CLI, and a tool that its list does not have is no step either.
 */
import type { Offer } from '../bus/capability.ts'
import { omitCliInstructions } from '../core/fault.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'

export interface ResultRecipient {
  /** A tool's name as the reader's list spells it. */
  readonly listed: (tool: string) => string
  readonly hasTool: (tool: string) => boolean
  /** The arguments of the call that is answered. */
  readonly body?: JsonObject
}

/** A reader whose list has every tool under its canonical name. */
export const RECIPIENT_WITH_EVERY_TOOL: ResultRecipient = { listed: (tool) => tool, hasTool: () => true }

const APPROVAL_TOOL = 'approval'
const WAIT_SECONDS = 60
/** The limit for arguments that a refusal repeats: a file that was sent along is not sent back. */
const MAX_REPEATED = 4_000

export function addNextStepForRecipient(given: Fault, offer: Offer, reader: ResultRecipient): Fault {
  const fault = withoutTerminal(given)
  const { kind, details } = fault
  if (details === undefined) return fault
  if (kind === 'approval-required') return { ...fault, details: withApprovalStep(details, offer, reader) }
  const { next } = details
  if (!isJsonObject(next) || typeof next['tool'] !== 'string') return fault
  return { ...fault, details: { ...details, next: { ...next, tool: reader.listed(next['tool']) } } }
}

function withoutTerminal({ message, reasons, ...fault }: Fault): Fault {
  return {
    ...fault,
    message: omitCliInstructions(message),
    ...(reasons === undefined
      ? {}
      : { reasons: reasons.map((reason) => ({ ...reason, message: omitCliInstructions(reason.message) })) }),
  }
}

/** `how` is for people at a terminal. */
function withApprovalStep(given: JsonObject, offer: Offer, reader: ResultRecipient): JsonObject {
  const { how: _, ...details } = given
  const { approval } = details
  if (!isJsonObject(approval) || typeof approval['id'] !== 'string') return details
  // This node does not know what waits on another node, so only the call itself can be repeated.
  const isHere = details['node'] === undefined
  const next =
    isHere && reader.hasTool(APPROVAL_TOOL)
      ? { tool: reader.listed(APPROVAL_TOOL), arguments: { id: approval['id'], wait_seconds: WAIT_SECONDS } }
      : repeatedCall(offer, reader)
  return { ...details, approval: { ...approval, next } }
}

function repeatedCall({ name }: Offer, { listed, body }: ResultRecipient): JsonObject {
  const tool = listed(name)
  const isShort = body !== undefined && JSON.stringify(body).length <= MAX_REPEATED
  return { tool, ...(isShort ? { arguments: body } : {}), after: 'a person agreed' }
}
