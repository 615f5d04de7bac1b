/**
 * RPC tools: a method of a device, called by name. Reads come from memory where that is fresh enough; changes pass the
 * guard first and are read back afterwards.
 *
 * What a call would do follows from its arguments and from what device they name, so that nothing can change between
 * what the guard was told and what is done.
 *
 * Pure, given its house.
 */
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import { toAccountKey } from '../../bus/caller.ts'
import type { CallAssessment, Capability, ClaimCompleter } from '../../bus/capability.ts'
import { defineChange } from '../../bus/capability-definition.ts'
import { toHex } from '../../core/bytes.ts'
import type { Fault, PolicyReason } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { BusRequest } from '../adapter/ebus-connection.ts'
import type { HeatingBusClient } from '../heating-bus-client.ts'
import type { HeatingInstallation } from '../installation.ts'
import { formatBusAddress } from '../observe/observation.ts'
import type { DeviceMethod, MethodValues, EncodedMethodCall } from '../methods/device-method.ts'
import { CONFIG_VALUE_MAX_AGE_MS, STATE_VALUE_MAX_AGE_MS, createValidMethodValue } from '../methods/device-method.ts'
import type { DefinedPlane } from '../methods/defined-plane.ts'
import { createDefinedPlanes } from '../methods/defined-plane.ts'
import { findDeviceMethod, listBuiltInMethodPlanes } from '../methods/method-plane.ts'
import { interpretTelegram } from '../semantic/read-key.ts'
import type { RegisterReadKey } from '../semantic/read-key.ts'
import { SECRET_VALUE_PLACEHOLDER } from '../definitions/secret-field.ts'
import { addressArgument, busArgument, ebusKeyArgument } from './arguments.ts'
import { completeEbusClaims, NO_KEY, NOT_DANGEROUS } from './gate.ts'
import { toRegisterChangeView } from './register-change-view.ts'
import type { DefinedMethodCall } from './defined-method.ts'
import { findDefinedPlane, planDefinedMethodCall, readDefinedMethod, writeDefinedMethod } from './defined-method.ts'
import { assessMessageWrite } from './defined-write.ts'
import { createEbusOutputSchema, ebusFamily } from './ebus-envelope.ts'
import {
  createEbusArgumentFault,
  createEbusArgumentsFault,
  createEbusNotFoundFault,
  createBusReadFault,
  createCancelledBusCallFault,
  createBusWriteFault,
} from './faults.ts'
import type { EbusToolContext } from './ebus-tools.ts'
import { createLiveMeta, resolveBusLockKey, findBus } from './ebus-tools.ts'
import { SETTING_TOOL_HINT } from './setting-view.ts'

/** The older gateway's default, which its callers count on. */
const DEFAULT_TIMEOUT_MS = 3_000
const MAX_TIMEOUT_MS = 25_000
/** What spec 1 calls the gateway, whatever address it really has. */
const GATEWAY_SOURCE = 113

const name = z.string().trim().min(1).max(64)
const params = z
  .record(z.string().max(64), z.custom<Json>())
  .default({})
  .describe('What the method takes; registry.methods.list has it under `params_schema`. `source` can be left out.')

const shared = {
  address: addressArgument,
  plane: name,
  method: name,
  params,
  idempotency_key: ebusKeyArgument.exactOptional(),
  timeout_ms: z.int().min(1).max(MAX_TIMEOUT_MS).default(DEFAULT_TIMEOUT_MS).describe('How long the bus may take.'),
  max_age_ms: z
    .int()
    .min(0)
    .exactOptional()
    .describe(
      'For reads: how old an answer may be; 0 asks the device in any case. Without it a minute, or five for settings.',
    ),
  bus: busArgument,
}

const intent = z
  .string()
  .trim()
  // Case counts: a word that opens a gate is not guessed.
  .pipe(z.enum(['READ_ONLY', 'MUTATE']))
  .meta({ enum: ['READ_ONLY', 'MUTATE'] })

