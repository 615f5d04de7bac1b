/** Fixture: how the official suite's tools, resources and prompts become ordinary capabilities of ours. */
import { z } from 'zod'
import type { Call, ContentBlock, Outcome } from '../../src/bus/call.ts'
import type { Capability, McpExposure, FamilyEnvelope } from '../../src/bus/capability.ts'
import { defineTool } from '../../src/bus/capability-definition.ts'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { isJsonObject } from '../../src/core/json.ts'
import { ok } from '../../src/core/result.ts'

/** The suite looks at content, so the envelope is as thin as one can be. */
export const conformanceFamily: FamilyEnvelope = {
  name: 'conformance',
  success: (data) => ({ data }),
  failure: ({ message }) => ({
    structured: { error: message },
    isError: true,
    content: [{ type: 'text', text: message }],
  }),
  outputSchema: () => ({ type: 'object', properties: { data: {} }, required: ['data'] }),
}

type Handle = (call: Call) => Promise<Outcome> | Outcome

interface Told {
  readonly input?: z.ZodType<JsonObject, unknown>
  readonly face?: McpExposure
}

export function fixture(name: string, handle: Handle, { input = z.strictObject({}), face }: Told = {}): Capability {
  const tool = defineTool({
    name,
    title: name.replaceAll('_', ' '),
    description: `Fixture of the MCP conformance suite: ${name}.`,
    input,
    output: z.unknown(),
    effect: 'reads',
    family: conformanceFamily,
    ...(face === undefined ? {} : { face }),
  })
  return tool.handledBy(async (_input, call) => handle(call))
}

export function content(...blocks: readonly ContentBlock[]): Outcome {
  return ok({ data: null, content: blocks })
}

export function text(words: string): Outcome {
  return content({ type: 'text', text: words })
}

export function askFor(requests: JsonObject, state?: string): Outcome {
  return ok({ data: null, inputRequired: { requests, ...(state === undefined ? {} : { state }) } })
}

/** Text as it is, anything else as JSON. */
export function spoken(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}

/** What the client answered to the request of that key, if it did. */
export function answerTo(call: Call, key: string): JsonObject | undefined {
  const answer = call.interaction?.inputResponses?.[key]
  return isJsonObject(answer) ? answer : undefined
}

/** The content of a form that a person filled in and sent. */
export function acceptedForm(call: Call, key: string): JsonObject | undefined {
  const answer = answerTo(call, key)
  return answer?.['action'] === 'accept' && isJsonObject(answer['content']) ? answer['content'] : undefined
}

export function elicitation(message: string, properties: JsonObject, required: readonly string[] = []): JsonObject {
  const requestedSchema = { type: 'object', properties, required }
  return { method: 'elicitation/create', params: { message, requestedSchema } }
}

export function sampling(prompt: string, maxTokens = 100): JsonObject {
  const messages = [{ role: 'user', content: { type: 'text', text: prompt } }]
  return { method: 'sampling/createMessage', params: { messages, maxTokens } }
}

/** A red pixel. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
/** Silence, very short. */
export const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='
