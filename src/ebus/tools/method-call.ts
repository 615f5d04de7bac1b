/** Method call: one method of one device, found by name on its bus, then read, or changed and read back. */
import type { Call, Outcome } from '../../bus/call.ts'
import { toAccountKey } from '../../bus/caller.ts'
import { toHex } from '../../core/bytes.ts'
import type { Fault, PolicyReason } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { EbusRequest } from '../adapter/ebus-connection.ts'
import type { HeatingBusClient } from '../heating-bus-client.ts'
import type { HeatingInstallation } from '../heating-installation.ts'
import { formatBusAddress } from '../observe/observation.ts'
import type {
  DeviceMethod,
  MethodAnswerValues,
  PreparedMethodCall,
  MethodAnswerValue,
} from '../methods/device-method.ts'
import { CONFIG_VALUE_MAX_AGE_MS, STATE_VALUE_MAX_AGE_MS, createMethodAnswerValue } from '../methods/device-method.ts'
import type { DefinedPlane } from '../methods/defined-plane.ts'
import { createDefinedPlanes } from '../methods/defined-plane.ts'
import { listBuiltInMethodPlanes } from '../methods/method-plane.ts'
import { interpretTelegram } from '../semantic/telegram-meaning.ts'
import type { RegisterReadKey } from '../semantic/read-key.ts'
import { SECRET_VALUE_PLACEHOLDER } from '../definitions/secret-field.ts'
import type { DefinedMethodCall } from './defined-method.ts'
import { planDefinedMethodCall, readDefinedMethod, writeDefinedMethod } from './defined-method.ts'
import {
  createEbusArgumentFault,
  createEbusArgumentsFault,
  createEbusNotFoundFault,
  createBusReadFault,
  createCancelledBusCallFault,
  createBusWriteFault,
} from './faults.ts'
import type { EbusToolContext } from './ebus-tool-context.ts'
import { findHeatingBus, createLiveOutcome, createAnswerAgeJson } from './ebus-tool-context.ts'
import { RESIDENT_SETTING_TOOL_HINT } from './resident-setting-view.ts'
import { createTelegramExchange } from '../wire/telegram.ts'
import type { MethodInvocation } from './rpc-arguments.ts'
import type { RegisterReadOptions } from '../semantic/register-reader.ts'

/** Spec 1's name for the gateway, whatever its real address is. */
const GATEWAY_SOURCE = 113

export const READ_ONLY_INTENT_REASON: PolicyReason = {
  rule: 'intent',
  message: 'This method changes something; READ_ONLY does not allow that.',
}

/** A call in progress: its arguments, its caller, and the family's context. */
interface MethodCallJob {
  readonly context: EbusToolContext
  readonly invocation: MethodInvocation
  readonly call: Call
}

/** The method and the device that the call resolves to on this bus. */
export interface ResolvedMethod {
  readonly heating: HeatingBusClient
  readonly method: DeviceMethod
  readonly prepared: PreparedMethodCall
  readonly request: EbusRequest
}

/** In the order in which a caller can correct mistakes: bus, device, plane, method, intent, source, parameters. */
export function resolveMethodCall(
  context: EbusToolContext,
  invocation: MethodInvocation,
): Result<ResolvedMethod | DefinedMethodCall, Fault> {
  const heating = findHeatingBus(context, invocation.bus)
  if (!heating.ok) return heating
  const device = heating.value.installation.registry.find(invocation.address)
  if (device === undefined)
    return fail(createEbusNotFoundFault(`There is no device at ${formatBusAddress(invocation.address)}.`))
  const planes = listBuiltInMethodPlanes(device.identity)
  const plane = planes.find((each) => each.name === invocation.plane)
  if (plane === undefined) {
    const defined = createDefinedPlanes(heating.value.installation.definitions, device.addresses)
    const chosen = defined.find((each) => each.name === invocation.plane)
    if (chosen !== undefined) return resolveDefined(heating.value, chosen, invocation)
    const names = [...planes, ...defined].map((each) => each.name)
    return fail(createEbusArgumentFault('plane', `the device has ${names.join(', ') || 'no planes'}`))
  }
  const method = plane.methods.find((each) => each.name === invocation.method)
  if (method === undefined)
    return fail(
      createEbusArgumentFault('method', `plane ${plane.name} has ${plane.methods.map((each) => each.name).join(', ')}`),
    )
  if (!method.routable) return fail(createEbusArgumentFault('method', notCallable(method, heating.value)))
  if (invocation.intent === 'READ_ONLY' && !method.readOnly) return fail(notReadOnly())
  const wrongSource = checkSource(invocation.params['source'], heating.value)
  if (wrongSource !== undefined) return fail(wrongSource)
  const prepared = method.prepare(invocation.params)
  if (!prepared.ok) return fail(createEbusArgumentsFault(prepared.fault))
  const request = requestOf(method, device.address, prepared.value)
  return ok({ heating: heating.value, method, prepared: prepared.value, request })
}