const invokeInput = z.strictObject({
  ...shared,
  intent: intent.describe(
    'READ_ONLY refuses methods that change something. MUTATE needs allow_dangerous and idempotency_key.',
  ),
  allow_dangerous: z.boolean().describe('True for methods that change something; false for reads.'),
})
/** The old name asked for neither; both mean the harmless thing then. */
export const legacyInvokeInputSchema = z.strictObject({
  ...shared,
  intent: intent.default('READ_ONLY'),
  allow_dangerous: z.boolean().default(false),
})
type Invocation = z.output<typeof invokeInput>

export const rpcOutputSchema = createEbusOutputSchema(
  z
    .record(z.string(), z.object({ value: z.unknown(), valid: z.boolean() }))
    .describe('Named values; bytes as hex. A value that the device did not give is null and not valid.'),
)

export const INVOKE_TOOL_NAME = 'ebus.v1.rpc.invoke'

export function createRpcTools(house: EbusToolContext): readonly Capability[] {
  return [
    defineChange({
      name: INVOKE_TOOL_NAME,
      title: 'Call a method of a device',
      description: `Calls one method of one device, as registry.methods.list names it: reads a register or a timer, or changes one. This is also how a room setpoint, the hot water temperature or a mode is set: ${SETTING_TOOL_HINT}. Changes need intent MUTATE, allow_dangerous and an idempotency_key; raw opcodes and installer settings also need a person’s approval.`,
      input: invokeInput,
      output: rpcOutputSchema,
      // The most that a call can be is known when its arguments are: see `assess`.
      effect: 'writes',
      idempotent: false,
      family: ebusFamily,
      // Reads take none: the bus itself puts telegrams in a row.
      lock: (body: JsonObject): string | undefined =>
        body['intent'] === 'MUTATE' ? resolveBusLockKey(house, body) : undefined,
      completeClaims: completeInvocation(house),
      plan: (invocation) => resolve(house, invocation),
      assess: (resolved, invocation) =>
        'kind' in resolved ? assessDefined(resolved, invocation) : assess(resolved, invocation),
      assessMistake: (invocation) => ({ reasons: gateReasons(invocation, isKnownToChange(house, invocation)) }),
      act: (resolved, invocation, call) => {
        if ('kind' in resolved) return callDefined({ house, invocation, call }, resolved)
        return resolved.method.readOnly
          ? read({ house, invocation, call }, resolved)
          : change({ house, invocation, call }, resolved)
      },
    }),
  ]
}

function assess({ heating, method, prepared, request }: Resolved, invocation: Invocation): CallAssessment {
  const { idempotency_key: key } = invocation
  const reasons = gateReasons(invocation, !method.readOnly)
  // MUTATE on a reading method is allowed and remains a read, with the gates that were asked for.
  if (method.readOnly) return { effect: 'reads', reasons }
  const { installation } = heating
  // By the main face, so that limits and approvals hold under every address of the device.
  const target = formatBusAddress(request.target)
  const device = installation.registry.find(request.target)
  const what = prepared.actuator ?? method.name
  const change = toRegisterChangeView(installation, request, prepared.confirm?.data)
  return {
    effect: isElsewhere(method, request.target, installation) ? 'sensitive' : prepared.effect,
    reasons,
    target: `ebus:${heating.id}:${target}/${what}`,
    label: `${device?.identity?.deviceId ?? 'device'} at ${target}: ${change?.label ?? `${method.name} ${what}`}`,
    ...(key === undefined ? {} : { idempotencyKey: key }),
    // Not how long to wait, nor in which of several spellings it was said (docs/adr/0109).
    keyedChange: {
      bus: heating.id,
      address: invocation.address,
      method: method.name,
      telegram_data: toHex(prepared.data),
    },
    preview: { ...change?.values, method: method.name, telegram_data: toHex(prepared.data) },
  }
}

