/**
 * Elicitation: what happens when a name could mean more than one thing. A client that can ask its person is made to; the
 * person's choice is the target, and the name is remembered for it. Any other client gets the choices, each as the call
 * that would be made; where one of them is likely, it is prepared and never committed.
 */
import type { Call, Outcome } from '../../bus/call.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { ok } from '../../core/result.ts'
import { toSuggestedCallJson, type SuggestedToolCall } from './faults.ts'
import { toTextOrEmpty } from './json-text.ts'

export interface ElicitationOption {
  readonly id: number
  readonly label: string
  /** The call that would be made if this is what is meant. */
  readonly call: SuggestedToolCall
}

/** Names our question in the client's answers; five choices are what fits on a screen and in a head. */
const KEY = 'target'
const MAX_CHOICES = 5

/** What the person chose, if one was asked before: a choice of those that are offered now, or a no. */
export function readElicitedChoice(
  { interaction }: Call,
  choices: readonly ElicitationOption[],
): ElicitationOption | 'declined' | undefined {
  const response = interaction?.inputResponses?.[KEY]
  if (!isJsonObject(response)) return undefined
  // MCP's three answers: accept, decline, cancel.
  if (response['action'] !== 'accept') return 'declined'
  const content = isJsonObject(response['content']) ? response['content'] : {}
  // Only what is offered now: the house may have changed since the person was asked.
  return choices.slice(0, MAX_CHOICES).find(({ id }) => String(id) === toTextOrEmpty(content['choice'])) ?? 'declined'
}

export function canElicit({ interaction }: Call): boolean {
  const elicitation = interaction?.clientCapabilities?.['elicitation']
  if (!isJsonObject(elicitation)) return false
  // A client that names no mode has the only one there was at first, the form.
  return elicitation['form'] !== undefined || elicitation['url'] === undefined
}

/** A question to the person behind the client. */
export function createElicitation(question: string, choices: readonly ElicitationOption[]): Outcome {
  const offered = choices.slice(0, MAX_CHOICES)
  const oneOf = offered.map(({ id, label }) => ({ const: String(id), title: label }))
  const requestedSchema = {
    type: 'object',
    properties: { choice: { type: 'string', title: 'Which one?', oneOf } },
    required: ['choice'],
  }
  const request = { method: 'elicitation/create', params: { mode: 'form', message: question, requestedSchema } }
  return ok({ data: null, inputRequired: { requests: { [KEY]: request } } })
}

/** The same for a client that cannot ask: the model has to. */
export function toChoicesJson(
  question: string,
  choices: readonly ElicitationOption[],
  prepared: JsonObject | null = null,
): JsonObject {
  return {
    asks: true,
    needsConfirmation: true,
    question,
    choices: choices
      .slice(0, MAX_CHOICES)
      .map(({ id, label, call }) => ({ id, label, call: toSuggestedCallJson(call) })),
    execute: false,
    prepared,
  }
}