function resolveDefined(
  heating: HeatingBusClient,
  plane: DefinedPlane,
  { method: name, intent: wanted, params: given }: MethodInvocation,
): Result<DefinedMethodCall, Fault> {
  const method = plane.methods.find((each) => each.name === name)
  if (method === undefined)
    return fail(
      createEbusArgumentFault(
        'method',
        `plane ${plane.name} has ${plane.methods.length} of them; registry.methods.list names them`,
      ),
    )
  if (wanted === 'READ_ONLY' && !method.readOnly) return fail(notReadOnly())
  const wrongSource = checkSource(given['source'], heating)
  return wrongSource === undefined ? planDefinedMethodCall(heating, method, given) : fail(wrongSource)
}

function notReadOnly(): Fault {
  return {
    kind: 'not-permitted',
    code: 'PERMISSION_DENIED',
    message: READ_ONLY_INTENT_REASON.message,
    reasons: [READ_ONLY_INTENT_REASON],
  }
}

export function callMethod(job: MethodCallJob, resolved: ResolvedMethod | DefinedMethodCall): Promise<Outcome> {
  if ('kind' in resolved) return callDefined(job, resolved)
  return resolved.method.readOnly ? read(job, resolved) : change(job, resolved)
}

async function callDefined(
  { context, invocation, call }: MethodCallJob,
  resolved: DefinedMethodCall,
): Promise<Outcome> {
  const { heating } = resolved
  if (resolved.kind === 'defined-write') {
    const written = await writeDefinedMethod(resolved.write, call)
    if (!written.ok) return written
    return createLiveOutcome(context, heating, written.value, besideData(heating))
  }
  const nowMs = context.clock.now()
  const maxAgeMs = invocation.max_age_ms ?? classAgeMs(invocation.params)
  const read = await readDefinedMethod(resolved, { maxAgeMs, deadlineMs: invocation.timeout_ms, nowMs, call })
  if (!read.ok) return read
  const { values, atMs, fromCache } = read.value
  const cache = createAnswerAgeJson(context, fromCache, atMs)
  return createLiveOutcome(context, heating, values, { ...besideData(heating), atMs, cache })
}

function requestOf({ primary, secondary }: DeviceMethod, target: number, { data }: PreparedMethodCall): EbusRequest {
  return { target, primary, secondary, data }
}

/** With the tool that does it instead. */
function notCallable({ readOnly }: DeviceMethod, { installation }: HeatingBusClient): string {
  if (readOnly) return 'listed, but not to be called; the semantic tools have what it would say'
  const regulator = installation.topology.regulator?.address
  const where = regulator === undefined ? '' : ` (address ${regulator})`
  return `listed, but not to be called; set_ext_register of the regulator${where} sets temperatures and modes: ${RESIDENT_SETTING_TOOL_HINT}`
}

/** Only this gateway sends here, and it has one address: its own, or the contract's name for it. */
function checkSource(source: Json | undefined, heating: HeatingBusClient): Fault | undefined {
  const { address } = heating.status()
  if (source === undefined || source === GATEWAY_SOURCE || source === address) return undefined
  const own = address === undefined ? 'its own address' : `${address}`
  return createEbusArgumentFault('params.source', `this gateway sends as ${own}; leave it out`)
}

/**
 * The cache is the register shadow, whose keys contain the device. Values that other initiators have read are used as
 * well, and the answer gives their age.
 */
async function read({ context, invocation, call }: MethodCallJob, resolved: ResolvedMethod): Promise<Outcome> {
  const { heating, method, prepared, request } = resolved
  const served = await heating.read(keyOf(request), {
    maxAgeMs: invocation.max_age_ms ?? classAgeMs(invocation.params) ?? method.maxAgeMs ?? 0,
    source: 'tool',
    deadlineMs: invocation.timeout_ms,
    caller: toAccountKey(call.caller),
    signal: call.signal,
  })
  if (!served.ok) return fail(createBusReadFault(served.fault, request.target))
  const { entry, fromCache } = served.value
  const values = shownValues(resolved, prepared.decode(entry.payload), entry.payload)
  return createLiveOutcome(context, heating, values, {
    ...besideData(heating),
    atMs: fromCache ? entry.atMs : context.clock.now(),
    cache: createAnswerAgeJson(context, fromCache, entry.atMs),
  })
}

/** What a caller sees of an answer. */
function shownValues(
  { heating, method, request }: ResolvedMethod,
  values: MethodAnswerValues,
  response: Uint8Array,
): MethodAnswerValues {
  const { installation } = heating
  if (isB524AccessToNonRegulator(method, request.target, installation)) return bytesOnly(values)
  if (installation.decode(createTelegramExchange(request, response))?.secret !== true) return values
  return { ...values, ...Object.fromEntries(TELLING.filter((name) => name in values).map((name) => [name, HIDDEN])) }
}