/** Of a write by definition the file's access level decides, as with messages.write. */
function assessDefined(resolved: DefinedMethodCall, invocation: Invocation): CallAssessment {
  const { idempotency_key: key } = invocation
  if (resolved.kind === 'defined-read') return { effect: 'reads', reasons: gateReasons(invocation, false) }
  return {
    ...assessMessageWrite(resolved.write),
    reasons: gateReasons(invocation, true),
    ...(key === undefined ? {} : { idempotencyKey: key }),
  }
}

/** Where a call could not be planned: whether its method changes something, if that can be told. */
function isKnownToChange(
  house: EbusToolContext,
  { plane, method, address, bus }: z.output<typeof methodName>,
): boolean {
  const builtIn = findDeviceMethod(plane, method)
  if (builtIn !== undefined) return !builtIn.readOnly
  const heating = findBus(house, bus)
  const device = heating.ok ? heating.value.installation.registry.find(address) : undefined
  if (!heating.ok || device === undefined) return false
  const defined = findDefinedPlane(heating.value, device.addresses, plane)
  return defined?.methods.find((each) => each.name === method)?.readOnly === false
}

/** What the contract asks for beside the arguments of the method, whatever those are. */
function gateReasons(invocation: Invocation, changes: boolean): readonly PolicyReason[] {
  const { intent: wanted, allow_dangerous: dangerous, idempotency_key: key } = invocation
  if (wanted === 'READ_ONLY') return changes ? [NOT_READ_ONLY] : []
  return [...(dangerous ? [] : [NOT_DANGEROUS]), ...(key === undefined ? [NO_KEY] : [])]
}

/** What the contract's gates lack, by whether the method that is named changes something. */
function completeInvocation(house: EbusToolContext): ClaimCompleter {
  return (body, { traceId }) => {
    const named = methodName.safeParse(body)
    if (!named.success) return {}
    const changes = isKnownToChange(house, named.data)
    const { intent: wanted = changes ? 'MUTATE' : 'READ_ONLY', allow_dangerous: dangerous, idempotency_key: key } = body
    if (wanted !== 'MUTATE')
      return {
        ...(body['intent'] === undefined ? { intent: wanted } : {}),
        ...(dangerous === undefined ? { allow_dangerous: false } : {}),
      }
    return completeEbusClaims(
      { intent: body['intent'] ?? null, dangerous: dangerous ?? null, key: key ?? null },
      traceId,
    )
  }
}
const methodName = z.looseObject({ plane: name, method: name, address: addressArgument, bus: busArgument })

/**
 * B524 of a device that is no regulator: what its registers are is written nowhere, whatever their numbers are
 * elsewhere.
 */
function isElsewhere(
  { secondary }: DeviceMethod,
  address: number,
  installation: HeatingInstallation | undefined,
): boolean {
  return secondary === EXTENDED && installation?.isRegulator(address) !== true
}
const EXTENDED = 0x24

const NOT_READ_ONLY: PolicyReason = {
  rule: 'intent',
  message: 'This method changes something; READ_ONLY does not allow that.',
}

/** A call on its way: what was asked, by whom, of which house. */
interface Job {
  readonly house: EbusToolContext
  readonly invocation: Invocation
  readonly call: Call
}

/** What it comes to on this bus, now. */
interface Resolved {
  readonly heating: HeatingBusClient
  readonly method: DeviceMethod
  readonly prepared: EncodedMethodCall
  readonly request: BusRequest
}

/** In the order in which a caller can put things right: bus, device, plane, method, intent, source, parameters. */
function resolve(house: EbusToolContext, invocation: Invocation): Result<Resolved | DefinedMethodCall, Fault> {
  const heating = findBus(house, invocation.bus)
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
  { method: name, intent: wanted, params: given }: Invocation,
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
  return { kind: 'not-permitted', code: 'PERMISSION_DENIED', message: NOT_READ_ONLY.message, reasons: [NOT_READ_ONLY] }
}

