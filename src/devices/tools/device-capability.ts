/**
 * Device capability: one tool of one device as a capability on the bus.
 *
 *   accept (the device's own schema, coerced) ▸ guard (effect, target, addresses, who may) ▸ call ▸ answer
 */
import type { Call, Outcome } from '../../bus/call.ts'
import type { CallAssessment, Capability, Effect, ArgumentIssue, Offer } from '../../bus/capability.ts'
import { defineChangeForOffer } from '../../bus/capability-definition.ts'
import type { PolicyReason } from '../../core/fault.ts'
import { isJsonObject } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import { checkDeviceToolArguments, createToolArgumentSchema } from '../wire/tool-arguments.ts'
import type { DeviceTool } from '../wire/tool-list.ts'
import { DEVICE_ANSWER_SCHEMA } from './device-outcome.ts'
import { devicesFamilyEnvelope } from './devices-envelope.ts'
import { formatDeviceTarget } from './device-slug.ts'
import { listUserOnlyRefusalReasons } from './visibility.ts'
import type { ToolNameRewriter } from './tool-description.ts'
import { sanitizeLine } from '../../core/untrusted-text.ts'
import { sanitizeDeviceName, formatToolDescription } from './tool-description.ts'
import { rebuildDeviceToolSchema } from './untrusted-tool-schema.ts'
import type { UrlRule } from './url-rule.ts'
import { findUrlArguments, explainForbiddenUrl } from './url-rule.ts'

export interface DeviceCapabilityInput {
  readonly slug: string
  readonly deviceId: string
  readonly name: string
  readonly capability: string
  readonly tool: DeviceTool
  readonly effect: Effect
  /** For people only: hidden from all other callers, whatever its effect. */
  readonly forPeople: boolean
  /** Replaces names of other tools in descriptions. */
  readonly rename: ToolNameRewriter
  readonly online: boolean
  readonly listed: boolean
  readonly timeoutSeconds: number
  readonly urls: readonly UrlRule[]
  /** Why a sensitive call needs no approval request: the device cannot be reached anyway. */
  readonly unreachable: () => PolicyReason | undefined
  readonly call: (call: Call) => Promise<Outcome>
}

const MAX_TITLE = 80

/** Returns `undefined` for a tool with arguments that cannot be shown. */
export function createDeviceCapability(given: DeviceCapabilityInput): Capability | undefined {
  const { slug, name, tool, effect, forPeople } = given
  const requestSchema = rebuildDeviceToolSchema(createToolArgumentSchema(tool))
  if (requestSchema === undefined) return undefined
  const target = formatDeviceTarget(slug)
  const label = sanitizeDeviceName(name, slug)
  const offer: Omit<Offer, 'plan'> = {
    name: given.capability,
    version: [1, 0],
    stability: 'stable',
    requestSchema,
    responseSchema: DEVICE_ANSWER_SCHEMA,
    streamSchema: undefined,
    params: { device: target, tool: sanitizeLine(tool.name, 256), ...(forPeople ? { userOnly: true } : {}) },
    // The device runs one call at a time; the others wait here, before the guard decides.
    maxConcurrent: 64,
    trustRequired: effect === 'reads' ? 'member' : 'trusted',
    timeoutSeconds: given.timeoutSeconds,
    idempotent: effect === 'reads',
    title: sanitizeLine(`${label}: ${tool.name.replace(/^self\./, '')}`, MAX_TITLE),
    description: formatToolDescription({ ...given, description: tool.description }),
    effect,
    lock: `device:${given.deviceId}`,
    family: devicesFamilyEnvelope,
    face: { kind: 'tool', ...(given.listed ? {} : { unlisted: true }) },
    accept: (body) => {
      const checked = checkDeviceToolArguments(tool, body)
      return checked.ok ? checked : fail(checked.fault.problems.map((problem) => issueOf(problem, tool)))
    },
  }
  return defineChangeForOffer(offer, {
    // The arguments were checked against the device's schema before; the device checks what only it can know.
    plan: () => ok(undefined),
    assess: (_plan, _body, call) => assess(call, given, { target, label }),
    act: (_plan, _body, call) => given.call(call),
  })
}

function assess(
  { caller, body }: Call,
  { tool, effect, forPeople, urls, unreachable }: DeviceCapabilityInput,
  { target, label }: { readonly target: string; readonly label: string },
): CallAssessment {
  // An approval for a device that cannot be reached would be useless, so no person is asked.
  const away = effect === 'sensitive' ? unreachable() : undefined
  return {
    effect,
    target,
    // Each tool counts as an actuator: setting the volume does not make the lamp of the same device rest.
    actuator: `${target}/${tool.name}`,
    label: `${tool.name.replace(/^self\./, '')} on ${label}`,
    reasons: [
      ...(forPeople ? listUserOnlyRefusalReasons(caller, target) : []),
      ...listForbiddenUrlReasons({ ...defaultsOf(tool), ...body }, urls),
      ...(away === undefined ? [] : [away]),
    ],
  }
}

/**
 * Default values of URLs are left out: the device would choose the address, and in stock firmware the default is a
 * sentence instead of an address.
 */
function defaultsOf({ inputSchema: { properties } }: DeviceTool): JsonObject {
  if (!isJsonObject(properties)) return {}
  const given = Object.entries(properties).map(([name, property]) => [
    name,
    isJsonObject(property) ? property['default'] : undefined,
  ])
  return Object.fromEntries(given.filter(([, value]) => typeof value === 'string')) as JsonObject
}

export function listForbiddenUrlReasons(body: JsonObject, urls: readonly UrlRule[]): readonly PolicyReason[] {
  return findUrlArguments(body).flatMap(({ path, url }) => {
    const problem = explainForbiddenUrl(url, urls)
    return problem === undefined
      ? []
      : [{ rule: 'url', message: `${path} must be given as an allowed address: it is ${problem}.` }]
  })
}

/** `wire/arguments` puts the argument's name first in its sentence; the schema check needs it separately. */
function issueOf(problem: string, { inputSchema }: DeviceTool): ArgumentIssue {
  const [word = '', ...rest] = problem.split(' ')
  const { properties } = inputSchema
  const isNamed = isJsonObject(properties) && Object.hasOwn(properties, word)
  return isNamed
    ? { path: [word], message: rest.join(' '), code: 'argument' }
    : { path: [], message: problem, code: 'argument' }
}
