/**
 * RPC tools: a method of a device, called by name. A read uses a known value if that is recent enough; a change passes
 * the guard first and is read back afterwards.
 *
 * What a call does follows from its arguments and the named device, so that nothing can change between the guard's
 * decision and the act.
 *
 * Pure, given its house.
 */
import { z } from 'zod'
import type { CallAssessment, Capability, ConfirmationArgumentCompleter } from '../../bus/capability.ts'
import { defineChange } from '../../bus/capability-definition.ts'
import { toHex } from '../../core/bytes.ts'
import type { PolicyReason } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { formatBusAddress } from '../observe/observation.ts'
import { findBuiltInMethod } from '../methods/method-plane.ts'
import { addressArgument, busArgument } from './arguments.ts'
import {
  suggestMissingConfirmationArguments,
  MISSING_IDEMPOTENCY_KEY_REASON,
  DANGEROUS_NOT_ALLOWED_REASON,
  toAssessmentConfirmation,
} from './change-confirmation-arguments.ts'
import { toRegisterChangeView } from './register-change-view.ts'
import type { DefinedMethodCall } from './defined-method.ts'
import { findDefinedPlane } from './defined-method.ts'
import { assessMessageWrite } from './defined-message-write.ts'
import { ebusFamilyEnvelope } from './ebus-envelope.ts'
import type { EbusToolContext } from './ebus-tool-context.ts'
import { resolveBusLockKey, findHeatingBus } from './ebus-tool-context.ts'
import { RESIDENT_SETTING_TOOL_HINT } from './resident-setting-view.ts'
import { INVOKE_TOOL_NAME, invokeInputSchema, rpcOutputSchema, methodNameArgument } from './rpc-arguments.ts'
import type { MethodInvocation } from './rpc-arguments.ts'
import { resolveMethodCall, callMethod, isB524AccessToNonRegulator, READ_ONLY_INTENT_REASON } from './method-call.ts'
import type { ResolvedMethod } from './method-call.ts'

export function createRpcTools(context: EbusToolContext): readonly Capability[] {
  return [
    defineChange({
      name: INVOKE_TOOL_NAME,
      title: 'Call a method of a device',
      description: `Calls one method of one device, as registry.methods.list names it: reads a register or a timer, or changes one. This is also how a room setpoint, the hot water temperature or a mode is set: ${RESIDENT_SETTING_TOOL_HINT}. Changes need intent MUTATE, allow_dangerous and an idempotency_key; raw opcodes and installer settings also need a person’s approval.`,
      input: invokeInputSchema,
      output: rpcOutputSchema,
      // The strongest effect; `assess` returns that of a call.
      effect: 'writes',
      idempotent: false,
      family: ebusFamilyEnvelope,
      // Reads take no lock, because the bus itself orders telegrams.
      lock: (body: JsonObject): string | undefined =>
        body['intent'] === 'MUTATE' ? resolveBusLockKey(context, body) : undefined,
      completeClaims: completeInvocation(context),
      plan: (invocation) => resolveMethodCall(context, invocation),
      assess: (resolved, invocation) =>
        'kind' in resolved ? assessDefined(resolved, invocation) : assess(resolved, invocation),
      assessMistake: (invocation) => ({ reasons: gateReasons(invocation, isKnownToChange(context, invocation)) }),
      act: (resolved, invocation, call) => callMethod({ context, invocation, call }, resolved),
    }),
  ]
}

function assess({ heating, method, prepared, request }: ResolvedMethod, invocation: MethodInvocation): CallAssessment {
  const reasons = gateReasons(invocation, !method.readOnly)
  // MUTATE on a reading method is allowed and remains a read, with the requested gates.
  if (method.readOnly) return { effect: 'reads', reasons }
  const { installation } = heating
  // By the main address, so that limits and approvals apply under every address of the device.
  const target = formatBusAddress(request.target)
  const device = installation.registry.find(request.target)
  const what = prepared.actuator ?? method.name
  const change = toRegisterChangeView(installation, request, prepared.confirm?.data)
  return {
    effect: isB524AccessToNonRegulator(method, request.target, installation) ? 'sensitive' : prepared.effect,
    reasons,
    target: `ebus:${heating.id}:${target}/${what}`,
    label: `${device?.identity?.deviceId ?? 'device'} at ${target}: ${change?.label ?? `${method.name} ${what}`}`,
    ...toAssessmentConfirmation(invocation),
    // Without the waiting time and the spelling of the parameters, which do not affect the change (docs/adr/0109).
    keyedChange: {
      bus: heating.id,
      address: invocation.address,
      method: method.name,
      telegram_data: toHex(prepared.data),
    },
    preview: { ...change?.values, method: method.name, telegram_data: toHex(prepared.data) },
  }
}

/** For a write by definition the file's access level decides, as in messages.write. */
function assessDefined(resolved: DefinedMethodCall, invocation: MethodInvocation): CallAssessment {
  if (resolved.kind === 'defined-read') return { effect: 'reads', reasons: gateReasons(invocation, false) }
  return {
    ...assessMessageWrite(resolved.write),
    reasons: gateReasons(invocation, true),
    ...toAssessmentConfirmation(invocation),
  }
}

/** For a call that could not be planned: whether its method changes something, if that is known. */
function isKnownToChange(
  context: EbusToolContext,
  { plane, method, address, bus }: z.output<typeof methodName>,
): boolean {
  const builtIn = findBuiltInMethod(plane, method)
  if (builtIn !== undefined) return !builtIn.readOnly
  const heating = findHeatingBus(context, bus)
  const device = heating.ok ? heating.value.installation.registry.find(address) : undefined
  if (!heating.ok || device === undefined) return false
  const defined = findDefinedPlane(heating.value, device.addresses, plane)
  return defined?.methods.find((each) => each.name === method)?.readOnly === false
}

/** The arguments that the contract requires beside those of the method. */
function gateReasons(invocation: MethodInvocation, changes: boolean): readonly PolicyReason[] {
  const { intent: wanted, allow_dangerous: dangerous, idempotency_key: key } = invocation
  if (wanted === 'READ_ONLY') return changes ? [READ_ONLY_INTENT_REASON] : []
  return [
    ...(dangerous ? [] : [DANGEROUS_NOT_ALLOWED_REASON]),
    ...(key === undefined ? [MISSING_IDEMPOTENCY_KEY_REASON] : []),
  ]
}

/** The missing gates, which depend on whether the named method changes something. */
function completeInvocation(context: EbusToolContext): ConfirmationArgumentCompleter {
  return (body, { traceId }) => {
    const named = methodName.safeParse(body)
    if (!named.success) return {}
    const changes = isKnownToChange(context, named.data)
    const { intent: wanted = changes ? 'MUTATE' : 'READ_ONLY', allow_dangerous: dangerous, idempotency_key: key } = body
    if (wanted !== 'MUTATE')
      return {
        ...(body['intent'] === undefined ? { intent: wanted } : {}),
        ...(dangerous === undefined ? { allow_dangerous: false } : {}),
      }
    return suggestMissingConfirmationArguments(
      { intent: body['intent'] ?? null, dangerous: dangerous ?? null, key: key ?? null },
      traceId,
    )
  }
}
const methodName = z.looseObject({
  plane: methodNameArgument,
  method: methodNameArgument,
  address: addressArgument,
  bus: busArgument,
})