async function callDefined({ house, invocation, call }: Job, resolved: DefinedMethodCall): Promise<Outcome> {
  const { heating } = resolved
  if (resolved.kind === 'defined-write') {
    const written = await writeDefinedMethod(resolved.write, call)
    if (!written.ok) return written
    return ok({ data: { ...besideData(house, heating, house.clock.now()), data: written.value } })
  }
  const nowMs = house.clock.now()
  const maxAgeMs = invocation.max_age_ms ?? classAgeMs(invocation.params)
  const read = await readDefinedMethod(resolved, { maxAgeMs, deadlineMs: invocation.timeout_ms, nowMs, call })
  if (!read.ok) return read
  const { values, atMs, fromCache } = read.value
  return ok({
    data: { ...besideData(house, heating, atMs), data: values, cache: cacheJson(fromCache, atMs, house.clock.now()) },
  })
}

function cacheJson(fromCache: boolean, atMs: number, nowMs: number): JsonObject {
  return {
    from_cache: fromCache,
    age_seconds: Math.max(0, Math.round((nowMs - atMs) / 1_000)),
    observed_at: new Date(atMs).toISOString(),
  }
}

function requestOf({ primary, secondary }: DeviceMethod, target: number, { data }: EncodedMethodCall): BusRequest {
  return { target, primary, secondary, data }
}

/** With the way that leads there instead. */
function notCallable({ readOnly }: DeviceMethod, { installation }: HeatingBusClient): string {
  if (readOnly) return 'listed, but not to be called; the semantic tools have what it would say'
  const regulator = installation.topology.regulator?.address
  const where = regulator === undefined ? '' : ` (address ${regulator})`
  return `listed, but not to be called; set_ext_register of the regulator${where} sets temperatures and modes: ${SETTING_TOOL_HINT}`
}

/** Nobody but this gateway sends here, and it has one address: its own, or what the contract calls it. */
function checkSource(source: Json | undefined, heating: HeatingBusClient): Fault | undefined {
  const { address } = heating.status()
  if (source === undefined || source === GATEWAY_SOURCE || source === address) return undefined
  const own = address === undefined ? 'its own address' : `${address}`
  return createEbusArgumentFault('params.source', `this gateway sends as ${own}; leave it out`)
}

/**
 * The cache is the shadow itself, whose keys name the device: the same question to two devices is two questions. What
 * others asked for on the bus answers here as well, and its age says so.
 */
async function read({ house, invocation, call }: Job, resolved: Resolved): Promise<Outcome> {
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
  const nowMs = house.clock.now()
  return ok({
    data: {
      ...besideData(house, heating, fromCache ? entry.atMs : nowMs),
      data: shownValues(resolved, prepared.decode(entry.payload), entry.payload),
      cache: cacheJson(fromCache, entry.atMs, nowMs),
    },
  })
}

/** What a caller gets to see of an answer. */
function shownValues({ heating, method, request }: Resolved, values: MethodValues, response: Uint8Array): MethodValues {
  const { installation } = heating
  if (isElsewhere(method, request.target, installation)) return bytesOnly(values)
  const exchange = { telegram: { ...request, source: 0x00 }, response, commandRepeats: 0, responseRepeats: 0 }
  if (installation.decode(exchange)?.secret !== true) return values
  return { ...values, ...Object.fromEntries(TELLING.filter((name) => name in values).map((name) => [name, HIDDEN])) }
}

/** Where an answer has its bytes, in full or in part. */
const TELLING: readonly string[] = ['payload', 'response_payload', 'value', 'decoded']
const HIDDEN = createValidMethodValue(SECRET_VALUE_PLACEHOLDER)

/** Without what only a regulator's table says. */
function bytesOnly(values: MethodValues): MethodValues {
  const { decoded: _decoded, constraint_min: _min, constraint_max: _max, ...rest } = values
  return rest
}

