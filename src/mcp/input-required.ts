/**
 * Input required: a handler that needs input from the client first (MCP 2026-07-28, multi round-trip requests). The
 * 2025 revisions have no such result; there the SDK asks the client and calls the handler again.
 */
import type { Reply } from '../bus/call.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'

export function createInputRequiredResult(
  { requests }: NonNullable<Reply['inputRequired']>,
  state?: string,
): JsonObject {
  return {
    resultType: 'input_required',
    ...(Object.keys(requests).length === 0 ? {} : { inputRequests: requests }),
    ...(state === undefined ? {} : { requestState: state }),
  }
}

export interface MissingClientCapability {
  /** The key of the request that cannot be made. */
  readonly key: string
  readonly method: string
  readonly required: JsonObject
}

/** A client must not be asked for what it did not declare. Capabilities count per request and are not remembered. */
export function findMissingClientCapability(
  requests: JsonObject,
  declared: JsonObject | undefined,
): MissingClientCapability | undefined {
  for (const [key, request] of Object.entries(requests)) {
    if (!isJsonObject(request) || typeof request['method'] !== 'string') continue
    const required = missingFrom(requiredFor(request['method'], request['params']), declared ?? {})
    if (required !== undefined) return { key, method: request['method'], required }
  }
  return undefined
}

function requiredFor(method: string, params: Json | undefined): JsonObject {
  const requested = isJsonObject(params) ? params : {}
  switch (method) {
    case 'elicitation/create':
      return { elicitation: requested['mode'] === 'url' ? { url: {} } : { form: {} } }
    case 'sampling/createMessage':
      return {
        sampling: requested['tools'] === undefined && requested['toolChoice'] === undefined ? {} : { tools: {} },
      }
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
