/**
 * Input required: a handler that needs something from the caller's side first (MCP 2026-07-28, multi round-trip
 * requests). The 2025 family has no such result; there the SDK asks the client and calls the handler again.
 */
import type { Reply } from '../bus/call.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'

export function inputRequiredResult({ requests }: NonNullable<Reply['inputRequired']>, state?: string): JsonObject {
  return {
    resultType: 'input_required',
    ...(Object.keys(requests).length === 0 ? {} : { inputRequests: requests }),
    ...(state === undefined ? {} : { requestState: state }),
  }
}

export interface MissingCapability {
  /** Which of the handler's requests cannot be made. */
  readonly key: string
  readonly method: string
  readonly required: JsonObject
}

/** A client must not be asked what it did not say it can answer. Capabilities count per request, never from memory. */
export function missingCapability(
  requests: JsonObject,
  declared: JsonObject | undefined,
): MissingCapability | undefined {
  for (const [key, request] of Object.entries(requests)) {
    if (!isJsonObject(request) || typeof request['method'] !== 'string') continue
    const required = missingFrom(requiredFor(request['method'], request['params']), declared ?? {})
    if (required !== undefined) return { key, method: request['method'], required }
  }
  return undefined
}

function requiredFor(method: string, params: Json | undefined): JsonObject {
  const asked = isJsonObject(params) ? params : {}
  switch (method) {
    case 'elicitation/create':
      return { elicitation: asked['mode'] === 'url' ? { url: {} } : { form: {} } }
    case 'sampling/createMessage':
      return { sampling: asked['tools'] === undefined && asked['toolChoice'] === undefined ? {} : { tools: {} } }
    case 'roots/list':
      return { roots: {} }
    default:
      return {}
  }
}

function missingFrom(required: JsonObject, declared: JsonObject): JsonObject | undefined {
  for (const [capability, modes] of Object.entries(required)) {
    const has = declared[capability]
    if (!isJsonObject(has)) return required
    const lacking = Object.keys(modes ?? {}).some(
      (mode) => has[mode] === undefined && !impliedForm(capability, mode, has),
    )
    if (lacking) return required
  }
  return undefined
}

/** `elicitation: {}` means forms, as it did before there were modes. */
function impliedForm(capability: string, mode: string, has: JsonObject): boolean {
  return capability === 'elicitation' && mode === 'form' && has['url'] === undefined
}