/** Callers of the older gateway choose by class instead of by milliseconds. */
function classAgeMs({ cache_class: cacheClass, refresh_class: refreshClass }: JsonObject): number | undefined {
  const given = cacheClass ?? refreshClass
  return given === 'state' ? STATE_VALUE_MAX_AGE_MS : given === 'config' ? CONFIG_VALUE_MAX_AGE_MS : undefined
}

/** Throws for a method that is called a read and is none: then our own tables disagree. */
function keyOf(request: BusRequest): RegisterReadKey {
  const telegram = { ...request, source: 0x00 }
  const meaning = interpretTelegram({ telegram, response: new Uint8Array(), commandRepeats: 0, responseRepeats: 0 })
  if (meaning?.kind !== 'value') throw new Error(`${toHex(request.data)} reads nothing`)
  return meaning.key
}

async function change({ house, invocation, call }: Job, resolved: Resolved): Promise<Outcome> {
  const { heating, prepared, request } = resolved
  const wish = { deadlineMs: invocation.timeout_ms, caller: toAccountKey(call.caller) }
  // Nothing of ours goes out between the change and the look at it.
  return heating.exclusively(async () => {
    if (call.signal.aborted) return fail(createCancelledBusCallFault())
    const before = await readBefore(resolved, wish)
    // Not repeatable: a telegram that may have reached its target is not said a second time.
    const sent = await heating.send(request, { ...wish, signal: call.signal, repeatable: false })
    if (!sent.ok) return fail(createBusWriteFault(sent.fault, request.target))
    const values = shownValues(resolved, prepared.decode(sent.value), sent.value)
    const data = { ...values, ...before, ...(await confirm(resolved, wish)) }
    return ok({ data: { ...besideData(house, heating, house.clock.now()), data } })
  })
}

/**
 * What was there before, for whoever wants to put it back: the value, and the bytes that `data` takes. From memory where
 * that is a minute old at most; what cannot be read does not keep anybody from changing it.
 */
async function readBefore(
  resolved: Resolved,
  wish: { readonly caller: string; readonly deadlineMs: number },
): Promise<MethodValues> {
  const { heating, prepared, request } = resolved
  if (prepared.confirm === undefined) return {}
  const look = { ...request, data: prepared.confirm.data }
  const served = await heating.read(keyOf(look), { ...wish, maxAgeMs: STATE_VALUE_MAX_AGE_MS, source: 'tool' })
  if (!served.ok) return { before: { value: null, valid: false } }
  const { payload } = served.value.entry
  const values = shownValues(resolved, prepared.confirm.decode(payload), payload)
  return {
    before: values['decoded'] ?? values['value'] ?? createValidMethodValue(toHex(payload)),
    ...(values['value'] === undefined ? {} : { before_data: values['value'] }),
  }
}

/** The acknowledge says that it was heard; only a look says that it was done. */
async function confirm(
  resolved: Resolved,
  wish: { readonly caller: string; readonly deadlineMs: number },
): Promise<MethodValues> {
  const { heating, prepared, request } = resolved
  if (prepared.confirm === undefined) return {}
  const look = { ...request, data: prepared.confirm.data }
  const served = await heating.read(keyOf(look), { ...wish, maxAgeMs: 0, source: 'write_confirm' })
  // The change was acknowledged; that it could not be looked at makes it unconfirmed, not failed.
  if (!served.ok) return { read_back: { value: null, valid: false }, confirmed: { value: null, valid: false } }
  const { payload } = served.value.entry
  const values = shownValues(resolved, prepared.confirm.decode(payload), payload)
  return {
    read_back: values['decoded'] ?? values['value'] ?? createValidMethodValue(toHex(payload)),
    confirmed: createValidMethodValue(prepared.confirm.holds(payload)),
  }
}

/** What goes beside the data of every answer here. */
function besideData(house: EbusToolContext, heating: HeatingBusClient, atMs: number): Omit<JsonObject, 'data'> {
  const { address } = heating.status()
  return { ...createLiveMeta(house, heating, atMs), ...(address === undefined ? {} : { source_address: address }) }
}