/** Where an answer has its bytes, in full or in part. */
const TELLING: readonly string[] = ['payload', 'response_payload', 'value', 'decoded']
const HIDDEN = createMethodAnswerValue(SECRET_VALUE_PLACEHOLDER)

/** Without the fields that only a regulator's table has. */
function bytesOnly(values: MethodAnswerValues): MethodAnswerValues {
  const { decoded: _decoded, constraint_min: _min, constraint_max: _max, ...rest } = values
  return rest
}

/** Callers of the older gateway choose a class instead of milliseconds. */
function classAgeMs({ cache_class: cacheClass, refresh_class: refreshClass }: JsonObject): number | undefined {
  const given = cacheClass ?? refreshClass
  return given === 'state' ? STATE_VALUE_MAX_AGE_MS : given === 'config' ? CONFIG_VALUE_MAX_AGE_MS : undefined
}

/** Throws for a method that is declared as a read and is none: then our own tables disagree. */
function keyOf(request: EbusRequest): RegisterReadKey {
  const meaning = interpretTelegram(createTelegramExchange(request))
  if (meaning?.kind !== 'value') throw new Error(`${toHex(request.data)} reads nothing`)
  return meaning.key
}

async function change({ context, invocation, call }: MethodCallJob, resolved: ResolvedMethod): Promise<Outcome> {
  const { heating, prepared, request } = resolved
  const options = { deadlineMs: invocation.timeout_ms, caller: toAccountKey(call.caller) }
  // Nothing else of ours is sent between the change and its read-back.
  return heating.exclusively(async () => {
    if (call.signal.aborted) return fail(createCancelledBusCallFault())
    const before = await readBefore(resolved, options)
    // Not repeatable: a telegram that may have reached its target is not sent again.
    const sent = await heating.send(request, { ...options, signal: call.signal, repeatable: false })
    if (!sent.ok) return fail(createBusWriteFault(sent.fault, request.target))
    const values = shownValues(resolved, prepared.decode(sent.value), sent.value)
    const data = { ...values, ...before, ...(await confirm(resolved, options)) }
    return createLiveOutcome(context, heating, data, besideData(heating))
  })
}

type TelegramOptions = Pick<RegisterReadOptions, 'caller' | 'deadlineMs'>

/**
 * The former value, for a caller that wants to restore it: the value, and the bytes for `data`. From memory if that is
 * at most a minute old; if it cannot be read, the change is made all the same.
 */
async function readBefore(resolved: ResolvedMethod, options: TelegramOptions): Promise<MethodAnswerValues> {
  if (resolved.prepared.confirm === undefined) return {}
  const seen = await lookAt(resolved, { ...options, maxAgeMs: STATE_VALUE_MAX_AGE_MS, source: 'tool' })
  return { before: seen?.shown ?? createMethodAnswerValue(undefined), ...(seen?.bytes && { before_data: seen.bytes }) }
}

/** The acknowledgement says that the telegram was received; only a read-back shows that it was carried out. */
async function confirm(resolved: ResolvedMethod, options: TelegramOptions): Promise<MethodAnswerValues> {
  const { confirm: look } = resolved.prepared
  if (look === undefined) return {}
  const seen = await lookAt(resolved, { ...options, maxAgeMs: 0, source: 'write_confirm' })
  // The change was acknowledged; without a read-back it is unconfirmed, not failed.
  return {
    read_back: seen?.shown ?? createMethodAnswerValue(undefined),
    confirmed: createMethodAnswerValue(seen === undefined ? undefined : look.holds(seen.payload)),
  }
}

/** The present value of the changed register; `undefined` if it could not be read. */
async function lookAt(
  resolved: ResolvedMethod,
  options: RegisterReadOptions,
): Promise<
  { readonly payload: Uint8Array; readonly shown: MethodAnswerValue; readonly bytes?: MethodAnswerValue } | undefined
> {
  const { heating, prepared, request } = resolved
  if (prepared.confirm === undefined) return undefined
  const served = await heating.read(keyOf({ ...request, data: prepared.confirm.data }), options)
  if (!served.ok) return undefined
  const { payload } = served.value.entry
  const { decoded, value: bytes } = shownValues(resolved, prepared.confirm.decode(payload), payload)
  return { payload, shown: decoded ?? bytes ?? createMethodAnswerValue(toHex(payload)), ...(bytes && { bytes }) }
}

/** The meta beside the data of every answer. */
function besideData(heating: HeatingBusClient): { readonly source_address?: number } {
  const { address } = heating.status()
  return address === undefined ? {} : { source_address: address }
}

/** The B524 registers of a device that is not a regulator are not documented, whatever their numbers mean elsewhere. */
export function isB524AccessToNonRegulator(
  { secondary }: DeviceMethod,
  address: number,
  installation: HeatingInstallation | undefined,
): boolean {
  return secondary === EXTENDED && installation?.isRegulator(address) !== true
}
const EXTENDED = 0x24
