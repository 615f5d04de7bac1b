/**
 * Elicitation: for a name that could mean several things. A client that supports it asks its user, whose choice is the
 * target, and the name is remembered for it. Any other client gets the choices, each as the call that would be made; a
 * likely one is prepared, but never committed.
 */
import type { Call, Outcome } from '../../bus/call.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { ok } from '../../core/result.ts'
import { toSuggestedCallJson, type SuggestedToolCall } from './faults.ts'
import { toTextOrEmpty } from './json-text.ts'

export interface ElicitationOption {
  readonly id: number
  readonly label: string
  /** The call for the case that this one is meant. */
  readonly call: SuggestedToolCall
}

/** Identifies our question in the client's answers; five choices fit on a screen and can be remembered. */
const KEY = 'target'
const MAX_CHOICES = 5

/** What the user chose, if they were asked before: one of the present choices, or a no. */
export function readElicitedChoice(
  { interaction }: Call,
  choices: readonly ElicitationOption[],
): ElicitationOption | 'declined' | undefined {
  const response = interaction?.inputResponses?.[KEY]
  if (!isJsonObject(response)) return undefined
  // MCP's three answers: accept, decline, cancel.
  if (response['action'] !== 'accept') return 'declined'
  const content = isJsonObject(response['content']) ? response['content'] : {}
  // Only one of the present choices is accepted, because the house may have changed since.
  return choices.slice(0, MAX_CHOICES).find(({ id }) => String(id) === toTextOrEmpty(content['choice'])) ?? 'declined'
}

export function canElicit({ interaction }: Call): boolean {
  const elicitation = interaction?.clientCapabilities?.['elicitation']
  if (!isJsonObject(elicitation)) return false
  // A client that names no mode supports the first one, the form.
  return elicitation['form'] !== undefined || elicitation['url'] === undefined
}

/** A question to the user of the client. */
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

/** The choices for a client without elicitation, so that the model asks. */
export function toChoiceQuestionJson(
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
